from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Callable

import pytest
import torch

from headcount.heads import ATTENTION_TYPES
from headcount.model.decode import BLOCK, largest, translate
from headcount.model.transformer import ModelConfig, Transformer
from headcount.registry import names
from headcount.vocabulary import BOS, EOS, PAD

NORMALISERS = names("model.normalise")


def sources(count: int = 20, longest: int = 12, seed: int = 1) -> list[list[int]]:
    """Draw sentences of 1 to `longest` pieces."""
    generator = random.Random(seed)
    return [[*generator.choices(range(4, 20), k=generator.randint(1, longest)), EOS] for _ in range(count)]


def run(model: Transformer, texts: list[list[int]], **changes) -> list[list[int]]:
    options = {"beam": 4, "length_penalty": 0.6, "max_length": (1.5, 3), "sentences_per_batch": 7}
    return translate(model, texts, **options | changes)


@pytest.fixture(scope="module")
def trained() -> Callable[..., Transformer]:
    """Return a factory of models that have half learned to copy: their translations have many lengths."""

    @functools.cache
    def factory(normaliser: str = "softmax") -> Transformer:
        torch.manual_seed(1)
        sizes = {
            "vocabulary": 20,
            "layers_encoder": 1,
            "layers_decoder": 2,
            "width": 16,
            "heads": 4,
            "feed_forward": 24,
        }
        rest = {"norm": "pre", "tie_embeddings": False, "dropout": 0.0, "attention_dropout": 0.0}
        model = Transformer(ModelConfig(**sizes, **rest, normalisers=dict.fromkeys(ATTENTION_TYPES, normaliser)))
        optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
        texts = sources(32, longest=8, seed=3)
        source = torch.tensor([text + [PAD] * (9 - len(text)) for text in texts])
        target = torch.tensor([[BOS, *text[:-1]] + [PAD] * (9 - len(text)) for text in texts])
        for _ in range(80):
            loss = torch.nn.functional.cross_entropy(model(source, target).transpose(1, 2), source, ignore_index=PAD)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        return model.eval()

    return factory


@torch.no_grad()
def greedy(model: Transformer, source: list[int], limit: int) -> list[int]:
    """Take the most probable piece again and again, without batch, cache or beam."""
    pieces: list[int] = []
    while len(pieces) < limit:
        logits = model(torch.tensor([source]), torch.tensor([[BOS, *pieces]]))[0, -1]
        logits[[PAD, BOS]] = -torch.inf
        if (piece := int(logits.argmax())) == EOS:
            break
        pieces.append(piece)
    return pieces


@torch.no_grad()
def log_probability(model: Transformer, source: list[int], pieces: list[int]) -> float:
    logits = model(torch.tensor([source]), torch.tensor([[BOS, *pieces]]))[0]
    return logits.log_softmax(-1).gather(1, torch.tensor([*pieces, EOS])[:, None]).sum().item()


@torch.no_grad()
def plain_beam_search(model: Transformer, source: list[int], beam: int, length_penalty: float, limit: int) -> list[int]:
    """Search one sentence with a list of hypotheses, a sorted list of all continuations, and no cache."""
    living, ended = [(0.0, [BOS])], []
    for length in range(1, limit + 2):
        continuations = []
        for score, pieces in living:
            logits = model(torch.tensor([source]), torch.tensor([pieces]))[0, -1]
            for piece, gain in enumerate(logits.log_softmax(0).tolist()):
                if piece not in (PAD, BOS) and (piece == EOS or length <= limit):
                    continuations.append((score + gain, [*pieces, piece]))
        continuations.sort(reverse=True)
        ended += [
            (score / ((5 + length) / 6) ** length_penalty, pieces)
            for score, pieces in continuations[:beam]
            if pieces[-1] == EOS
        ]
        living = [(score, pieces) for score, pieces in continuations if pieces[-1] != EOS][:beam]
        if len(ended) >= beam:
            break
    return max(ended)[1][1:-1]


@pytest.mark.parametrize(("normaliser", "beam"), [("softmax", 2), ("softmax", 5), ("entmax15", 4)])
def test_beam_search_equals_the_plain_algorithm(trained, normaliser: str, beam: int):
    model, texts = trained(normaliser), sources(8, longest=6)
    expected = [plain_beam_search(model, text, beam, 0.6, len(text) + 2) for text in texts]  # EOS is one of its pieces
    found = run(model, texts, beam=beam, max_length=lambda pieces: pieces + 3)
    assert found == expected
    assert len({len(pieces) for pieces in expected}) >= 3


@pytest.mark.parametrize("seed", range(1, 13))
def test_as_many_hypotheses_go_on_where_some_end(build, seed: int):
    model = build(seed, vocabulary=12, tie_embeddings=False)
    with torch.no_grad():
        model.embedding["output"].mul_(2)
        model.decoder.norm.bias.add_(2 * model.output_weight[EOS])  # EOS is among the best again and again
    texts = [[4, 5, EOS], [6, EOS], [4, 4, 5, 6, EOS], [5, 5, EOS]]
    expected = [plain_beam_search(model, text, 3, 3.0, 6) for text in texts]
    assert run(model, texts, beam=3, length_penalty=3.0, max_length=lambda _: 6) == expected


@pytest.mark.parametrize("columns", [1, BLOCK - 1, BLOCK, 3 * BLOCK, 5 * BLOCK + 7])
@pytest.mark.parametrize("count", [1, 8, 100])
def test_the_largest_are_those_of_topk(columns: int, count: int):
    torch.manual_seed(2)
    values = torch.randn(6, columns)
    values[1] = -torch.inf
    values[2, : columns // 2] += 9  # all in a few blocks
    values[3, -1] = 9  # behind the last whole block
    values[4, 1:] = -torch.inf
    best, places = largest(values, count)
    torch.testing.assert_close(best, values.topk(min(count, columns)).values, rtol=0, atol=0)
    assert torch.equal(values.gather(1, places), best)
    assert all(len(set(row)) == len(row) for row in places.tolist())


@pytest.mark.parametrize("normaliser", NORMALISERS)
def test_beam_1_is_greedy(trained, normaliser: str):
    model = trained(normaliser)
    texts = sources()
    expected = [greedy(model, text, int(1.5 * (len(text) - 1)) + 3) for text in texts]
    assert run(model, texts, beam=1) == expected
    assert len({len(pieces) for pieces in expected}) >= 4


@pytest.mark.parametrize("length_penalty", [0.0, 0.6, 1.5])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_huge_beam_is_exhaustive_search(build, seed: int, length_penalty: float):
    model, limit = build(seed, vocabulary=7), 3
    with torch.no_grad():
        model.decoder.norm.weight *= 2
    texts = [[4, 5, EOS], [6, EOS], [4, 4, 5, 6, EOS]]
    expected = []
    for text in texts:
        hypotheses = [list(p) for length in range(limit + 1) for p in itertools.product((1, 4, 5, 6), repeat=length)]
        scores = [log_probability(model, text, p) / ((6 + len(p)) / 6) ** length_penalty for p in hypotheses]
        expected.append(hypotheses[max(range(len(scores)), key=scores.__getitem__)])
    found = run(model, texts, beam=100, length_penalty=length_penalty, max_length=lambda _: limit)
    assert found == expected


def test_a_wider_beam_finds_a_translation_at_least_as_probable(trained):
    model, texts = trained(), sources(8)
    totals = [
        sum(log_probability(model, text, pieces) for text, pieces in zip(texts, found, strict=True))
        for found in (run(model, texts, beam=beam, length_penalty=0.0) for beam in (1, 8))
    ]
    assert totals[1] >= totals[0]


@pytest.mark.parametrize("beam", [1, 4])
def test_neighbours_batch_size_and_order_change_nothing(trained, beam: int):
    model = trained()
    texts = sources(20, longest=60)
    expected = run(model, texts, beam=beam)
    for sentences_per_batch in (1, 20):
        assert run(model, texts, beam=beam, sentences_per_batch=sentences_per_batch) == expected
    order = random.Random(2).sample(range(20), 20)
    shuffled = run(model, [texts[i] for i in order], beam=beam)
    assert shuffled == [expected[i] for i in order]


@pytest.mark.parametrize("beam", [1, 3])
def test_a_model_that_never_ends_is_stopped_at_the_limit(build, beam: int):
    model = build()
    with torch.no_grad():
        model.decoder.norm.weight.zero_()  # the last state is the norm's bias, whatever was read
        model.decoder.norm.bias.copy_(-10 * model.output_weight[EOS])
    found = run(model, [[5, 6, EOS], [7, EOS]], beam=beam, max_length=lambda pieces: 2 * pieces + 1)
    assert [len(pieces) for pieces in found] == [5, 3]
    assert run(model, [[5, EOS]], beam=beam, max_length=lambda _: 0) == [[]]


def test_a_broken_model_terminates(build):
    model = build()
    with torch.no_grad():
        model.decoder.norm.weight.fill_(torch.nan)
    assert len(run(model, sources(3))) == 3


def test_special_pieces_are_never_produced(build):
    model = build()
    with torch.no_grad():
        model.decoder.norm.weight.zero_()
        model.decoder.norm.bias.copy_(10 * (model.output_weight[PAD] + model.output_weight[BOS]))
    produced = {piece for pieces in run(model, sources()) for piece in pieces}
    assert produced
    assert not produced & {PAD, BOS, EOS}


def test_empty_sources_stay_empty_and_every_source_has_its_place(trained):
    model = trained()
    texts = sources(6)
    with_gaps = [[], texts[0], [EOS], *texts[1:], []]
    expected = run(model, texts)
    assert run(model, with_gaps) == [[], expected[0], [], *expected[1:], []]
    assert run(model, []) == []
    assert run(model, [[], [EOS]]) == [[], []]


def test_both_forms_of_the_length_limit(trained):
    model, texts = trained(), sources(6)
    assert run(model, texts, max_length=(0.5, 2)) == run(model, texts, max_length=lambda pieces: int(0.5 * pieces) + 2)


def test_the_training_mode_is_restored(build):
    model = build(dropout=0.5)
    quiet = run(model, sources())
    model.train()
    assert run(model, sources()) == quiet
    assert model.training
    with pytest.raises(IndexError):
        run(model, [[5, 999, EOS]])
    assert model.training


def test_very_long_sentences_are_searched_in_small_batches(trained, monkeypatch):
    model, texts = trained(), sources(10)
    expected = run(model, texts)
    widths: list[torch.Size] = []
    start = model.start
    monkeypatch.setattr("headcount.model.decode.WEIGHTS_PER_HEAD", 200)
    monkeypatch.setattr(model, "start", lambda source: widths.append(source.shape) or start(source))
    assert run(model, texts) == expected
    assert all(rows * width**2 <= 200 for rows, width in widths)
    assert sum(rows for rows, _ in widths) == 10

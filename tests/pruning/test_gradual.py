import copy
import functools
import itertools
from types import SimpleNamespace

import numpy as np
import pytest
import small_study as small
import torch

from headcount.errors import UserError
from headcount.heads import ATTENTION_TYPES, flat, full, total, without
from headcount.model.decode import translate
from headcount.model.gates import FixedGate
from headcount.pruning import gradual
from headcount.pruning.gradual import GradualHook, SameHeadsHook, attach, heads_left, reduced, survivors, unmasked
from headcount.registry import load
from headcount.train.checkpoint import read
from headcount.train.journal import read as read_journal
from headcount.train.optim import Group, constant, trainable

FULL = full(1, 1, 4)
ORDER = sorted(flat(FULL), key=lambda head: (head[2], head[0]))  # neither by type nor by layer


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    model = small.make_model()
    small.fit(model, tmp_path_factory.mktemp("baseline"), updates=60)
    return model


@pytest.fixture
def asked(monkeypatch):
    """Put a scorer in the place of all others whose lowest heads are the first of `ORDER`; list what it is asked."""
    calls = []

    def score_heads(model, corpus, *, seed):
        calls.append(SimpleNamespace(model=model, corpus=corpus, seed=seed))
        rank = {head: float(ORDER.index(head)) for head in flat(FULL)}
        return {
            kind: [np.array([rank[kind, layer, head] for head in ids]) for layer, ids in enumerate(rows)]
            for kind, rows in model.config.kept.items()
        }

    monkeypatch.setattr(gradual, "load", lambda package, name: SimpleNamespace(score_heads=score_heads))
    return calls


def gradually(trained, folder, *, stop=None, scorer="confidence_forced", heads=3, steps=3, updates=12, **options):
    """Fine-tune a masked copy, as each new process does, until `stop` updates are made in this folder."""
    model = copy.deepcopy(trained)
    attach(model)
    hook = GradualHook(small.corpus(), scorer=scorer, heads=heads, steps=steps, updates=updates, seed=4)
    finetune(model, folder, hook, updates=stop or updates, **options)
    return model


def finetune(model, folder, hook, *, updates, rate=1e-3, **options):
    group = Group(trainable(model), functools.partial(constant, rate=rate))
    small.fit(model, folder, updates=updates, optimiser=small.adam(model, [group]), hooks=[hook], **options)


def logits(model):
    """Of thirty sentences, with the sentences."""
    sources = [small.corpus().source(index).tolist() for index in range(30)]
    source = torch.nn.utils.rnn.pad_sequence([torch.tensor(ids) for ids in sources], batch_first=True)
    target = torch.nn.functional.pad(source[:, :-1], (1, 0), value=2)
    with torch.no_grad():
        return model.eval()(source, target), sources


@pytest.mark.parametrize(
    ("before", "after", "steps", "updates"), [(72, 18, 6, 400), (72, 36, 6, 20), (12, 0, 1, 1), (10, 3, 4, 5)]
)
def test_steps_are_equal_and_equally_far_apart(before, after, steps, updates):
    left = [
        heads_left(update, before=before, after=after, steps=steps, updates=updates) for update in range(updates + 1)
    ]
    for step in range(steps):
        first = -(-step * updates // (steps + 1))  # rounded up
        assert left[first] == before - (before - after) * (step + 1) // steps
        assert first == 0 or left[first - 1] == before - (before - after) * step // steps
    assert all(later <= earlier for earlier, later in itertools.pairwise(left))
    recovery = left.count(after) - 1
    assert recovery >= 2 * updates // (steps + 1)


@pytest.mark.parametrize("scorer", ["random", "confidence", "michel"])
def test_the_heads_of_the_lowest_scores_go(trained, scorer):
    before = copy.deepcopy(trained.state_dict())
    kept = survivors(trained, small.corpus(), scorer=scorer, heads=5, seed=3)
    scores = load("pruning.scorers", scorer).score_heads(trained, small.corpus(), seed=3)
    values = dict(zip(flat(FULL), np.concatenate([np.concatenate(scores[k]) for k in ATTENTION_TYPES]), strict=True))
    assert len(flat(kept)) == 5
    assert min(values[head] for head in flat(kept)) >= max(values[h] for h in flat(FULL) if h not in flat(kept))
    assert all(torch.equal(value, before[name]) for name, value in trained.state_dict().items())


def test_the_rest_is_scored_anew_before_each_step_and_masked_heads_are_not(trained, asked, tmp_path):
    model = gradually(trained, tmp_path, heads=2, steps=4, updates=10)
    assert unmasked(model) == without(FULL, ORDER[:10], 4)
    scored = [call.model for call in asked]
    assert [model.config.kept for model in scored] == [without(FULL, ORDER[:gone], 4) for gone in (0, 2, 5, 7)]
    assert all(attention.gate is None for model in scored for attention in model.attentions().values())
    assert all(call.corpus is small.corpus() and call.seed == 4 for call in asked)
    first, later = scored[0].output_weight, scored[1].output_weight
    assert torch.equal(first, trained.output_weight)
    assert not torch.equal(later, first)  # fine-tuned in between


def test_what_is_scored_has_the_function_of_the_masked_model(trained, tmp_path, monkeypatch):
    compared = []

    def score_heads(model, corpus, *, seed):
        masked.eval()
        torch.testing.assert_close(logits(model)[0], logits(masked)[0], atol=1e-5, rtol=1e-5)
        masked.train()
        compared.append(total(model.config.kept))
        return load("pruning.scorers", "random").score_heads(model, corpus, seed=seed)

    monkeypatch.setattr(gradual, "load", lambda package, name: SimpleNamespace(score_heads=score_heads))
    masked = copy.deepcopy(trained)
    attach(masked)
    hook = GradualHook(small.corpus(), scorer="", heads=3, steps=3, updates=8, seed=4)
    finetune(masked, tmp_path, hook, updates=8)
    assert compared == [12, 9, 6]


def test_removed_is_masked(trained, tmp_path):
    model = gradually(trained, tmp_path)
    kept = unmasked(model)
    plain = reduced(model, kept)
    assert plain.config.kept == kept
    assert total(kept) == 3
    assert not any("gate" in name for name in plain.state_dict())
    torch.testing.assert_close(logits(plain)[0], logits(model)[0], atol=1e-5, rtol=1e-5)
    options = {"beam": 3, "length_penalty": 0.6, "max_length": lambda n: 2 * n, "sentences_per_batch": 8}
    assert translate(plain, logits(plain)[1], **options) == translate(model, logits(plain)[1], **options)


def test_one_step_is_one_shot(trained, tmp_path):
    """Before the first update all heads go: the same heads, and the same training but for rounding."""
    corpus = small.corpus()
    masked = gradually(trained, tmp_path / "masked", scorer="confidence", heads=5, steps=1, updates=6)
    kept = survivors(trained, corpus, scorer="confidence", heads=5, seed=4)
    assert unmasked(masked) == kept
    removed = reduced(trained, kept)
    finetune(removed, tmp_path / "removed", SameHeadsHook(removed), updates=6)
    torch.testing.assert_close(logits(masked)[0], logits(removed)[0], atol=1e-4, rtol=1e-4)
    assert (logits(trained)[0] - logits(removed)[0]).abs().max() > 0.1


def test_the_journal_tells_how_many_heads_are_left(trained, asked, tmp_path):
    gradually(trained, tmp_path, heads=2, steps=4, updates=100, stop=60)
    told = {line["update"]: line["heads/kept"] for line in read_journal(tmp_path / "journal.jsonl") if "loss" in line}
    assert told == {20: 7, 40: 5, 60: 2}  # the steps follow updates 0, 20, 40 and 60
    assert [total(call.model.config.kept) for call in asked] == [12, 10, 7, 5]


@pytest.mark.parametrize("stops", [(1,), (4,), (5,), (6,), (9,), (2, 3, 7)])
def test_training_in_parts_is_training_in_full(trained, tmp_path, stops):
    """Steps follow updates 0, 3 and 6."""
    whole = gradually(trained, tmp_path / "whole")
    for stop in (*stops, None):
        resumed = gradually(trained, tmp_path / "parts", stop=stop)
    for name, value in whole.state_dict().items():
        assert torch.equal(resumed.state_dict()[name], value), name
    assert total(unmasked(resumed)) == 3
    masks = [name for name in whole.state_dict() if name.endswith("gate.factors")]
    assert len(masks) == 3


def test_a_checkpoint_knows_what_its_update_masked_and_it_is_not_masked_twice(trained, asked, tmp_path):
    gradually(trained, tmp_path, stop=3)
    state = read(tmp_path / "checkpoints" / "update-000003.pt")["model"]
    assert sum(float(value.sum()) for name, value in state.items() if name.endswith("gate.factors")) == 6
    asked.clear()
    gradually(trained, tmp_path, stop=5)
    assert asked == []


def test_layers_without_heads_have_no_mask_and_all_heads_can_go(tmp_path, caplog):
    start = without(FULL, [("decoder_self", 0, head) for head in range(4)], 4)
    model = gradually(small.make_model(start), tmp_path, heads=0, steps=2, updates=6)
    assert unmasked(model) == without(FULL, flat(FULL), 4)
    assert model.attentions()["decoder_self", 0].gate is None
    assert "the decoder no longer sees the source" in caplog.text
    plain = reduced(model, unmasked(model))
    torch.testing.assert_close(logits(plain)[0], logits(model)[0], atol=1e-5, rtol=1e-5)


def test_bad_settings_are_refused(trained, tmp_path):
    for wrong in ({"heads": 13}, {"heads": -1}, {"steps": 0}, {"updates": 0, "stop": 1}):
        with pytest.raises(UserError, match=r"allowed: 0 to 12|at least 1"):
            gradually(trained, tmp_path, **wrong)
    with pytest.raises(UserError, match="did you mean 'confidence'"):
        gradually(trained, tmp_path, scorer="confidance")
    with pytest.raises(UserError, match="cannot be removed"):
        survivors(trained, small.corpus(), scorer="random", heads=13, seed=1)
    model = copy.deepcopy(trained)
    for attention in model.attentions().values():
        attention.gate = FixedGate([1.0] * 4)
    with pytest.raises(ValueError, match="no masks"):
        GradualHook(small.corpus(), scorer="random", heads=3, steps=1, updates=1, seed=1).start(model, 0)


def test_a_run_goes_on_with_the_same_heads_only(trained, tmp_path):
    def go_on(gone, updates):
        model = reduced(trained, without(FULL, gone, 4))
        finetune(model, tmp_path, SameHeadsHook(model), updates=updates)
        return model

    first = go_on([("encoder", 0, 1)], 2)
    assert first.state_dict().keys() == trained.state_dict().keys()  # nothing is left for the file of weights
    again = go_on([("encoder", 0, 1)], 3)
    assert not torch.equal(again.output_weight, first.output_weight)
    with pytest.raises(UserError, match="other heads than the scores choose"):
        go_on([("encoder", 0, 2)], 4)

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor

from headcount.errors import UserError
from headcount.heads import ATTENTION_TYPES, Heads, count, full, without
from headcount.model.decode import translate
from headcount.model.gates import FixedGate, HardConcreteGate
from headcount.model.surgery import expand_heads, remove_heads, scale_heads
from headcount.model.transformer import Transformer
from headcount.model.weights import load, save
from headcount.registry import names
from headcount.vocabulary import EOS

NORMALISERS = names("model.normalise")
UNEVEN: Heads = {
    "encoder": [[1, 3], []],
    "decoder_self": [[], [0], [0, 1, 2, 3]],
    "decoder_cross": [[2], [0, 3], []],
}
NOTHING: Heads = {kind: [[] for _ in rows] for kind, rows in UNEVEN.items()}
ONE_TYPE_LEFT: Heads = {**NOTHING, "decoder_cross": [[1, 2], [3], [0]]}


def masked(model: Transformer, kept: Heads) -> Transformer:
    """Put a gate of 0 on every head that is not kept."""
    for (kind, layer), attention in model.attentions().items():
        attention.gate = FixedGate.keeping(kept[kind][layer], attention.kept)
    return model


def removed(model: Transformer, kept: Heads) -> Transformer:
    state, config = remove_heads(model.state_dict(), model.config, kept)
    smaller = Transformer(config)
    smaller.load_state_dict(state, strict=True)
    return smaller.eval()


def logits(model: Transformer, sentences: tuple[Tensor, Tensor]) -> Tensor:
    with torch.no_grad():
        return model(*sentences)


@pytest.mark.parametrize("kept", [UNEVEN, NOTHING, ONE_TYPE_LEFT], ids=["uneven", "nothing", "one type"])
@pytest.mark.parametrize("normaliser", NORMALISERS)
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_removed_equals_masked(build, sentences, kept: Heads, normaliser: str, norm: str):
    changes = {"normalisers": dict.fromkeys(ATTENTION_TYPES, normaliser), "norm": norm}
    model = build(**changes)
    full_size = sum(parameter.numel() for parameter in model.parameters())
    smaller, mask = removed(model, kept), masked(model, kept)
    torch.testing.assert_close(logits(smaller, sentences), logits(mask, sentences), rtol=0, atol=2e-6)
    own_alpha = normaliser in ("entmax_alpha", "entmax_bisect")
    per_head = 4 * 4 * 16 + 3 * 4 + own_alpha  # rows and columns of q, k, v, o; biases; a
    gone = 8 * 4 - sum(count(kept).values())
    assert full_size - sum(parameter.numel() for parameter in smaller.parameters()) == gone * per_head
    texts = [[5, 6, 7, EOS], [8, EOS], [9, 10, 11, 12, 13, EOS]]
    for beam in (1, 3):
        options = {"beam": beam, "length_penalty": 0.6, "max_length": (1.0, 4), "sentences_per_batch": 2}
        assert translate(smaller, texts, **options) == translate(mask, texts, **options)


@pytest.mark.parametrize("normaliser", NORMALISERS)
def test_cached_steps_of_a_removed_model_equal_those_of_the_masked_one(build, sentences, normaliser: str):
    model = build(normalisers=dict.fromkeys(ATTENTION_TYPES, normaliser))
    smaller, mask = removed(model, UNEVEN), masked(model, UNEVEN)
    source, target = sentences
    with torch.no_grad():
        caches = [each.start(source) for each in (smaller, mask)]
        for pieces in target.T[:, :, None]:  # [position, sentence, 1]
            steps = [each.step(pieces, cache) for each, cache in zip((smaller, mask), caches, strict=True)]
            torch.testing.assert_close(steps[0], steps[1], rtol=0, atol=1e-6)


@pytest.mark.parametrize("kept", [UNEVEN, NOTHING], ids=["uneven", "nothing"])
@pytest.mark.parametrize("normaliser", NORMALISERS)
def test_expanding_a_removed_model_gives_the_masked_one(build, sentences, kept: Heads, normaliser: str):
    model = build(normalisers=dict.fromkeys(ATTENTION_TYPES, normaliser))
    state, config = remove_heads(model.state_dict(), model.config, kept)
    state, config = expand_heads(state, config)
    assert config == model.config
    larger = Transformer(config).eval()
    larger.load_state_dict(state, strict=True)
    torch.testing.assert_close(logits(larger, sentences), logits(masked(model, kept), sentences), rtol=0, atol=1e-6)


def test_the_arguments_are_left_alone(build):
    model = build()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    remove_heads(model.state_dict(), model.config, UNEVEN)
    torch.testing.assert_close(model.state_dict(), before, rtol=0, atol=0)
    assert model.config.kept == full(2, 3, 4)


def test_several_steps_with_save_and_load_between(build, sentences, tmp_path: Path):
    model = build()
    everything = model.config.kept
    steps = [
        [("encoder", 0, 1), ("encoder", 1, 2), ("encoder", 1, 3)],
        [("encoder", 1, 0), ("encoder", 1, 2)],  # the second one is gone already
        [("decoder_cross", 2, 3), ("encoder", 1, 1)],  # the last head of its layer
    ]
    smaller = model
    for number, step in enumerate(steps):
        smaller = removed(smaller, without(smaller.config.kept, step, 4))
        save(smaller, tmp_path / str(number))
        smaller = load(tmp_path / str(number), torch.device("cpu"))
    kept = without(everything, [head for step in steps for head in step], 4)
    assert smaller.config.kept == kept
    assert count(kept) == {"encoder": 3, "decoder_self": 12, "decoder_cross": 11}
    torch.testing.assert_close(smaller.state_dict(), removed(model, kept).state_dict(), rtol=0, atol=0)
    torch.testing.assert_close(logits(smaller, sentences), logits(masked(model, kept), sentences), rtol=0, atol=1e-6)


def test_scaled_heads_equal_gated_heads(build, sentences):
    model = removed(build(), UNEVEN)
    factors = {
        ("encoder", 0): torch.tensor([0.3, 1.0]),
        ("decoder_self", 1): torch.tensor([0.0]),
        ("decoder_cross", 1): torch.tensor([0.5, 0.25]),
        ("decoder_cross", 2): torch.tensor([]),
    }
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    scaled = Transformer(model.config).eval()
    scaled.load_state_dict(scale_heads(model.state_dict(), model.config, factors), strict=True)
    torch.testing.assert_close(model.state_dict(), before, rtol=0, atol=0)
    for place, factor in factors.items():
        model.attentions()[place].gate = FixedGate(factor.tolist())
    torch.testing.assert_close(logits(scaled, sentences), logits(model, sentences), rtol=0, atol=1e-6)


def test_a_repeat_changes_nothing(build):
    model = build()
    state, config = remove_heads(model.state_dict(), model.config, UNEVEN)
    again, same = remove_heads(state, config, UNEVEN)
    assert same == config
    torch.testing.assert_close(again, state, rtol=0, atol=0)


def test_only_the_named_head_is_silenced(build):
    """PRN-6: encoder 2 layers, decoder 3 layers; mask cross-attention layer 2 head 1."""
    model = build()
    inputs = torch.randint(4, 20, (2, 5))
    mixed: dict[tuple[str, int], list[Tensor]] = {}
    for place, attention in model.attentions().items():
        attention.output.register_forward_hook(
            lambda _module, arguments, _output, place=place: mixed.setdefault(place, []).append(arguments[0])
        )
    logits(model, (inputs, inputs))
    masked(model, without(model.config.kept, [("decoder_cross", 2, 1)], 4))
    logits(model, (inputs, inputs))
    for place, (before, after) in mixed.items():
        heads_before, heads_after = before.unflatten(-1, (4, 4)).clone(), after.unflatten(-1, (4, 4))
        if place == ("decoder_cross", 2):
            assert (heads_after[:, :, 1] == 0).all()
            heads_before[:, :, 1] = 0
        assert torch.equal(heads_after, heads_before)


@pytest.mark.parametrize(
    ("kept", "message"),
    [
        ({"encoder": [[5], [0]]}, "allowed: 0 to 3"),
        ({"encoder": [[0], [0], [0]]}, "3 layers are listed, the model has 2"),
        ({"decoder_crss": [[0], [0], [0]]}, "did you mean 'decoder_cross'"),
        ({"encoder": [[0, 1], [0]]}, r"encoder layer 0: heads \[0\] were removed before; left: \[1, 3\]"),
    ],
)
def test_impossible_requests_are_refused(build, kept: Heads, message: str):
    smaller = removed(build(), UNEVEN)
    with pytest.raises(UserError, match=message):
        remove_heads(smaller.state_dict(), smaller.config, kept)


def test_moments_are_sliced_like_weights_and_gates_are_dropped(build):
    model = build(normalisers=dict.fromkeys(ATTENTION_TYPES, "entmax_alpha"))
    for attention in model.attentions().values():
        attention.gate = HardConcreteGate(4, initial_log_alpha=2.5, temperature=0.33, low=-0.1, high=1.1)
    state = model.state_dict()
    moments = {name: torch.rand_like(parameter) for name, parameter in model.named_parameters() if "norm" not in name}
    weights, config = remove_heads(state, model.config, UNEVEN)
    sliced, _ = remove_heads(moments, model.config, UNEVEN)
    assert not any("gate" in name for name in (*weights, *sliced))
    assert {name: tensor.shape for name, tensor in sliced.items()} == {name: weights[name].shape for name in sliced}
    name = "encoder.layers.0.self_attention.output.weight"
    assert torch.equal(sliced[name].unflatten(1, (2, 4)), moments[name].unflatten(1, (4, 4))[:, [1, 3]])
    Transformer(config).load_state_dict(weights, strict=True)


def test_a_removed_model_trains(build, sentences):
    model = removed(build(), UNEVEN).train()
    before = {name: parameter.clone() for name, parameter in model.named_parameters()}
    optimiser = torch.optim.Adam(model.parameters(), lr=0.1)
    model(*sentences).logsumexp(-1).sum().backward()
    optimiser.step()
    for name, parameter in model.named_parameters():
        learns = parameter.requires_grad and "norm" not in name and "key.bias" not in name  # softmax ignores key biases
        assert not learns or not torch.equal(parameter, before[name]), name

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from headcount.model import short
from headcount.model.attention import Mask, MultiHeadAttention
from headcount.model.gates import FixedGate
from headcount.model.normalise.softmax import VECTOR
from headcount.model.shape import AlphaOptions
from headcount.registry import load, names

NORMALISERS = names("model.normalise")
WIDTH, HEADS, CHANNELS = 12, 3, 4


def attention(normaliser: str = "softmax", kept: Sequence[int] = (0, 1, 2), dropout: float = 0.0) -> MultiHeadAttention:
    torch.manual_seed(3)
    module = MultiHeadAttention(
        width=WIDTH,
        head_width=CHANNELS,
        kept=kept,
        normaliser=load("model.normalise", normaliser).Normaliser(len(kept), AlphaOptions()),
        dropout=dropout,
    )
    torch.nn.init.normal_(module.output.bias)
    return module


def inputs() -> tuple[Tensor, Tensor, Mask]:
    """Two sentences of five queries and six keys; the second sentence has no real key."""
    torch.manual_seed(4)
    queries = torch.randn(2, 5, WIDTH)
    keys = torch.tensor([[True] * 4 + [False] * 2, [False] * 6])
    return queries, torch.randn(2, 6, WIDTH), Mask.real_keys(torch.ones(2, 5, dtype=torch.bool), keys)


def ignore(weights: Tensor, queries: Tensor, keys: Tensor) -> None:
    """Observe nothing, but ask for the explicit path."""


@pytest.mark.parametrize("normaliser", NORMALISERS)
def test_gates_of_one_are_no_gates(normaliser: str):
    module = attention(normaliser)
    states, memory, mask = inputs()
    plain = module(states, module.project(memory), mask)
    module.gate = FixedGate([1.0] * HEADS)
    torch.testing.assert_close(module(states, module.project(memory), mask), plain, rtol=0, atol=0)
    module.gate = None
    torch.testing.assert_close(module(states, module.project(memory), mask), plain, rtol=0, atol=0)


def asks_for(monkeypatch: pytest.MonkeyPatch, way: str, module: MultiHeadAttention) -> None:
    """Leave one of the ways to compute attention."""
    monkeypatch.setattr(module, "observer", ignore if way == "explicit" else None)
    monkeypatch.setattr(short, "KEYS", range(100) if way == "short" else range(0))


@pytest.mark.parametrize("masked", ["not", "keys", "a sentence", "causal"])
@pytest.mark.parametrize("normaliser", NORMALISERS)
def test_all_ways_are_equal_and_so_are_their_gradients(monkeypatch: pytest.MonkeyPatch, normaliser: str, masked: str):
    module = attention(normaliser).double()
    states, memory, mask = inputs()
    states, memory = states.double().requires_grad_(), memory.double().requires_grad_()
    if masked == "causal":
        memory, mask = states, Mask.earlier_keys(torch.ones(2, 5, dtype=torch.bool))
    elif masked == "keys":
        mask = Mask.real_keys(mask.queries, torch.tensor([[True] * 4 + [False] * 2, [True] * 6]))
    elif masked == "not":
        mask = Mask.real_keys(mask.queries, torch.ones(2, 6, dtype=torch.bool))
    wanted = [states, memory, *module.parameters()]
    results = []
    for way in ("explicit", "short", "fused"):
        asks_for(monkeypatch, way, module)
        output = module(states, module.project(memory), mask)
        results.append([output, *torch.autograd.grad(output.sin().sum(), wanted)])
    torch.testing.assert_close(results[1], results[0], rtol=1e-6, atol=1e-9)
    torch.testing.assert_close(results[2], results[0], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("normaliser", [name for name in NORMALISERS if name != "entmax_bisect"])
def test_gradients_of_the_short_way_are_those_of_differences(normaliser: str):
    module = attention(normaliser).double()
    parts = [torch.randn(2, HEADS, length, CHANNELS).double().requires_grad_() for length in (3, 4, 4)]
    allowed = torch.rand(2, 1, 3, 4) < 0.8
    allowed[0, :, 1] = False
    alphas = tuple(module.normaliser.parameters())

    def mixed(queries: Tensor, keys: Tensor, values: Tensor, *_: Tensor) -> Tensor:
        return short.attend(queries, keys, values, allowed, module.normaliser.mapping())

    assert torch.autograd.gradcheck(mixed, (*parts, *alphas))
    (slope,) = torch.autograd.grad(mixed(*parts).square().sum(), parts[0], create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        slope.sum().backward()


def test_half_precision_is_not_for_the_short_way(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delattr(short, "attend")
    states, memory, mask = inputs()
    module = attention("entmax_alpha").bfloat16()
    module(states.bfloat16(), module.project(memory.bfloat16()), mask).sum().backward()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        attention()(states, attention().project(memory), mask).sum().backward()


def test_the_short_way_is_taken_where_it_suits(monkeypatch: pytest.MonkeyPatch):
    taken = []
    attend = short.attend
    monkeypatch.setattr(short, "attend", lambda *given: taken.append(1) or attend(*given))
    module = attention(dropout=0.1)
    states, memory, mask = inputs()
    expected = 0
    for training, observer, gradient in itertools.product((True, False), (None, ignore), (True, False)):
        module.train(training).observer = observer
        with torch.set_grad_enabled(gradient):
            module(states, module.project(memory), mask)
        expected += not training and observer is None and gradient  # dropout on weights needs the weights
        assert len(taken) == expected


@pytest.mark.parametrize("length", [VECTOR - 1, VECTOR, VECTOR + 5])
def test_masked_softmax_is_softmax_of_the_real_keys(length: int):
    torch.manual_seed(5)
    scores, real = torch.randn(2, HEADS, 4, length), torch.rand(2, 1, 4, length) < 0.7
    real[0, :, 0] = False
    weights = load("model.normalise", "softmax").Normaliser(HEADS, AlphaOptions())(scores, real)
    assert (weights[~real.expand_as(weights)] == 0).all()
    for row, keys, found in zip(scores[1, 0], real[1, 0], weights[1, 0], strict=True):
        torch.testing.assert_close(found[keys], row[keys].softmax(0), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("queries", [1, 4])
def test_few_queries_equal_many(queries: int):
    module = attention()
    states, memory, mask = inputs()
    with torch.no_grad():
        few = module(states[:, :queries], module.project(memory), mask)
    torch.testing.assert_close(few, module(states, module.project(memory), mask)[:, :queries], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("normaliser", NORMALISERS)
@pytest.mark.parametrize("observer", [None, ignore])
def test_a_query_without_keys_gets_the_bias_and_finite_gradients(normaliser: str, observer):
    module = attention(normaliser)
    module.observer = observer
    states, memory, mask = inputs()
    states.requires_grad_()
    memory.requires_grad_()
    output = module(states, module.project(memory), mask)
    torch.testing.assert_close(output[1], module.output.bias.expand(5, WIDTH))
    output.square().sum().backward()
    for tensor in (states, memory, *module.parameters()):
        assert tensor.grad is not None
        assert tensor.grad.isfinite().all()


@pytest.mark.parametrize("normaliser", NORMALISERS)
def test_permuting_heads_with_their_weights_changes_nothing(normaliser: str):
    module = attention(normaliser)
    states, memory, mask = inputs()
    before = module(states, module.project(memory), mask)
    order = torch.tensor([2, 0, 1])
    channels = (order[:, None] * CHANNELS + torch.arange(CHANNELS)).flatten()
    with torch.no_grad():
        for part in (module.query, module.key, module.value):
            part.weight.copy_(part.weight[channels])
            part.bias.copy_(part.bias[channels])
        module.output.weight.copy_(module.output.weight[:, channels])
        for parameter in module.normaliser.parameters():
            if parameter.ndim:  # an α that the heads share stays as it is
                parameter.copy_(parameter[order])
    torch.testing.assert_close(module(states, module.project(memory), mask), before)


@pytest.mark.parametrize("normaliser", NORMALISERS)
def test_a_gate_scales_its_head_alone(normaliser: str):
    module = attention(normaliser)
    states, memory, mask = inputs()
    mixed: list[Tensor] = []
    module.output.register_forward_hook(lambda _module, arguments, _output: mixed.append(arguments[0]))
    module(states, module.project(memory), mask)
    module.gate = FixedGate([1.0, 0.0, 0.5])
    module(states, module.project(memory), mask)
    whole, gated = (heads.unflatten(-1, (HEADS, CHANNELS)) for heads in mixed)
    assert torch.equal(gated[:, :, 0], whole[:, :, 0])
    assert torch.equal(gated[:, :, 1], torch.zeros_like(whole[:, :, 1]))
    assert torch.equal(gated[:, :, 2], whole[:, :, 2] * 0.5)


@pytest.mark.parametrize("normaliser", NORMALISERS)
def test_the_observer_sees_weights_before_dropout(normaliser: str):
    module = attention(normaliser, dropout=0.5).train()
    seen: list[tuple[Tensor, Tensor, Tensor]] = []
    module.observer = lambda *arguments: seen.append(arguments)
    states, memory, mask = inputs()
    module(states, module.project(memory), mask)
    ((weights, queries, keys),) = seen
    assert weights.shape == (2, HEADS, 5, 6)
    torch.testing.assert_close(weights.sum(-1), torch.tensor([1.0, 0.0])[:, None, None].expand(2, HEADS, 5))
    assert (weights[0, :, :, 4:] == 0).all()
    assert torch.equal(queries, mask.queries)
    assert torch.equal(keys, mask.keys)


def test_dropout_on_weights_acts_in_training_only():
    module = attention(dropout=0.5)
    states, memory, mask = inputs()
    kept = module.eval()(states, module.project(memory), mask)
    for observer in (None, ignore):
        module.observer = observer
        torch.testing.assert_close(module.eval()(states, module.project(memory), mask), kept)
        assert not torch.allclose(module.train()(states, module.project(memory), mask), kept)


def test_no_heads_leave_the_bias_and_nothing_else_to_train():
    module = attention(kept=())
    states, memory, mask = inputs()
    output = module(states, module.project(memory), mask)
    torch.testing.assert_close(output, module.output.bias.expand_as(output), rtol=0, atol=0)
    assert [name for name, parameter in module.named_parameters() if parameter.requires_grad] == ["output.bias"]
    output.sum().backward()


@pytest.mark.parametrize("normaliser", NORMALISERS)
def test_half_precision_stays_near_float32(normaliser: str):
    module = attention(normaliser)
    states, memory, mask = inputs()
    exact = module(states, module.project(memory), mask)
    with torch.autocast("cpu", torch.bfloat16):
        rough = module(states, module.project(memory), mask)
    assert rough.dtype == torch.bfloat16
    torch.testing.assert_close(rough.float(), exact, rtol=0.05, atol=0.05)

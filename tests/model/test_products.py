from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F  # noqa: N812

from headcount.model import products


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "LARGE", 100)


@pytest.mark.parametrize("inputs", [5, 64])
@pytest.mark.parametrize("outputs", [3, 128])
@pytest.mark.parametrize("rows", [1, 20])
def test_a_linear_map_is_that_of_pytorch_and_so_are_its_gradients(inputs: int, outputs: int, rows: int):
    torch.manual_seed(1)
    states = torch.randn(2, rows, inputs, requires_grad=True)
    weight, bias = torch.randn(outputs, inputs, requires_grad=True), torch.randn(outputs, requires_grad=True)
    results = []
    for function in (products.linear, F.linear):
        output = function(states, weight, bias)
        results.append([output, *torch.autograd.grad(output.sin().sum(), (states, weight, bias))])
    torch.testing.assert_close(results[0], results[1], rtol=1e-4, atol=1e-4)


def test_onednn_multiplies_large_float32_matrices_only(monkeypatch: pytest.MonkeyPatch):
    if not torch.backends.mkldnn.is_available():
        pytest.skip("PyTorch was built without oneDNN")
    weight = torch.randn(5, 4)
    assert products.suits(torch.randn(5, 4), weight)
    assert not products.suits(torch.randn(4, 4), weight)
    assert not products.suits(torch.randn(5, 4).double(), weight.double())
    assert not products.suits(torch.randn(5, 0), torch.randn(5, 0))  # a layer without heads
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert not products.suits(torch.randn(5, 4), weight)
    monkeypatch.setattr(torch.backends.mkldnn, "enabled", False)
    assert not products.suits(torch.randn(5, 4), weight)


def test_columns_of_memory_are_read_right():
    """The gradient of rows multiplies by the transposed weights, which are not moved for it."""
    torch.manual_seed(1)
    rows, weight = torch.randn(50, 7), torch.randn(7, 11)
    torch.testing.assert_close(products.product(rows, weight.T), rows @ weight, rtol=1e-5, atol=1e-5)


def test_gradients_that_nobody_wants_are_not_computed():
    states = torch.randn(1, 50, 4)
    weight, bias = torch.randn(3, 4), torch.randn(3, requires_grad=True)
    products.linear(states, weight, bias).sum().backward()
    assert bias.grad is not None
    torch.testing.assert_close(bias.grad, torch.full((3,), 50.0))


def test_a_second_derivative_is_refused():
    states = torch.randn(1, 50, 4, requires_grad=True)
    output = products.linear(states, torch.randn(3, 4), torch.randn(3))
    (slope,) = torch.autograd.grad(output.square().sum(), states, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        slope.sum().backward()


def test_the_gradients_are_those_of_differences():
    torch.manual_seed(1)
    parts = [torch.randn(size).double().requires_grad_() for size in ((6, 4), (3, 4), (3,))]
    assert torch.autograd.gradcheck(products._Linear.apply, parts)

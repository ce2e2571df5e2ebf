"""L0 pruning: Hard-Concrete gates on the heads of a trained model, a penalty on the open ones (voita2019 section 6)."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, Literal

import torch
from torch import Tensor, nn

from headcount.heads import Heads, total
from headcount.model.gates import HardConcreteGate, TestRule
from headcount.model.surgery import remove_heads, scale_heads
from headcount.model.transformer import Transformer
from headcount.model.weights import build
from headcount.pruning.control import NAME, Control
from headcount.pruning.ranking import warn_of_empty_types
from headcount.train.hooks import NoHook
from headcount.train.optim import Group, constant, trainable

Scope = Literal["encoder", "all"]

TRAINED = {"encoder": ("encoder.", "embedding.source"), "all": ("",)}
"""Scope -> how the names of the parameters begin that are trained."""


def freeze(model: Transformer, scope: Scope) -> None:
    """Train only what the scope trains, in place.

    Scope `all` trains everything. Scope `encoder` freezes decoder, target embeddings and output layer, so that no
    function can move into the decoder. Source embeddings of their own are trained, as in the authors' code; tied ones
    are the output layer and stay frozen.
    """
    for name, parameter in model.named_parameters():
        # The model itself has frozen what takes part in nothing, such as the projections of a layer without heads.
        parameter.requires_grad_(parameter.requires_grad and name.startswith(TRAINED[scope]))


def attach(
    model: Transformer,
    *,
    scope: Scope,
    initial_log_alpha: float,
    initial_spread: float,
    seed: int,
    temperature: float,
    low: float,
    high: float,
    at_test: TestRule,
) -> None:
    """Put a gate on every head of the scope, in place, and freeze what the scope does not train.

    Scope `all` gates every attention, scope `encoder` the encoder's self-attention. A layer without heads gets no gate.

    Args:
        model: a trained model, on the device where it is to be trained.
        scope: which attentions are gated and what is trained, see `freeze`.
        initial_log_alpha: centre of the gates' log α; above 0 all gates start open.
        initial_spread: log α is drawn from U(centre - spread, centre + spread); 0 makes all gates equal.
        seed: of these draws.
        temperature: τ of the Hard Concrete distribution.
        low: γ, and
        high: ζ, the ends of its stretch.
        at_test: rule by which the gates are read at test time.

    """
    generator = torch.Generator().manual_seed(seed)
    for (kind, _), attention in model.attentions().items():
        if attention.kept and (scope == "all" or kind == "encoder"):
            gate = HardConcreteGate(
                len(attention.kept),
                initial_log_alpha=initial_log_alpha,
                temperature=temperature,
                low=low,
                high=high,
                at_test=at_test,
            )
            with torch.no_grad():
                gate.log_alpha.add_(2 * torch.rand(len(attention.kept), generator=generator) - 1, alpha=initial_spread)
            attention.gate = gate.to(model.output_weight.device)
    freeze(model, scope)


def gates(model: Transformer) -> dict[tuple[str, int], HardConcreteGate]:
    """Return the gates by attention type and layer, in the order of `Transformer.attentions`."""
    return {
        place: attention.gate
        for place, attention in model.attentions().items()
        if isinstance(attention.gate, HardConcreteGate)
    }


def parameter_groups(model: Transformer, *, learning_rate: float, gate_learning_rate: float) -> list[Group]:
    """Divide the trained parameters into the weights and the gates' log α, each group at its constant rate."""
    of_gates = {id(gate.log_alpha) for gate in gates(model).values()}
    named = trainable(model)
    return [
        Group(
            {name: parameter for name, parameter in named.items() if (id(parameter) in of_gates) == gated},
            functools.partial(constant, rate=rate),
        )
        for gated, rate in ((False, learning_rate), (True, gate_learning_rate))
    ]


def kept(model: Transformer) -> Heads:
    """Return the heads whose gate is not 0 at test time, and those that have no gate (voita2019, footnote 7)."""
    heads = {kind: [list(ids) for ids in layers] for kind, layers in model.config.kept.items()}
    for (kind, layer), gate in gates(model).items():
        opened = (gate.factors() > 0).tolist()
        heads[kind][layer] = [head for head, is_open in zip(heads[kind][layer], opened, strict=True) if is_open]
    return heads


def pruned(model: Transformer) -> Transformer:
    """Return a plain model without gates and without the closed heads, equal to `model` in evaluation mode.

    Factors between 0 and 1, which only the soft rule has, become part of the output projections.
    """
    heads = kept(model)
    warn_of_empty_types(heads)
    factors = {place: gate.factors().detach() for place, gate in gates(model).items()}
    own = {name: value for name, value in model.state_dict().items() if not name.startswith(f"{NAME}.")}
    return build(*remove_heads(scale_heads(own, model.config, factors), model.config, heads))


class L0Hook(NoHook):
    """Adds λ Σ P(g ≠ 0) over all gated heads to the mean token loss and reports the gates (voita2019 section 6.1).

    Args:
        model: with gates; the control becomes part of it, so that it is saved in its checkpoints.
        control: gives λ and says when to stop.

    """

    def __init__(self, model: Transformer, control: Control) -> None:
        self._control = control.to(model.output_weight.device)
        model.add_module(NAME, self._control)

    def start(self, model: nn.Module, update: int) -> None:
        """Find the gates.

        Raises:
            ValueError: the model has none.

        """
        assert isinstance(model, Transformer)
        self._model = model
        self._gates = gates(model)
        self._checked = False
        if not self._gates:
            raise ValueError("the model has no gates; call `attach` first")

    def loss_term(self, update: int) -> Tensor:
        """Return the penalty; called when the gradient of the token loss is there, as the loop does.

        Raises:
            RuntimeError: the token loss does not depend on a gate, so that its head would be counted without being
                pruned.

        """
        if not self._checked:
            unused = [place for place, gate in self._gates.items() if gate.log_alpha.grad is None]
            if unused:
                raise RuntimeError(f"the loss does not depend on the gates of {unused}")
            self._checked = True
        penalty = self._control.advance(
            torch.cat([gate.log_alpha - gate.threshold for gate in self._gates.values()]).detach()
        )
        opened = torch.stack([gate.expected_open().sum() for gate in self._gates.values()]).sum()
        return penalty.to(opened.dtype) * opened

    @torch.no_grad()
    def done(self, update: int) -> bool:
        """Say whether all gates have been settled for long enough."""
        return self._control.done(update, torch.cat([gate.settled() for gate in self._gates.values()]))

    def after_step(self, update: int) -> Mapping[str, Any]:
        """Return the open heads of the whole model and P(g ≠ 0) of each gate.

        `heads/kept` counts the heads that evaluation would keep, `heads/expected` is the mean number that training
        uses; heads without a gate count in both. `l0/penalty` is the λ of this update, `gates` is attention type ->
        layer -> head.
        """
        with torch.no_grad():
            open_probability = {place: gate.expected_open().tolist() for place, gate in self._gates.items()}
        ungated = total(self._model.config.kept) - sum(map(len, open_probability.values()))
        by_type: dict[str, list[list[float]]] = {kind: [] for kind, _ in open_probability}
        for kind, rows in by_type.items():
            rows += [open_probability.get((kind, n), []) for n in range(len(self._model.config.kept[kind]))]
        return {
            "heads/kept": total(kept(self._model)),
            "heads/expected": ungated + sum(map(sum, open_probability.values())),
            "l0/penalty": float(self._control.penalty),
            "gates": by_type,
        }

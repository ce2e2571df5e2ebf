"""L0 pruning: Hard-Concrete gates on the heads of a trained model, a penalty on the open ones (voita2019 section 6)."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, Literal

import torch
from torch import Tensor, nn

from headcount.heads import Heads, total
from headcount.model.gates import HardConcreteGate
from headcount.model.surgery import remove_heads
from headcount.model.transformer import Transformer
from headcount.pruning.ranking import warn_of_empty_types
from headcount.train.hooks import NoHook
from headcount.train.optim import Group, constant, trainable

Scope = Literal["encoder", "all"]

TRAINED = {"encoder": ("encoder.", "embedding.source"), "all": ("",)}
"""Scope -> how the names of the parameters begin that are trained."""


def attach(
    model: Transformer, *, scope: Scope, initial_log_alpha: float, temperature: float, low: float, high: float
) -> None:
    """Put a gate on every head of the scope, in place, and freeze what the scope does not train.

    Scope `all` gates every attention and trains everything. Scope `encoder` gates the encoder's self-attention and
    freezes decoder, target embeddings and output layer, so that no function can move into the decoder. Source
    embeddings of their own are trained, as in the authors' code; tied ones are the output layer and stay frozen. A
    layer without heads gets no gate.

    Args:
        model: a trained model, on the device where it is to be trained.
        scope: which attentions are gated.
        initial_log_alpha: of every gate; above 0 all gates start open.
        temperature: τ of the Hard Concrete distribution.
        low: γ, and
        high: ζ, the ends of its stretch.

    """
    for (kind, _), attention in model.attentions().items():
        if attention.kept and (scope == "all" or kind == "encoder"):
            attention.gate = HardConcreteGate(
                len(attention.kept),
                initial_log_alpha=initial_log_alpha,
                temperature=temperature,
                low=low,
                high=high,
            ).to(model.output_weight.device)
    for name, parameter in model.named_parameters():
        # The projections of a layer without heads are empty and take part in nothing.
        parameter.requires_grad_(parameter.numel() > 0 and name.startswith(TRAINED[scope]))


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
    """Return the heads whose gate is open, log α > 0, and those that have no gate (voita2019, footnote 7)."""
    heads = {kind: [list(ids) for ids in layers] for kind, layers in model.config.kept.items()}
    for (kind, layer), gate in gates(model).items():
        opened = (gate.log_alpha > 0).tolist()
        heads[kind][layer] = [head for head, is_open in zip(heads[kind][layer], opened, strict=True) if is_open]
    return heads


def pruned(model: Transformer) -> Transformer:
    """Return a plain model without gates and without the closed heads, equal to `model` in evaluation mode."""
    heads = kept(model)
    warn_of_empty_types(heads)
    state, config = remove_heads(model.state_dict(), model.config, heads)
    plain = Transformer(config).to(model.output_weight.device)
    plain.load_state_dict(state)
    return plain.eval()


class L0Hook(NoHook):
    """Adds λ Σ P(g ≠ 0) over all gated heads to the mean token loss and reports the gates (voita2019 section 6.1).

    Args:
        penalty: λ, nats per target token for each open head.

    """

    def __init__(self, penalty: float) -> None:
        self._penalty = penalty

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
        return self._penalty * torch.stack([gate.expected_open().sum() for gate in self._gates.values()]).sum()

    def after_step(self, update: int) -> Mapping[str, Any]:
        """Return the open heads of the whole model and P(g ≠ 0) of each gate.

        `heads/kept` counts the heads that evaluation would keep, `heads/expected` is the mean number that training
        uses; heads without a gate count in both. `gates` is attention type -> layer -> head.
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
            "gates": by_type,
        }

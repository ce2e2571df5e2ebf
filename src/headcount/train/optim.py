"""Adam whose moments are known by parameter name and whose rates are functions of the update; no weight decay."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import nn
from torch.optim.adam import adam

Rate = Callable[[int], float]
"""Learning rate at an update; updates count from 1."""

Moments = dict[str, dict[str, torch.Tensor]]
"""Adam's `exp_avg` and `exp_avg_sq`, each parameter name -> tensor of the parameter's shape."""

MOMENTS = ("exp_avg", "exp_avg_sq")


def inverse_sqrt(update: int, *, peak: float, warmup_updates: int) -> float:
    """Rise linearly to `peak`, then fall with 1 / sqrt(update) (Vaswani et al. 2017, section 5.3)."""
    return peak * min(update / warmup_updates, math.sqrt(warmup_updates / update))


def constant(update: int, *, rate: float) -> float:
    """Return `rate` at every update."""
    return rate


@dataclass(frozen=True)
class Group:
    """Parameters by name that share a learning rate."""

    parameters: Mapping[str, nn.Parameter]
    rate: Rate


def trainable(model: nn.Module) -> dict[str, nn.Parameter]:
    """Return the parameters that are not frozen, by name; a tied one appears once."""
    return {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}


class NamedAdam:
    """Adam over groups of named parameters, with clipping and skipping inside the fused step.

    The state is kept by name, so that removing heads can slice it like the weights. PyTorch's functional form is used:
    the class would hide state behind parameter order and import the compiler (a second for each process).

    Args:
        groups: no parameter may be in two of them.
        beta1: decay of the first moment.
        beta2: decay of the second moment.

    """

    EPSILON = 1e-9  # Vaswani et al. 2017, section 5.3

    def __init__(self, groups: Sequence[Group], *, beta1: float, beta2: float) -> None:
        self._groups = list(groups)
        self._betas = (beta1, beta2)
        self._named = {name: parameter for group in groups for name, parameter in group.parameters.items()}
        self._moments = {moment: {name: torch.zeros_like(p) for name, p in self._named.items()} for moment in MOMENTS}
        self._steps = {name: torch.zeros((), device=p.device) for name, p in self._named.items()}

    def rate(self, update: int) -> float:
        """Return the learning rate of the first group."""
        return self._groups[0].rate(update)

    def zero_grad(self) -> None:
        """Forget the gradients."""
        for parameter in self._named.values():
            parameter.grad = None

    def gradients(self) -> list[torch.Tensor]:
        """Return the gradients that there are; not copies."""
        return [parameter.grad for parameter in self._named.values() if parameter.grad is not None]

    @torch.no_grad()
    def step(self, update: int, *, clip_norm: float, loss: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Make one step, unless the loss or a gradient is not finite: then nothing changes.

        Args:
            update: sets the learning rates.
            clip_norm: longer gradients are scaled to this norm; 0 leaves them alone.
            loss: value that must be finite too.

        Returns:
            The gradient norm before clipping and whether the step was made, both still on the device: the decision
            is taken inside the fused kernel, as with a gradient scaler, so a GPU is never waited for.

        """
        gradients = {name: p.grad for name, p in self._named.items() if p.grad is not None}
        norm = torch.nn.utils.get_total_norm(list(gradients.values()))
        made = torch.isfinite(norm) & torch.isfinite(loss)
        for group in self._groups:
            names = [name for name in group.parameters if name in gradients]
            adam(
                [self._named[name] for name in names],
                [gradients[name] for name in names],
                [self._moments["exp_avg"][name] for name in names],
                [self._moments["exp_avg_sq"][name] for name in names],
                [],
                [self._steps[name] for name in names],
                fused=True,
                grad_scale=(norm / clip_norm).clamp(min=1.0).float() if clip_norm > 0 else None,
                found_inf=(~made).float(),
                amsgrad=False,
                beta1=self._betas[0],
                beta2=self._betas[1],
                lr=group.rate(update),
                weight_decay=0.0,
                eps=self.EPSILON,
                maximize=False,
            )
        return norm, made

    @property
    def steps(self) -> int:
        """Steps made so far, skipped ones not counted; every trained parameter takes part in every step."""
        return int(torch.stack(list(self._steps.values())).max())

    def moments(self) -> Moments:
        """Return Adam's moments by parameter name; not copies."""
        return self._moments

    def load_moments(self, moments: Moments, *, steps: int) -> None:
        """Take over moments by parameter name, for instance those of a model whose heads were removed since.

        Args:
            moments: a parameter that is missing here starts with zeros.
            steps: steps made so far, for the bias correction.

        Raises:
            ValueError: a name that this optimiser does not train, or a tensor of another shape.

        """
        for moment in MOMENTS:
            for name, value in moments[moment].items():
                own = self._moments[moment].get(name)
                if own is None or own.shape != value.shape:
                    expected = "no such parameter" if own is None else list(own.shape)
                    raise ValueError(f"{moment} of {name} has shape {list(value.shape)}, expected: {expected}")
                own.copy_(value)
        for count in self._steps.values():
            count.fill_(steps)

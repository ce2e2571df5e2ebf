"""α-entmax with one learned α for the whole model, the control for α by head."""

from __future__ import annotations

from torch import nn

from headcount.model.normalise._learned import LearnedAlpha

NAME = "attention_a"
"""Of the parameter among those of the model."""


class Normaliser(LearnedAlpha):
    """All heads of all attentions with this normaliser are equally sparse; by itself one of them has its own α."""

    by_head = False

    def share(self, model: nn.Module) -> None:
        """Use the model's a instead of the own one, which becomes the model's if that has none.

        So a has one name in the whole model, is stored once and stepped once. It is trained if one of its users has a
        head.
        """
        if not hasattr(model, NAME):
            model.register_parameter(NAME, self.a)
            self.a.requires_grad_(False)
        del self.a
        shared = model.get_parameter(NAME)
        object.__setattr__(self, "a", shared.requires_grad_(shared.requires_grad or self.heads > 0))  # unregistered

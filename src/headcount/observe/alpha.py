"""The trajectory of every head's α while an α-entmax model trains (correia2019, figure 2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import nn

from headcount.model.transformer import Transformer


class AlphaHook:
    """A hook of the training loop that looks and changes nothing; it reports only an α that is learned."""

    def start(self, model: nn.Module, update: int) -> None:
        """Find the model."""
        assert isinstance(model, Transformer)
        self._model = model

    def loss_term(self, update: int) -> None:
        """Add nothing."""

    def done(self, update: int) -> bool:
        """Go on to the planned end."""
        return False

    def after_step(self, update: int) -> Mapping[str, Any]:
        """Return `alpha`: attention type -> layer -> head; a shared α once for each head."""
        values: dict[str, list[list[float]]] = {}
        for (kind, _), attention in self._model.attentions().items():
            normaliser: Any = attention.normaliser
            if isinstance(getattr(normaliser, "a", None), nn.Parameter):  # a fixed α has none
                values.setdefault(kind, []).append(normaliser.alpha.tolist())
        return {"alpha": values} if values else {}

    def finish(self, model: nn.Module) -> None:
        """Do nothing."""

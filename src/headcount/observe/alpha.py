"""The trajectory of every head's α while an α-entmax model trains (correia2019, figure 2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from headcount.model.transformer import Transformer


class AlphaHook:
    """A hook of the training loop that looks and changes nothing; it reports only normalisers that have an α."""

    def start(self, model: nn.Module, update: int) -> None:
        """Find the model."""
        assert isinstance(model, Transformer)
        self._model = model

    def loss_term(self, update: int) -> None:
        """Add nothing."""

    def after_step(self, update: int) -> Mapping[str, Any]:
        """Return `alpha`: attention type -> layer -> head; nothing for a model without an α."""
        values: dict[str, list[list[float]]] = {}
        for (kind, _), attention in self._model.attentions().items():
            alpha = getattr(attention.normaliser, "alpha", None)
            if isinstance(alpha, Tensor):
                values.setdefault(kind, []).append(alpha.tolist())
        return {"alpha": values} if values else {}

    def finish(self, model: nn.Module) -> None:
        """Do nothing."""

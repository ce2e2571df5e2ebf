"""The α that a normaliser without any setting has by definition."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from headcount.model.entmax import Mapping
from headcount.model.shape import AlphaOptions


class ExactAlpha(nn.Module):
    """A normaliser that is a mapping of its own and no parameter of α-entmax; none of the options concerns it."""

    ALPHA: ClassVar[float]
    MAPPING: ClassVar[Mapping]

    def __init__(self, heads: int, options: AlphaOptions) -> None:
        super().__init__()
        self.heads = heads

    @property
    def alpha(self) -> Tensor:
        """α of every head, [head]."""
        return torch.full((self.heads,), self.ALPHA)

    def mapping(self) -> Mapping:
        """Return what `forward` does, for attention that takes scores and weights together."""
        return self.MAPPING

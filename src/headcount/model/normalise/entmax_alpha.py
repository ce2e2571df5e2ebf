"""α-entmax with one learned α for each head (Correia et al. 2019): the head chooses its own sparsity."""

from __future__ import annotations

from headcount.model.normalise._learned import LearnedAlpha


class Normaliser(LearnedAlpha):
    """As in the paper, with a [head]."""

    by_head = True

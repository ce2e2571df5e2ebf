"""α-entmax with one learned α for the heads of each attention (Correia et al. 2019 mention it and keep α by head)."""

from __future__ import annotations

from headcount.model.normalise._learned import LearnedAlpha


class Normaliser(LearnedAlpha):
    """The heads of one attention are equally sparse."""

    by_head = False

"""How the scores of a group of runs are written in the cells of several tables."""

from __future__ import annotations

from headcount.figures.groups import Group, Value, differences, over_seeds
from headcount.figures.style import MINUS

SIGNIFICANT = 0.05


def bleu(group: Group | None) -> str:
    """Show BLEU, mean ± standard deviation over the seeds, of one seed its interval."""
    value = group.bleu() if group else None
    if value is None:
        return ""
    if value.seeds > 1:
        return f"{value.centre:.2f} ± {value.high - value.centre:.2f}"
    return f"{value.centre:.2f} [{value.low:.2f}, {value.high:.2f}]"


def signed(value: float) -> str:
    """Write a difference of BLEU with its sign."""
    return f"{value:+.2f}".replace("-", MINUS)


def signed_mean(value: Value) -> str:
    """Write the mean of a difference of BLEU with its standard deviation where there are several seeds."""
    return signed(value.centre) + (f" ± {value.high - value.centre:.2f}" if value.seeds > 1 else "")


def lead(group: Group, other: Group | None) -> str:
    """Show by how much BLEU a group is ahead of another, seed by seed; nothing where they share no seed."""
    value = over_seeds(differences(group, other)) if other else None
    return signed_mean(value) if value else ""


def significant(group: Group) -> bool:
    """Tell whether the paired bootstrap finds a difference to the baseline in every seed."""
    values = group.rows["p_value"].dropna()
    return len(values) > 0 and bool((values < SIGNIFICANT).all())


def p_value(group: Group) -> str:
    """Show p of the paired bootstrap against the baseline; of several seeds, in how many there is a difference."""
    values = group.rows["p_value"].dropna()
    if values.empty:
        return ""
    if len(values) > 1:
        return f"{(values < SIGNIFICANT).sum()} of {len(values)}"
    return "< 0.001" if values.iloc[0] < 0.001 else f"{values.iloc[0]:.3f}"

"""With which other run, beside the baseline, a run is compared sentence by sentence; free of torch."""

from __future__ import annotations

from collections.abc import Mapping

from headcount.plan import Run

PARTNERS = {
    **dict.fromkeys(("ticket", "reinit", "reinit_longer", "same_counts", "l0", "ranked", "subset"), "ticket"),
    "named": "unnamed",
}
"""Method to that of the partner: the ticket of the main lottery for all that keep some wished number of heads."""

HANGING = ("scratch", "random")
"""Methods whose partner is the L0 run that they take their heads, or their number, from."""


def partner(run: Run, plan: Mapping[str, Run]) -> str | None:
    """Return the id of the run's partner, which has the same corpus, seed, scope, normaliser and number of heads.

    Args:
        run: one of the plan.
        plan: all runs by their ids.

    Returns:
        None where the plan has no such run.

    """
    if run.method in HANGING:
        return next(parent for parent in run.parents if plan[parent].method == "l0")
    method = PARTNERS.get(run.method)
    found = (
        other.run
        for other in plan.values()
        if other.method == method
        and other is not run
        and not other.settings.get("variant")
        and _ground(other) == _ground(run)
    )
    return next(found, None)


def _ground(run: Run) -> tuple[str, int, str, str, int]:
    """Return what two partners have in common; without a wished number of heads, that number is 0."""
    heads = run.settings.get("target_heads") or run.settings.get("l0", {}).get("target_heads", 0)
    return run.corpus, run.seed, run.scope, run.normaliser, heads

"""Tests of questions that correia2019 does not ask: can heads of sparse models be spared, and which ones survive."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd

from headcount.claims.dense_models import HEAD, SOFTMAX, each, of_heads
from headcount.claims.estimate import NORMAL, Estimate, average, difference, over_seeds
from headcount.claims.of_pruning import PARTLY
from headcount.claims.sweeps import Sweep, gain, sweeps, variants
from headcount.claims.tables import Lacking, Tables
from headcount.claims.verdict import Claim, Outcome, at_most, more_than


def as_prunable_by_l0(tables: Tables, claim: Claim) -> Outcome:
    """Test that L0 models of a `normaliser` lose at most `points` BLEU more than softmax models of as many heads.

    A loss is against the model with λ = 0. Softmax's loss at equal heads is read off the line through its models, of
    which one must have the same number of heads up to the share `apart`.
    """
    softmax = {sweep.seed: sweep for sweep in sweeps(tables, claim["scope"])}
    found = []
    for sparse in sweeps(_in_place_of_softmax(tables, claim["normaliser"]), claim["scope"]):
        if sparse.seed in softmax:
            line = _losses(softmax[sparse.seed])
            reach = claim["apart"] * sparse.dense["heads"]
            excess = [
                difference(sparse.loss(run), at)
                for _, run in sparse.between(*PARTLY).iterrows()
                if (at := _loss_at(line, int(run["heads"]), reach)) is not None
            ]
            found += [average(excess)] if excess else []
    if not found:
        raise Lacking("no L0 models of both attentions, pruned in part, with about as many heads")
    return at_most(over_seeds(found), claim["points"], "loss of BLEU less that of softmax, at equal heads")


def as_prunable_by_lottery(tables: Tables, claim: Claim) -> Outcome:
    """Test that tickets of a `normaliser` lose at most `points` BLEU more than softmax tickets of as many heads.

    A loss is against the dense model of the same attention.
    """
    runs = tables["runs"]
    tickets = runs[(runs["method"] == "ticket") & (variants(runs) == "")]

    def excess(dense: pd.Series, softmax: pd.Series) -> Estimate:
        of_seed = tickets[tickets["seed"] == dense["seed"]]
        own = of_seed[of_seed["parent_normaliser"] == claim["normaliser"]]
        others = of_seed[of_seed["parent_normaliser"].isin(["softmax", ""])].set_index("heads")
        pairs = [
            difference(gain(dense, ticket), gain(softmax, others.loc[[ticket["heads"]]].iloc[0]))
            for _, ticket in own.iterrows()
            if ticket["heads"] in others.index
        ]
        if not pairs:
            raise Lacking("no tickets of both attentions with as many heads")
        return average(pairs)

    found = each(tables, [claim["normaliser"], SOFTMAX], excess)
    return at_most(found, claim["points"], "loss of BLEU less that of softmax, at equal heads")


def predicts_survival(tables: Tables, claim: Claim) -> Outcome:
    """Test that of two heads of one attention type the one with the `larger` or `smaller` (`kept`) `measure` is kept.

    The number is the share of the pairs of a kept and a removed head for which that is so, 0.5 by chance. The measure
    is that of the dense model; attention types are never mixed, since they differ in both.
    """
    runs, heads = tables["runs"], tables["heads"]
    sign = {"larger": 1.0, "smaller": -1.0}[claim["kept"]]

    def share(dense: pd.Series) -> Estimate:
        measure = of_heads(tables["observations"], dense, claim["measure"]).astype({"head": int}).set_index(HEAD)
        same = (runs["seed"] == dense["seed"]) & (runs["parent_normaliser"] == claim["normaliser"])
        pruned = runs[same & (runs["method"] == claim["method"])]
        shares = []
        for run in pruned["run"]:
            kept = heads[heads["run"] == run].astype({"head": int}).set_index(HEAD)["kept"]
            pairs = _pairs_in_order(measure["value"] * sign, kept)
            shares += [pairs] if pairs else []
        if not shares:
            raise Lacking(f"no {claim['method']} model of {claim['normaliser']} that is pruned in part")
        return average(shares)

    found = each(tables, [claim["normaliser"]], share)
    return more_than(found, 0.5, "share of pairs of a kept and a removed head")


def _in_place_of_softmax(tables: Tables, normaliser: str) -> Tables:
    """Return the study as if the models of a normaliser were its softmax models."""
    runs = tables["runs"]
    own = runs[runs["parent_normaliser"] == normaliser]
    if own.empty:
        raise Lacking(f"no models of {normaliser}")
    method = own["method"].where(own["method"] != normaliser, SOFTMAX)
    return Tables({**tables.frames, "runs": own.assign(method=method, parent_normaliser="softmax")})


def _losses(sweep: Sweep) -> list[tuple[int, Estimate]]:
    """Return heads and loss of the models of a sweep, its control first."""
    pruned = [(int(run["heads"]), sweep.loss(run)) for _, run in sweep.pruned.iterrows()]
    return [(int(sweep.dense["heads"]), Estimate(0.0, 0.0, 0.0)), *pruned]


def _loss_at(line: list[tuple[int, Estimate]], heads: int, reach: float) -> Estimate | None:
    """Return the loss at a number of heads by linear interpolation; None where no model is within reach.

    With still fewer heads than any model the loss is at least that of the last, which is returned.
    """
    if min(abs(at - heads) for at, _ in line) > reach:
        return None
    for (more, before), (fewer, after) in itertools.pairwise(line):
        if fewer <= heads < more:
            weight = (more - heads) / (more - fewer)
            value = (1 - weight) * before.value + weight * after.value
            low = math.hypot((1 - weight) * (before.value - before.low), weight * (after.value - after.low))
            high = math.hypot((1 - weight) * (before.high - before.value), weight * (after.high - after.value))
            return Estimate(value, value - low, value + high)
    return line[-1][1] if heads < line[-1][0] else line[0][1]


def _pairs_in_order(measure: pd.Series, kept: pd.Series) -> Estimate | None:
    """Return the share of pairs in which the kept head has the larger measure; None where no type is pruned in part.

    Ties count half. The interval is that of the Mann-Whitney test at chance, summed over the attention types.
    """
    both = pd.DataFrame({"measure": measure, "kept": kept}).dropna()
    wins = pairs = variance = 0.0
    for _, heads in both.groupby(level="attention"):
        alive, gone = (heads.loc[heads["kept"] == state, "measure"].to_numpy(dtype=float) for state in (1, 0))
        wins += float(np.sign(alive[:, None] - gone).sum()) / 2 + alive.size * gone.size / 2
        pairs += alive.size * gone.size
        variance += alive.size * gone.size * (len(heads) + 1) / 12
    if not pairs:
        return None
    half = NORMAL * math.sqrt(variance) / pairs
    return Estimate(wins / pairs, wins / pairs - half, wins / pairs + half)

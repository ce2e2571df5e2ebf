"""Tests of claims on what encoder heads do (voita2019 section 5), and on how pruning treats heads with a function."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import fmean

import pandas as pd

from headcount.claims.estimate import NORMAL, Estimate, average, difference, over_seeds, share, within
from headcount.claims.roles import KINDS, PLACE, Roles, best, dense_roles, relation_of, roles_of
from headcount.claims.sweeps import sweeps
from headcount.claims.tables import Lacking, Tables
from headcount.claims.verdict import Claim, Outcome, at_least, at_most, in_every_seed, more_than

DIRECTIONS = ("to_dependent", "to_head")


def syntactic_gain(tables: Tables, claim: Claim) -> Outcome:
    """Test that the best heads for some relations beat the most frequent relative position by `points` percent points.

    `over` says whether the weakest of the (relation, direction) cells is meant or their mean; `side` whether the
    gain is `at least` or `at most` so large. The position's own share is taken as exact.
    """

    def gain(roles: Roles) -> Estimate:
        cells = [
            share(float(row["hits"]), float(row["cases"])) + -float(row["baseline"])
            for relation in claim["relations"]
            for direction in DIRECTIONS
            for row in best(roles.rows, f"{relation}:{direction}")
        ]
        if len(cells) < len(claim["relations"]) * len(DIRECTIONS):
            raise Lacking(f"{', '.join(claim['relations'])}: not all were measured in both directions")
        return min(cells, key=lambda cell: cell.value) if claim["over"] == "weakest" else average(cells)

    judge = {"at least": at_least, "at most": at_most}[claim["side"]]
    return judge(_each(tables, gain), claim["points"] / 100, f"share above the baseline, {claim['over']} of the cells")


def same_for_every_target(tables: Tables, claim: Claim) -> Outcome:
    """Test that the best heads' mean accuracy differs by at most `points` percent points between target languages."""
    accuracies: dict[str, list[float]] = {}
    for roles in dense_roles(tables):
        cells = [
            row["value"]
            for relation in claim["relations"]
            for direction in DIRECTIONS
            for row in best(roles.rows, f"{relation}:{direction}")
        ]
        if len(cells) == len(claim["relations"]) * len(DIRECTIONS):
            accuracies.setdefault(roles.corpus, []).append(fmean(cells))
    if len(accuracies) < 2:
        raise Lacking("fewer than two corpora with these relations")
    by_corpus = {
        corpus: over_seeds([within(v, claim["tolerance"]) for v in values]) for corpus, values in accuracies.items()
    }
    high = max(by_corpus.values(), key=lambda estimate: estimate.value)
    low = min(by_corpus.values(), key=lambda estimate: estimate.value)
    return at_most(
        difference(high, low), claim["points"] / 100, f"spread of {len(by_corpus)} corpora: {', '.join(by_corpus)}"
    )


def positions_order(tables: Tables, claim: Claim) -> Outcome:
    """Test that for each of `pairs` the first relation's most frequent relative position has the larger share."""
    relations = tables["relations"]
    gaps = [difference(_mode(relations, first), _mode(relations, second)) for first, second in claim["pairs"]]
    least = min(gaps, key=lambda gap: gap.low)
    return more_than(least, 0.0, "smallest difference of the shares")


def side_of_head(tables: Tables, claim: Claim) -> Outcome:
    """Test that most dependents of a relation stand `left` or `right` of their head word."""
    rows = _relation(tables["relations"], claim["relation"])
    there = rows["offset"] < 0 if claim["side"] == "left" else rows["offset"] > 0
    return more_than(_untrained(rows.loc[there, "count"].sum(), rows["count"].sum()), 0.5, "share on that side")


def baseline_is_mode(tables: Tables, claim: Claim) -> Outcome:
    """Test that the baseline of each relation is the largest share of its relative positions."""
    relations = tables["relations"]

    def apart(roles: Roles) -> Estimate:
        rows = roles.rows[roles.rows["kind"] == "syntactic"].dropna(subset=["baseline"])
        names = rows["role"].map(relation_of)
        gaps = [
            abs(float(baseline) - _mode(relations, name).value)
            for name, baselines in rows["baseline"].groupby(names)
            for baseline in baselines.unique()
        ]
        if not gaps:
            raise Lacking("no syntactic roles were measured")
        return within(max(gaps), 0.0)

    return at_most(_each(tables, apart), claim["points"] / 100, "largest difference of the shares")


def kinds_present(tables: Tables, claim: Claim) -> Outcome:
    """Test that heads of every one of `kinds` exist in the dense encoder."""
    present = [set(claim["kinds"]) <= roles.kinds for roles in dense_roles(tables)]
    found = [", ".join(kind for kind in KINDS if kind in roles.kinds) for roles in dense_roles(tables)]
    return in_every_seed(present, f"found: {' | '.join(name or 'none' for name in found)}")


def depth_of_kind(tables: Tables, claim: Claim) -> Outcome:
    """Test that heads of a kind stand at a mean depth of at most `depth`: 0 is the first layer, 1 the last."""

    def depth(roles: Roles) -> Estimate:
        heads = roles.heads(claim["kind"])
        if not heads or roles.layers < 2:
            raise Lacking(f"no {claim['kind']} heads in a stack of layers")
        return within(fmean(layer / (roles.layers - 1) for layer, _ in heads), claim["tolerance"])

    return at_most(_each(tables, depth), claim["depth"], "mean depth")


def exactly_one(tables: Tables, claim: Claim) -> Outcome:
    """Test that the dense encoder has exactly one head of a kind, and that it is in the layer counted from 1."""
    found = [sorted(roles.heads(claim["kind"])) for roles in dense_roles(tables)]
    right = [len(heads) == 1 and heads[0][0] == claim["layer"] - 1 for heads in found]
    where = " | ".join(
        ", ".join(f"layer {layer + 1} head {head + 1}" for layer, head in heads) or "none" for heads in found
    )
    return in_every_seed(right, f"found: {where}")


def best_share(tables: Tables, claim: Claim) -> Outcome:
    """Test that the head that fits a role best does so in at least `share` of the cases."""

    def fit(roles: Roles) -> Estimate:
        for row in best(roles.rows, claim["role"]):
            return share(row["hits"], row["cases"])
        raise Lacking(f"the role {claim['role']} was not measured")

    return at_least(_each(tables, fit), claim["share"], "share of the best head")


def columns_in_maps(tables: Tables, claim: Claim) -> Outcome:
    """Test that most queries of a map of the best head for a role put their largest weight on one and the same word."""
    maps = tables["maps"]
    words = ~maps["key_token"].isin(claim["not_words"]) & ~maps["query_token"].isin(claim["not_words"])
    maps = maps[words & (maps["attention"] == "encoder")]

    def column(roles: Roles) -> Estimate:
        for row in best(roles.rows, claim["role"]):
            own = maps[(maps["run"] == roles.run) & (maps["layer"] == row["layer"]) & (maps["head"] == row["head"])]
            if own.empty:
                break
            largest = own.loc[own.groupby(["sentence", "query"])["weight"].idxmax()]
            shares = largest.groupby("sentence")["key"].agg(lambda keys: keys.value_counts(normalize=True).max())
            return within(float(shares.mean()), claim["tolerance"])
        raise Lacking(f"no maps of a head for {claim['role']}")

    return more_than(_each(tables, column), claim["share"], "share of queries on the most attended word")


def unnamed_majority(tables: Tables, claim: Claim) -> Outcome:
    """Test that at least `share` of the dense encoder's heads have no role."""
    unnamed = _each(tables, lambda roles: within(1 - roles.named_share, claim["tolerance"]))
    return at_least(unnamed, claim["share"], "share of heads without a role")


def relations_found(tables: Tables, claim: Claim) -> Outcome:
    """Test that each of the relations `relations` has a head that follows it in some direction."""
    missing = []
    for roles in dense_roles(tables):
        syntactic = roles.rows[(roles.rows["kind"] == "syntactic") & (roles.rows["cases"] >= claim["cases"])]
        seen, found = (set(rows["role"].map(relation_of)) for rows in (syntactic, syntactic[syntactic["named"] == 1]))
        if rare := set(claim["relations"]) - seen:
            raise Lacking(f"fewer than {claim['cases']} cases of {', '.join(sorted(rare))}")
        missing.append(sorted(set(claim["relations"]) - found))
    return in_every_seed(
        [not names for names in missing], f"without a head: {' | '.join(', '.join(n) or 'none' for n in missing)}"
    )


def shuffled_finds_nothing(tables: Tables, claim: Claim) -> Outcome:
    """Test that at most `share` of the dense encoder's heads get a role when the labels are shuffled."""

    def found(roles: Roles) -> Estimate:
        if roles.shuffled.empty:
            raise Lacking("no roles with shuffled labels")
        named = roles.shuffled.loc[roles.shuffled["named"] == 1, PLACE].drop_duplicates()
        return within(len(named) / len(roles.kept), 0.0)

    return at_most(_each(tables, found), claim["share"], "share of heads named by shuffled labels")


def named_share_rises(tables: Tables, claim: Claim) -> Outcome:
    """Test that among the heads of a pruned encoder a larger share has a role than in the dense one."""

    def rise(dense: Roles, pruned: Roles) -> Estimate:
        return within(pruned.named_share - dense.named_share, claim["tolerance"])

    return more_than(_pruned(tables, claim, rise), 0.0, "rise of the share of named heads")


def named_survive(tables: Tables, claim: Claim) -> Outcome:
    """Test that pruning keeps more of the heads that have a role in the dense model than chance would.

    Chance draws the kept heads without replacement; the interval is 1.96 standard deviations of that
    hypergeometric distribution.
    """

    def excess(dense: Roles, pruned: Roles) -> Estimate:
        named, heads, kept = len(dense.heads()), len(dense.kept), len(pruned.kept)
        if not 0 < named < heads:
            raise Lacking(f"{named} of {heads} heads have a role, so that no choice can matter")
        survivors = len(dense.heads() & set(pruned.kept.itertuples(index=False, name=None)))
        variance = kept * named / heads * (1 - named / heads) * (heads - kept) / (heads - 1)
        value, half = survivors / kept - named / heads, NORMAL * math.sqrt(variance) / kept
        return Estimate(value, value - half, value + half)

    return more_than(_pruned(tables, claim, excess), 0.0, "share of kept heads that had a role, above chance")


def kinds_survive(tables: Tables, claim: Claim) -> Outcome:
    """Test that every kind of role that the dense encoder has is still there in a pruned one."""
    kept: list[bool] = []

    def survive(dense: Roles, pruned: Roles) -> Estimate:
        if not dense.kinds:
            raise Lacking("no head of the dense encoder has a role")
        kept.append(dense.kinds <= pruned.kinds)
        return within(float(kept[-1]), 0.0)

    _pruned(tables, claim, survive)
    return in_every_seed(kept)


def roles_merge(tables: Tables, claim: Claim) -> Outcome:
    """Test that heads with both a positional and a syntactic role are a larger share of a pruned encoder's heads."""

    def rise(dense: Roles, pruned: Roles) -> Estimate:
        both = [
            len(roles.heads("positional") & roles.heads("syntactic")) / len(roles.kept) for roles in (pruned, dense)
        ]
        return within(both[0] - both[1], claim["tolerance"])

    return more_than(_pruned(tables, claim, rise), 0.0, "rise of the share of heads with both roles")


def _each(tables: Tables, number: Callable[[Roles], Estimate]) -> Estimate:
    """Return a number of each seed's dense model, combined."""
    return over_seeds([number(roles) for roles in dense_roles(tables)])


def _pruned(tables: Tables, claim: Claim, number: Callable[[Roles, Roles], Estimate]) -> Estimate:
    """Return a number of each seed's pruned encoder beside the dense one, combined.

    The pruned model is the L0 run of scope encoder whose kept share is nearest to `kept`, between the `kept_limits`.
    """
    dense = {roles.seed: roles for roles in dense_roles(tables)}
    found, reasons = [], [Lacking("no dense model and pruned encoder of one seed")]
    for sweep in sweeps(tables, "encoder"):
        try:
            run = sweep.nearest(claim["kept"], *claim["kept_limits"])
            pruned = roles_of(tables, str(run["run"]), str(run["corpus"]), sweep.seed)
            found.append(number(dense[sweep.seed], pruned))
        except Lacking as reason:
            reasons.append(reason)
    if not found:
        raise reasons[-1]
    return over_seeds(found)


def _relation(relations: pd.DataFrame, name: str) -> pd.DataFrame:
    rows = relations[relations["relation"] == name]
    if rows.empty:
        raise Lacking(f"no {name} in relations.csv")
    return rows


def _mode(relations: pd.DataFrame, name: str) -> Estimate:
    rows = _relation(relations, name)
    return _untrained(rows["count"].max(), rows["count"].sum())


def _untrained(hits: float, cases: float) -> Estimate:
    found = share(hits, cases)
    return Estimate(found.value, found.low, found.high, 0)

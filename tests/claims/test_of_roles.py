"""Each test of a claim on a table where the claim holds, on one where it fails, and on one that cannot tell."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hand_tables import HEADS, LAYERS, claim, kept, role, run, study

from headcount.claims import of_roles
from headcount.claims.tables import Lacking, Tables
from headcount.claims.verdict import Verdict

YES, NO, OPEN = Verdict.REPRODUCED, Verdict.NOT_REPRODUCED, Verdict.NOT_TESTABLE

BOTH = ("dobj:to_dependent", "dobj:to_head")
PRUNED = "l0-encoder-0.1-s1"


def verdict(name: str, tables: Tables, **settings: Any) -> Verdict:
    return getattr(of_roles, name)(tables, claim(name, **settings)).verdict


def lacks(name: str, tables: Tables, match: str, **settings: Any) -> None:
    with pytest.raises(Lacking, match=match):
        getattr(of_roles, name)(tables, claim(name, **settings))


def dense(*roles: dict[str, Any], **tables: Iterable[dict[str, Any]]) -> Tables:
    return study([run("baseline")], roles=roles, **tables)


@pytest.mark.parametrize(
    ("accuracy", "cases", "side", "expected"),
    [
        (70, 1000, "at least", YES),
        (45, 1000, "at least", NO),
        (52, 100, "at least", OPEN),
        (45, 1000, "at most", YES),
        (70, 1000, "at most", NO),
        (48, 100, "at most", OPEN),
    ],
)
def test_syntactic_gain(accuracy: int, cases: int, side: str, expected: Verdict) -> None:
    rows = [role(name, 1, 0, hits=accuracy * cases // 100, cases=cases) for name in BOTH]
    weaker = [role(name, 1, 1, hits=0, cases=cases) for name in BOTH]
    settings = {"relations": ["dobj"], "over": "weakest", "side": side, "points": 10}
    assert verdict("syntactic_gain", dense(*rows, *weaker), **settings) == expected
    lacks("syntactic_gain", dense(rows[0]), "not all were measured in both directions", **settings)


def test_the_weakest_cell_and_the_mean_differ() -> None:
    tables = dense(*(role(name, 1, 0, hits=hits) for name, hits in zip(BOTH, (90, 40), strict=True)))
    weakest, mean = (
        of_roles.syntactic_gain(tables, claim("t", relations=["dobj"], over=over, side="at least", points=0)).ours
        for over in ("weakest", "mean")
    )
    assert (weakest, mean) == (pytest.approx(0.0), pytest.approx(0.25))


@pytest.mark.parametrize(("french", "expected"), [(75, YES), (50, NO), (69, OPEN)])
def test_same_for_every_target(french: int, expected: Verdict) -> None:
    settings = {"relations": ["dobj"], "points": 10, "tolerance": 0.02}
    german = [role(name, 1, 0, hits=80) for name in BOTH]
    fr = {"corpus": "en-fr", "run": "en-fr-baseline-s1"}
    other = [role(name, 1, 0, hits=french, **fr) for name in BOTH]
    tables = study([run("baseline"), run("baseline", **fr)], roles=[*german, *other])
    assert verdict("same_for_every_target", tables, **settings) == expected
    lacks("same_for_every_target", dense(*german), "fewer than two corpora", **settings)


def positions(**counts: dict[int, int]) -> Tables:
    rows = [
        {"corpus": "en-de", "relation": relation, "offset": offset, "count": count}
        for relation, offsets in counts.items()
        for offset, count in offsets.items()
    ]
    return dense(relations=rows)


@pytest.mark.parametrize(
    ("advmod", "expected"), [({1: 500, 2: 500}, YES), ({1: 900, 2: 100}, NO), ({1: 680, 2: 320}, OPEN)]
)
def test_positions_order(advmod: dict[int, int], expected: Verdict) -> None:
    tables = positions(amod={-1: 700, -2: 300}, advmod=advmod)
    assert verdict("positions_order", tables, pairs=[["amod", "advmod"]]) == expected
    lacks("positions_order", tables, "no dobj in relations", pairs=[["amod", "dobj"]])


@pytest.mark.parametrize(
    ("offsets", "expected"), [({-1: 80, 2: 20}, YES), ({-1: 20, 2: 80}, NO), ({-1: 51, 2: 49}, OPEN)]
)
def test_side_of_head(offsets: dict[int, int], expected: Verdict) -> None:
    assert verdict("side_of_head", positions(nsubj=offsets), relation="nsubj", side="left") == expected
    mirrored = {-offset: count for offset, count in offsets.items()}
    assert verdict("side_of_head", positions(nsubj=mirrored), relation="nsubj", side="right") == expected


@pytest.mark.parametrize(("mode", "expected"), [(40, YES), (45, NO)])
def test_baseline_is_mode(mode: int, expected: Verdict) -> None:
    relations = positions(dobj={1: mode, 2: 33, 3: 100 - mode - 33}).frames["relations"]
    tables = Tables({**dense(*(role(name, 0, 0) for name in BOTH)).frames, "relations": relations})
    assert verdict("baseline_is_mode", tables, points=1) == expected
    lacks("baseline_is_mode", Tables({**tables.frames, **positional().frames}), "no syntactic roles", points=1)


def positional() -> Tables:
    return Tables({"roles": dense(role("-1", 0, 0)).frames["roles"]})


def test_kinds_present() -> None:
    settings = {"kinds": ["positional", "rare"]}
    found = [role("-1", 0, 0), role("rare-2", 0, 1)]
    assert verdict("kinds_present", dense(*found), **settings) == YES
    assert verdict("kinds_present", dense(found[0], role("rare-2", 0, 1, named=0)), **settings) == NO
    assert verdict("kinds_present", two_seeds(found, found[:1]), **settings) == OPEN
    lacks("kinds_present", dense(role("-1", 0, 0, run="other")), "no dense model with roles", **settings)


def two_seeds(first: list[dict[str, Any]], second: list[dict[str, Any]]) -> Tables:
    roles = [*first, *({**row, "run": "baseline-s2"} for row in second)]
    return study([run("baseline"), run("baseline", seed=2)], roles=roles)


@pytest.mark.parametrize(("layers", "expected"), [((0, 1), YES), ((2, 3), NO), ((1, 2), OPEN)])
def test_depth_of_kind(layers: tuple[int, ...], expected: Verdict) -> None:
    settings = {"kind": "positional", "depth": 0.5, "tolerance": 0.05}
    assert verdict("depth_of_kind", dense(*(role("-1", layer, 0) for layer in layers)), **settings) == expected
    lacks("depth_of_kind", dense(role("rare-2", 0, 0)), "no positional heads", **settings)


def test_exactly_one() -> None:
    settings = {"kind": "rare", "layer": 1}
    one, elsewhere, two = [role("rare-2", 0, 1)], [role("rare-2", 2, 1)], [role("rare-2", 0, h) for h in (0, 1)]
    assert verdict("exactly_one", dense(*one), **settings) == YES
    assert verdict("exactly_one", dense(*elsewhere), **settings) == NO
    assert verdict("exactly_one", dense(*two), **settings) == NO
    assert verdict("exactly_one", two_seeds(one, two), **settings) == OPEN


@pytest.mark.parametrize(("hits", "expected"), [(80, YES), (20, NO), (52, OPEN)])
def test_best_share(hits: int, expected: Verdict) -> None:
    tables = dense(role("rare-2", 0, 0, hits=hits), role("rare-2", 1, 0, hits=3))
    assert verdict("best_share", tables, role="rare-2", share=0.5) == expected
    lacks("best_share", tables, "rare-1 was not measured", role="rare-1", share=0.5)


@pytest.mark.parametrize(("column", "expected"), [([2, 2, 2, 2], YES), ([0, 1, 2, 3], NO), ([2, 2, 1, 0], OPEN)])
def test_columns_in_maps(column: list[int], expected: Verdict) -> None:
    """The largest real word of each query is given; the end of the sentence, as query and as key, does not count."""
    tokens = ["▁a", "▁b", "▁c", "▁d", "</s>"]
    rows = [
        {
            **{"run": "baseline-s1", "corpus": "en-de", "attention": "encoder", "layer": 0, "head": 1},
            **{
                "sentence": 7,
                "query": query,
                "key": key,
                "weight": 0.5 if key == 4 else 0.4 if key == largest else 0.1,
            },
            **{"query_token": tokens[query], "key_token": tokens[key]},
        }
        for query, largest in enumerate([*column, 3])
        for key in range(5)
    ]
    settings = {"role": "rare-2", "share": 0.5, "tolerance": 0.1, "not_words": ["</s>"]}
    assert verdict("columns_in_maps", dense(role("rare-2", 0, 1), maps=rows), **settings) == expected
    lacks("columns_in_maps", dense(role("rare-2", 1, 1), maps=rows), "no maps of a head", **settings)


@pytest.mark.parametrize(("named", "expected"), [(1, YES), (7, NO), (4, OPEN)])
def test_unnamed_majority(named: int, expected: Verdict) -> None:
    places = [(layer, head) for layer in range(LAYERS) for head in range(HEADS)]
    rows = [role("-1", *place, named=int(number < named)) for number, place in enumerate(places)]
    assert verdict("unnamed_majority", dense(*rows), share=0.5, tolerance=0.05) == expected


def test_relations_found() -> None:
    found = [role("dobj:to_head", 0, 0), role("dobj:to_dependent", 0, 0, named=0), role("nsubj:to_head", 1, 0)]
    missed = [*found[:2], role("nsubj:to_head", 1, 0, named=0)]
    wanted: dict[str, Any] = {"cases": 50, "relations": ["nsubj", "dobj"]}
    assert verdict("relations_found", dense(*found), **wanted) == YES
    assert verdict("relations_found", dense(*missed), **wanted) == NO
    assert verdict("relations_found", two_seeds(found, missed), **wanted) == OPEN
    assert verdict("relations_found", dense(*found, role("amod:to_head", 0, 0, named=0)), **wanted) == YES
    lacks("relations_found", dense(*found[:2]), "fewer than 50 cases of nsubj", **wanted)


def test_shuffled_finds_nothing() -> None:
    none = [role("dobj:to_head", 0, 0), role("dobj:to_head", 0, 0, labels="shuffled", named=0)]
    one = [*none, role("-1", 1, 0, labels="shuffled")]
    assert verdict("shuffled_finds_nothing", dense(*none), share=0.0) == YES
    assert verdict("shuffled_finds_nothing", dense(*one), share=0.0) == NO
    assert verdict("shuffled_finds_nothing", two_seeds(none, one), share=0.0) == OPEN
    lacks("shuffled_finds_nothing", dense(none[0]), "no roles with shuffled labels", share=0.0)


KEPT = {"kept": 0.5, "kept_limits": [0.2, 0.6]}
HALF_NAMED = [(layer, 0) for layer in range(LAYERS)]
"""Of the dense encoder's heads each first one of a layer."""


def pruned(survivors: Iterable[tuple[int, int]], *roles: dict[str, Any], named: Any = HALF_NAMED) -> Tables:
    """Return a dense encoder with named heads and a pruned one with some of its heads and roles of its own."""
    survivors = list(survivors)
    rows = [run("baseline"), run("l0-encoder-0.1", heads={"encoder": len(survivors)})]
    gone = [("encoder", layer, h) for layer in range(LAYERS) for h in range(HEADS) if (layer, h) not in survivors]
    own = [{**row, "run": PRUNED} for row in (roles or [role("-1", 0, 0, named=0)])]
    heads = kept(rows[0], ()) + kept(rows[1], gone)
    return study(rows, heads=heads, roles=[*(role("-1", *place) for place in named), *own])


def test_named_share_rises() -> None:
    settings = {**KEPT, "tolerance": 0.05}
    survivors = [(0, 0), (1, 0), (2, 1)]
    roles = [role("-1", *place) for place in survivors]
    assert verdict("named_share_rises", pruned(survivors, *roles), **settings) == YES
    assert verdict("named_share_rises", pruned(survivors, *roles[:1]), **settings) == NO
    assert verdict("named_share_rises", pruned([*survivors, (3, 1)], *roles[:2]), **settings) == OPEN


def test_named_survive() -> None:
    assert verdict("named_survive", pruned(HALF_NAMED), **KEPT) == YES
    assert verdict("named_survive", pruned([(layer, 1) for layer in range(LAYERS)]), **KEPT) == NO
    assert verdict("named_survive", pruned([*HALF_NAMED[:2], (0, 1), (1, 1)]), **KEPT) == OPEN
    lacks("named_survive", pruned(HALF_NAMED, named=[]), "no dense model with roles", **KEPT)
    everything = [(layer, head) for layer in range(LAYERS) for head in range(HEADS)]
    lacks("named_survive", pruned(HALF_NAMED, named=everything), "no choice can matter", **KEPT)


def test_named_survive_is_measured_against_the_hypergeometric_distribution() -> None:
    """Draws of 4 of 8 heads, 4 of them named, have mean 2 and variance 4/7 named heads."""
    outcome = of_roles.named_survive(pruned(HALF_NAMED), claim("t", **KEPT))
    assert outcome.ours == pytest.approx(0.5)
    assert outcome.low == pytest.approx(0.5 - 1.96 * (4 / 7) ** 0.5 / 4, abs=1e-4)


def test_kinds_survive() -> None:
    assert verdict("kinds_survive", pruned(HALF_NAMED, role("-1", 0, 0)), **KEPT) == YES
    assert verdict("kinds_survive", pruned(HALF_NAMED, role("rare-2", 0, 0)), **KEPT) == NO
    lacks("kinds_survive", pruned([(0, 0)]), "between 20% and 60%", **KEPT)


def test_roles_merge() -> None:
    settings = {**KEPT, "tolerance": 0.02}
    both = [role("-1", 0, 0), role("dobj:to_head", 0, 0)]
    assert verdict("roles_merge", pruned(HALF_NAMED, *both), **settings) == YES
    assert verdict("roles_merge", pruned(HALF_NAMED, role("-1", 0, 0), role("dobj:to_head", 1, 0)), **settings) == OPEN
    dense_has_both = pruned(HALF_NAMED, both[0])
    merged = [role("dobj:to_head", layer, 0).items() for layer, _ in HALF_NAMED]
    roles = [*dense_has_both["roles"].to_dict("records"), *map(dict, merged)]
    tables = study(dense_has_both["runs"].to_dict("records"), roles=roles)
    assert verdict("roles_merge", tables, **settings) == NO


def test_an_encoder_that_was_not_analysed_is_lacking() -> None:
    tables = pruned(HALF_NAMED)
    frames = {**tables.frames, "roles": tables["roles"][tables["roles"]["run"] == "baseline-s1"]}
    lacks("named_survive", Tables(frames), "l0-encoder-0.1-s1 has no roles", **KEPT)

"""Tests of claims on pruning: what lost heads cost, which go first, and whether the pruning beats its controls.

Shares are kept heads by heads of the dense model, so that models of other sizes can be compared with a paper's. Losses
are against the L0 run without a penalty, which has the same updates (voita2019 section 6).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import pandas as pd

from headcount.claims.estimate import Estimate, average, difference, over_seeds, ratio, within
from headcount.claims.sweeps import Sweep, baselines, gain, of_softmax, sweeps
from headcount.claims.tables import Lacking, Tables
from headcount.claims.verdict import Claim, Outcome, at_least, at_most, more_than

PARTLY = (0.1, 0.9)
"""Kept shares between which a model counts as pruned in part: outside of them there is no order to see."""


def keeps_quality(tables: Tables, claim: Claim) -> Outcome:
    """Test that few enough heads cost at most `points` BLEU.

    `shares` gives the largest kept share by attention type, or of all gated heads under `all`; half of it is the least.
    Of the models between them the one with the most heads is tested, so that no lucky one is picked.
    """
    notes = []

    def cost(sweep: Sweep) -> Estimate:
        kept = sweep.pruned
        for kind, share in claim["shares"].items():
            kept = kept[kept["share" if kind == "all" else f"share_{kind}"].between(share / 2, share)]
        if kept.empty:
            limits = ", ".join(f"{kind} {share / 2:.0%} to {share:.0%}" for kind, share in claim["shares"].items())
            raise Lacking(f"no pruned model of scope {claim['scope']} keeps so many heads: {limits}")
        notes.append(kept.iloc[0]["run"])
        return sweep.loss(kept.iloc[0])

    lost = _each(tables, claim["scope"], cost)
    return at_most(lost, claim["points"], f"BLEU lost by {', '.join(notes)}")


def flat_then_knee(tables: Tables, claim: Claim) -> Outcome:
    """Test that the loss at a kept share of about `share` is at most `fraction` of that with nearly no heads.

    Were each head worth the same, the loss would grow in proportion to the heads removed.
    """

    def flatness(sweep: Sweep) -> Estimate:
        half = 0.5 * claim["share"]
        knee = sweep.nearest(claim["share"], claim["share"] - half, claim["share"] + half)
        return ratio(sweep.loss(knee), sweep.loss(_fewest(sweep, claim["fewest"])))

    return at_most(_each(tables, claim["scope"], flatness), claim["fraction"], "loss at the knee by loss at the end")


def knee_is_sharp(tables: Tables, claim: Claim) -> Outcome:
    """Test that the loss climbs from a fifth to a half of its end within at most `width` of the heads.

    Models in between bound that width from below; where there is none it may be any smaller.
    """

    def width(sweep: Sweep) -> Estimate:
        end = sweep.loss(_fewest(sweep, claim["fewest"]))
        if end.low <= 0:
            raise Lacking("even with the fewest heads there is no clear loss")
        points = [(1.0, 0.0)]
        points += [(float(run["share"]), sweep.loss(run).value / end.value) for _, run in sweep.pruned.iterrows()]
        steep = max(share for share, lost in points if lost >= 0.5)
        flat = min((share for share, lost in points if lost <= 0.2 and share > steep), default=1.0)
        between = [share for share, _ in points if steep < share < flat]
        return Estimate(flat - steep, max(between) - min(between) if between else 0.0, flat - steep)

    return at_most(_each(tables, claim["scope"], width), claim["width"], "share of the heads from a fifth to half")


def end_costs(tables: Tables, claim: Claim) -> Outcome:
    """Test that nearly no heads, a kept share of `fewest` or less, cost at least `points` BLEU."""
    lost = _each(tables, claim["scope"], lambda sweep: sweep.loss(_fewest(sweep, claim["fewest"])))
    return at_least(lost, claim["points"], "BLEU lost with the fewest heads")


def beats_control(tables: Tables, claim: Claim) -> Outcome:
    """Test that L0 models beat their control by `points` BLEU or more, on average over the pairs of a seed.

    `control`: `scratch`, the same heads trained from scratch, or `random`, as many random heads of the dense model.
    """
    pairs = _pairs(tables, claim["control"], claim["scope"])
    count = sum(map(len, pairs))
    judge = more_than if claim["points"] == 0 else at_least
    return judge(over_seeds([average(of_seed) for of_seed in pairs]), claim["points"], f"BLEU, mean of {count} pairs")


def gap_grows(tables: Tables, claim: Claim) -> Outcome:
    """Test that the lead over the control is larger for the sparsest pair of a seed than for the densest."""
    pairs = [of_seed for of_seed in _pairs(tables, claim["control"], claim["scope"]) if len(of_seed) > 1]
    if not pairs:
        raise Lacking(f"fewer than two pairs of L0 and {claim['control']}")
    grown = [difference(of_seed[-1], of_seed[0]) for of_seed in pairs]
    return more_than(over_seeds(grown), 0.0, "lead of the sparsest less lead of the densest, BLEU")


def removal_costs_more(tables: Tables, claim: Claim) -> Outcome:
    """Test that removing the heads of `costly` leaves a worse model than removing as many of `cheap`."""
    costly, cheap = (of_softmax(tables["runs"], method, claim["scope"]) for method in (claim["costly"], claim["cheap"]))
    gains = [
        gain(other, row) for _, row in costly.iterrows() for _, other in cheap[cheap["seed"] == row["seed"]].iterrows()
    ]
    if not gains:
        raise Lacking(f"no runs {claim['costly']} and {claim['cheap']} of one seed")
    return more_than(over_seeds(gains), 0.0, f"BLEU without {claim['cheap']} less BLEU without {claim['costly']} heads")


def survives_longer(tables: Tables, claim: Claim) -> Outcome:
    """Test that partly pruned models keep, on average, a larger share of the attention `more` than of `less`."""

    def lead(sweep: Sweep) -> Estimate:
        runs = _partly(sweep)
        return within(
            float((runs[f"share_{claim['more']}"] - runs[f"share_{claim['less']}"]).mean()), claim["tolerance"]
        )

    return more_than(_each(tables, "all", lead), 0.0, "difference of the kept shares")


def longer_sentences_need_self_attention(tables: Tables, claim: Claim) -> Outcome:
    """Test that on longer sentences decoder self-attention survives more like cross-attention.

    Its place between the two, 0 at the encoder and 1 at cross-attention, is compared between the corpora with the
    longest and the shortest sentences, whose mean lengths must differ by the factor `lengths`.
    """
    places: dict[str, list[float]] = {}
    for sweep in sweeps(tables, "all"):
        runs = sweep.between(*PARTLY)
        room = runs["share_decoder_cross"] - runs["share_encoder"]
        place = ((runs["share_decoder_self"] - runs["share_encoder"]) / room)[room > 0.1]
        if not place.empty:
            places.setdefault(str(sweep.dense["corpus"]), []).append(float(place.mean()))
    lengths = {corpus: _pieces_per_sentence(tables, corpus) for corpus in places}
    long, short = (pick(lengths, key=lengths.__getitem__, default="") for pick in (max, min))
    if not places or lengths[long] < claim["lengths"] * lengths[short]:
        raise Lacking(f"no two pruned corpora whose sentences differ in length by the factor {claim['lengths']}")
    first, second = (over_seeds([within(v, claim["tolerance"]) for v in places[name]]) for name in (long, short))
    lead = Estimate(
        first.value - second.value,
        first.low - second.high,
        first.high - second.low,
        min(first.seeds, second.seeds),
    )
    return more_than(lead, 0.0, f"{long} ({lengths[long]:.0f} pieces) less {short} ({lengths[short]:.0f} pieces)")


def kept_by_depth(tables: Tables, claim: Claim) -> Outcome:
    """Test that partly pruned models keep more of an attention type's heads in one `half` of the layers.

    With an odd number of layers the middle one belongs to neither.
    """
    heads = tables["heads"]

    def lead(sweep: Sweep) -> Estimate:
        of_runs = heads[heads["run"].isin(_partly(sweep)["run"]) & (heads["attention"] == claim["attention"])]
        layers = of_runs["layer"].max() + 1
        half = layers // 2
        if half == 0:
            raise Lacking("one layer has no halves")
        lower = of_runs[of_runs["layer"] < half]["kept"].mean()
        upper = of_runs[of_runs["layer"] >= layers - half]["kept"].mean()
        return within(lower - upper if claim["half"] == "lower" else upper - lower, claim["tolerance"])

    return more_than(_each(tables, "all", lead), 0.0, "difference of the kept shares of the two halves")


def gates_settle(tables: Tables, claim: Claim) -> Outcome:
    """Test that at least `share` of the gates end open, or closed, with a probability of `certain` or more."""
    gates = tables["gates"]

    def settled(sweep: Sweep) -> Estimate:
        of_runs = gates[gates["run"].isin(sweep.pruned["run"])]
        last = of_runs[of_runs["update"] == of_runs.groupby("run")["update"].transform("max")]
        if last.empty:
            raise Lacking("no gates of these runs in gates.csv")
        sure = (last["open_probability"] - 0.5).abs() >= claim["certain"] - 0.5
        return within(float(sure.mean()), claim["tolerance"])

    return at_least(_each(tables, claim["scope"], settled), claim["share"], "share of settled gates at the end")


def gate_masses(tables: Tables, claim: Claim) -> Outcome:
    """Test that the closed formulas of the Hard Concrete distribution give the printed probabilities.

    `masses` lists (log α, P(0), P(1)); `temperature`, `low` and `high` are τ, γ and ζ.
    """

    def mass(log_alpha: float, boundary: float) -> float:
        """P(stretched gate < boundary)."""
        concrete = (boundary - claim["low"]) / (claim["high"] - claim["low"])
        return 1 / (1 + math.exp(log_alpha - claim["temperature"] * math.log(concrete / (1 - concrete))))

    apart = [
        abs(ours - printed)
        for log_alpha, closed, one in claim["masses"]
        for ours, printed in ((mass(log_alpha, 0.0), closed), (1 - mass(log_alpha, 1.0), one))
    ]
    return at_most(Estimate(max(apart), max(apart), max(apart), 0), claim["points"], "largest difference; a formula")


def _each(tables: Tables, scope: str, number: Callable[[Sweep], Estimate]) -> Estimate:
    """Return a number of each seed's sweep, combined; a seed that lacks the runs is left out, unless all do."""
    found, reasons = [], []
    for sweep in sweeps(tables, scope):
        try:
            found.append(number(sweep))
        except Lacking as reason:
            reasons.append(reason)
    if not found:
        raise reasons[0]
    return over_seeds(found)


def _fewest(sweep: Sweep, share: float) -> pd.Series:
    """Return the pruned run with the fewest heads, whose kept share must be at most `share`."""
    last = sweep.pruned.iloc[-1]
    if last["share"] > share:
        raise Lacking(f"no pruned model keeps as few as {share:.0%} of the gated heads")
    return last


def _partly(sweep: Sweep) -> pd.DataFrame:
    runs = sweep.between(*PARTLY)
    if runs.empty:
        raise Lacking("no model is pruned in part")
    return runs


def _pairs(tables: Tables, control: str, scope: str) -> list[list[Estimate]]:
    """Return for each seed the leads of L0 runs over their controls, the densest pair first."""
    runs = tables["runs"]
    controls = of_softmax(runs, control, scope).sort_values("heads", ascending=False)
    pairs: dict[int, list[Estimate]] = {}
    for _, row in controls.iterrows():
        twin = runs[runs["run"] == str(row["run"]).replace(f"{control}-{scope}-", f"l0-{scope}-")]
        if not twin.empty:
            pairs.setdefault(int(row["seed"]), []).append(gain(twin.iloc[0], row))
    if not pairs:
        raise Lacking(f"no pairs of L0 and {control} runs of scope {scope}")
    return list(pairs.values())


def _pieces_per_sentence(tables: Tables, corpus: str) -> float:
    """Return the mean length of a corpus's dev sentences: a sentence has one query less for offset -1 than pieces."""
    dense = baselines(tables.only([corpus]))["run"].iloc[0]
    roles, density = tables["roles"], tables["density"]
    before = roles[(roles["run"] == dense) & (roles["role"] == "-1") & (roles["labels"] == "gold")]
    first = density[(density["run"] == dense) & (density["attention"] == "encoder")]
    sentences = first.groupby(["layer", "head"])["sentences"].sum()
    if before.empty or sentences.empty:
        raise Lacking(f"{corpus}: nothing tells the length of its sentences")
    return float(before["cases"].iloc[0]) / float(sentences.iloc[0]) + 1

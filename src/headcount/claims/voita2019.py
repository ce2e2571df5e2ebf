"""The tests behind the claims of `workflow/claims/voita2019.yaml`, by name."""

from __future__ import annotations

from headcount.claims import of_pruning, of_relevance, of_roles
from headcount.claims.verdict import Test

TESTS: dict[str, Test] = {
    test.__name__: test
    for test in (
        of_relevance.measures_agree,
        of_relevance.few_dominate,
        of_relevance.kind_is_confident,
        of_relevance.confidence_of_kind,
        of_relevance.kind_tops_its_layer,
        of_relevance.kind_is_an_exception,
        of_roles.syntactic_gain,
        of_roles.same_for_every_target,
        of_roles.positions_order,
        of_roles.side_of_head,
        of_roles.baseline_is_mode,
        of_roles.kinds_present,
        of_roles.depth_of_kind,
        of_roles.exactly_one,
        of_roles.best_share,
        of_roles.columns_in_maps,
        of_roles.unnamed_majority,
        of_roles.relations_found,
        of_roles.shuffled_finds_nothing,
        of_roles.named_share_rises,
        of_roles.named_survive,
        of_roles.kinds_survive,
        of_roles.roles_merge,
        of_pruning.keeps_quality,
        of_pruning.flat_then_knee,
        of_pruning.knee_is_sharp,
        of_pruning.end_costs,
        of_pruning.beats_control,
        of_pruning.gap_grows,
        of_pruning.removal_costs_more,
        of_pruning.survives_longer,
        of_pruning.longer_sentences_need_self_attention,
        of_pruning.kept_by_depth,
        of_pruning.gates_settle,
        of_pruning.gate_masses,
    )
}

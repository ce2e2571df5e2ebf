"""The tests behind the claims of `workflow/claims/behnke2020.yaml`, by name."""

from __future__ import annotations

from headcount.claims import of_head_counts, of_ticket_controls, of_ticket_cost, of_tickets
from headcount.claims.verdict import Test

TESTS: dict[str, Test] = {
    test.__name__: test
    for test in (
        of_tickets.loses_at_most,
        of_tickets.loses_at_least,
        of_tickets.loses_more_at_the_end,
        of_ticket_controls.beats,
        of_ticket_controls.is_at_most_ahead,
        of_ticket_controls.lead_grows,
        of_ticket_controls.beats_smaller,
        of_head_counts.depth_decides,
        of_head_counts.ends_outlast_middle,
        of_head_counts.first_layer_holds,
        of_head_counts.scores_higher,
        of_ticket_cost.decodes_faster,
        of_ticket_cost.stays_below_ceiling,
        of_ticket_cost.trains_faster,
        of_ticket_cost.costs_more_training,
    )
}

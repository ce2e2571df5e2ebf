"""The tests behind the claims of `workflow/claims/correia2019.yaml`, by name."""

from __future__ import annotations

from headcount.claims import of_alpha, of_best_heads, of_diversity, of_quality, of_sparse_pruning, of_sparsity
from headcount.claims.verdict import Test

TESTS: dict[str, Test] = {
    test.__name__: test
    for test in (
        of_quality.keeps_bleu,
        of_quality.never_worst,
        of_quality.keeps_speed,
        of_alpha.alpha_dips,
        of_alpha.alpha_forgets_its_start,
        of_alpha.alpha_turns,
        of_alpha.alpha_is_larger,
        of_alpha.alpha_has_upper_mode,
        of_sparsity.softmax_is_dense,
        of_sparsity.more_dense_cells,
        of_sparsity.more_sparse_cells,
        of_sparsity.wider_density,
        of_sparsity.denser_by_depth,
        of_sparsity.density_varies,
        of_diversity.more_diverse,
        of_diversity.middle_layers_peak,
        of_best_heads.best_in_order,
        of_best_heads.best_is_clear,
        of_best_heads.more_heads_above,
        of_best_heads.best_is_in_layer,
        of_best_heads.alpha_of_best,
        of_sparse_pruning.as_prunable_by_l0,
        of_sparse_pruning.as_prunable_by_lottery,
        of_sparse_pruning.predicts_survival,
    )
}

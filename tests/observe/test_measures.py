import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from headcount.observe.measures import BINS, confidence, divergence, entropy, histogram, support


def everywhere(*shape):
    return torch.ones(shape, dtype=torch.bool)


def uniform(batch, heads, queries, keys):
    return torch.full((batch, heads, queries, keys), 1 / keys, dtype=torch.float64)


def one_hot(targets, keys):
    """targets [batch, head, query] -> weights [batch, head, query, key]."""
    return torch.nn.functional.one_hot(torch.as_tensor(targets), keys).double()


@st.composite
def padded_maps(draw):
    """Random attention of some sentences, with real lengths, padded with rubbish rows to a common shape."""
    generator = torch.Generator().manual_seed(draw(st.integers(0, 10_000)))
    heads, lengths = draw(st.integers(2, 4)), draw(st.lists(st.integers(1, 6), min_size=1, max_size=5))
    longest = max(lengths) + draw(st.integers(0, 3))
    keys = torch.arange(longest) < torch.tensor(lengths)[:, None]  # [batch, key]
    scores = torch.randn(len(lengths), heads, longest, longest, dtype=torch.float64, generator=generator)
    return scores.masked_fill(~keys[:, None, None], -torch.inf).softmax(-1), keys, lengths


@pytest.mark.parametrize("keys", [1, 2, 7])
def test_uniform_attention_has_confidence_one_over_n_and_full_density(keys):
    weights = uniform(2, 3, 4, keys)
    total, rows = confidence(weights, everywhere(2, 4), everywhere(2, keys))
    torch.testing.assert_close(total / rows, torch.full((3,), 1 / keys, dtype=torch.float64))
    torch.testing.assert_close(
        entropy(weights, everywhere(2, 4)) / rows, torch.full((3,), math.log(keys), dtype=torch.float64)
    )
    used, possible = support(weights, everywhere(2, 4, keys))
    assert torch.equal(used, possible[:, None].expand_as(used))


def test_one_hot_attention_has_confidence_one_no_entropy_and_density_one_over_n():
    weights = one_hot([[[0, 3, 1], [2, 2, 2]]], 5)
    total, rows = confidence(weights, everywhere(1, 3), everywhere(1, 5))
    assert (total / rows).tolist() == [1.0, 1.0]
    assert entropy(weights, everywhere(1, 3)).tolist() == [0.0, 0.0]
    used, possible = support(weights, everywhere(1, 3, 5))
    assert (used * 5).tolist() == possible[:, None].expand(1, 2).tolist()


def test_eos_in_or_out():
    # three words and EOS; head 0 looks at EOS with 0.7, at the first word with 0.2
    weights = torch.tensor([0.2, 0.1, 0.0, 0.7], dtype=torch.float64).expand(1, 1, 4, 4)
    words = torch.tensor([[True, True, True, False]])
    total, rows = confidence(weights, everywhere(1, 4), everywhere(1, 4))
    assert (float(total), int(rows)) == (pytest.approx(4 * 0.7), 4)
    total, rows = confidence(weights, words, words)
    assert (float(total), int(rows)) == (pytest.approx(3 * 0.2), 3)  # EOS is neither key nor query; no renormalising


def test_a_sentence_without_an_eligible_key_does_not_count():
    weights = uniform(2, 1, 1, 2)
    total, rows = confidence(weights, everywhere(2, 1), torch.tensor([[True, False], [False, False]]))
    assert (float(total), int(rows)) == (0.5, 1)


@given(padded_maps())
def test_sums_equal_a_naive_loop_over_the_real_rows(case):
    weights, keys, lengths = case
    heads = weights.shape[1]
    rows = [(b, q) for b, length in enumerate(lengths) for q in range(length)]
    total, count = confidence(weights, keys, keys)
    assert int(count) == len(rows)
    naive_confidence = [math.fsum(max(weights[b, h, q].tolist()) for b, q in rows) for h in range(heads)]
    assert total.tolist() == pytest.approx(naive_confidence)

    def entropy_of(row):
        return -math.fsum(p * math.log(p) for p in row if p > 0)

    naive_entropy = [math.fsum(entropy_of(weights[b, h, q].tolist()) for b, q in rows) for h in range(heads)]
    assert entropy(weights, keys).tolist() == pytest.approx(naive_entropy, abs=1e-12)
    divergences = [
        entropy_of(weights[b, :, q].mean(0).tolist())
        - math.fsum(entropy_of(weights[b, h, q].tolist()) for h in range(heads)) / heads
        for b, q in rows
    ]
    assert float(divergence(weights, keys)) == pytest.approx(math.fsum(divergences) / math.log(heads), abs=1e-12)
    used, possible = support(weights, keys[:, :, None] & keys[:, None])
    assert possible.tolist() == [length**2 for length in lengths]
    assert used.tolist() == [[length**2] * heads for length in lengths]


@given(padded_maps(), st.integers(1, 4))
def test_sums_do_not_depend_on_padding_or_batch_composition(case, size):
    weights, keys, lengths = case
    allowed = keys[:, :, None] & keys[:, None]
    whole = [*confidence(weights, keys, keys), entropy(weights, keys), divergence(weights, keys)]
    parts = []
    order = list(range(len(lengths)))[::-1]
    for start in range(0, len(order), size):
        ids = order[start : start + size]
        width = max(lengths[i] for i in ids)  # other neighbours, other padding
        part, real = weights[ids][..., :width, :width], keys[ids][:, :width]
        parts.append([*confidence(part, real, real), entropy(part, real), divergence(part, real)])
        for index, i in enumerate(ids):
            alone = support(part, real[:, :, None] & real[:, None])
            together = support(weights, allowed)
            assert torch.equal(alone[0][index], together[0][i])
            assert alone[1][index] == together[1][i]
    for value, pieces in zip(whole, zip(*parts, strict=True), strict=True):
        torch.testing.assert_close(sum(pieces), value)


def test_diversity_is_zero_for_equal_heads_and_one_for_disjoint_one_hot_heads():
    alike = uniform(1, 1, 3, 5).expand(1, 4, 3, 5)
    assert float(divergence(alike, everywhere(1, 3))) == pytest.approx(0.0, abs=1e-12)
    apart = one_hot([[[0, 1], [1, 2], [2, 3], [3, 0]]], 4)  # four heads, four different keys at each query
    assert float(divergence(apart, everywhere(1, 2)) / 2) == pytest.approx(1.0)


def test_diversity_does_not_exist_for_a_single_head():
    assert divergence(uniform(1, 1, 2, 2), everywhere(1, 2)).isnan()


def test_density_histogram_counts_sentences_and_has_exact_edges():
    used = torch.tensor([[0, 15], [1, 14], [7, 8]])  # [batch, head]
    counts = histogram(used, torch.tensor([15, 15, 15]))
    assert counts.shape == (2, BINS)
    assert counts[0].nonzero().flatten().tolist() == [0, 1, 7]
    assert counts[1].nonzero().flatten().tolist() == [8, 14]
    assert counts[1, 14] == 2  # density 1 belongs to the last bin

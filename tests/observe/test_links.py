"""Role detectors on hand-made attention with known answers; the control finds nothing; batches do not matter."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hand_made import labels, one_hot, seen, tokens

from headcount.observe.found import GOLD, SHUFFLED
from headcount.observe.links import LinkCounter, link_names, weight_names

OFFSETS = (-1, 1)


def numbers(sums):
    return {name: value.numpy() for name, value in sums.items()}


def counted(known, *maps, offsets=OFFSETS, seed=1):
    """Return {(role, labels): (hits by head, cases)} and {measure: (sum by head, rows)} of the maps together."""
    counter = LinkCounter(known, offsets, seed)
    total: dict[str, np.ndarray] = {}
    for one in maps:
        for name, value in numbers(counter.summarise(one)).items():
            total[name] = total[name] + value if name in total else value
    links = {
        (role, side): (total["hits"][index].tolist(), int(total["cases"][index]))
        for index, (_, role, side) in enumerate(link_names(offsets, known.relations))
    }
    weights = {
        name: (total["weight"][index].tolist(), int(total["weight_rows"][index]))
        for index, name in enumerate(weight_names(offsets))
    }
    return links, weights


def test_positional_heads_leave_out_the_edges_and_eos():
    # four pieces and EOS; head 0 looks back, head 1 forward; the rows of EOS and of the edges look anywhere
    weights = one_hot([[3, 0, 1, 2, 3], [1, 2, 3, 4, 0]], 5)
    links, means = counted(labels([[0, 1, 2, 3]]), seen(weights, tokens(4)))
    assert links["-1", GOLD] == ([3, 0], 3)  # the first piece has none before it, EOS is no query
    assert links["+1", GOLD] == ([0, 3], 3)  # the last piece has only EOS behind it, which is no target
    assert means["offset_-1"] == ([3.0, 0.0], 3)
    assert means["offset_+1"] == ([0.0, 3.0], 3)


def test_the_largest_weight_is_sought_among_the_words_and_may_be_small():
    # piece 1 gives 0.7 to EOS, and of the rest most to the piece before it
    row = [0.2, 0.1, 0.0, 0.7]
    weights = torch.tensor([row] * 4, dtype=torch.float64)[None, None]
    links, means = counted(labels([[0, 1, 2]]), seen(weights, tokens(3)))
    assert links["-1", GOLD] == ([1], 2)  # piece 1 -> 0; piece 2 looks at 0, too
    assert links["+1", GOLD] == ([0], 2)
    assert means["offset_-1"][0] == [pytest.approx(0.2 + 0.1)]  # the mean weight is not renormalised


def test_a_head_that_looks_at_eos_alone_hits_nothing():
    links, _ = counted(labels([[0, 1, 2]], pairs=[(0, 0, 0, 1)]), seen(one_hot([[3, 3, 3, 3]], 4), tokens(3)))
    assert {hits[0] for (_, side), (hits, _) in links.items() if side == GOLD} == {0}


def test_sentences_of_one_piece_have_no_positional_case():
    links, _ = counted(labels([[0]]), seen(one_hot([[0, 0]], 2), tokens(1)))
    assert [links[role, side][1] for role in ("-1", "+1") for side in (GOLD, SHUFFLED)] == [0, 0, 0, 0]


def test_the_decoder_looks_back_only_and_its_first_piece_is_a_target():
    weights = one_hot([[0, 0, 1, 2]], 4).tril()
    known = labels([[0, 1, 2, 3]], pairs=[(0, 0, 1, 0)], rare=((0,), (0, 1)))
    links, means = counted(known, seen(weights, tokens(4, eos=False), "decoder_self"))
    assert links["-1", GOLD] == ([3], 3)
    assert links["+1", GOLD] == ([0], 0)
    assert links["nsubj:to_head", GOLD][1] == links["rare-2", GOLD][1] == means["merging"][1] == 0


def test_cross_attention_has_no_links():
    assert (
        LinkCounter(labels([[0]]), OFFSETS, 1).summarise(seen(one_hot([[0, 0]], 2), tokens(1), "decoder_cross")) == {}
    )


def test_syntactic_heads_between_words_of_several_pieces():
    # words: 0 = pieces 0 and 1, 1 = piece 2 (the verb), 2 = pieces 3 and 4; EOS is piece 5
    known = labels(
        [[0, 0, 1, 2, 2]], pairs=[(0, 0, 1, 0), (0, 1, 1, 2)], relations=("nsubj", "dobj"), baselines=(0.4, 0.5)
    )
    # head 0: the verb's largest single weight is on piece 3, but both pieces of word 0 together have more
    verb = [0.3, 0.25, 0.05, 0.4, 0.0, 0.0]
    # the subject's pieces disagree; on average they look at the verb
    subject = [[0.5, 0.0, 0.5, 0.0, 0.0, 0.0], [0.0, 0.3, 0.7, 0.0, 0.0, 0.0]]
    # the object's pieces look at EOS most, and of the words at the verb
    objects = [[0.0, 0.0, 0.3, 0.1, 0.1, 0.5], [0.1, 0.0, 0.3, 0.1, 0.0, 0.5]]
    weights = torch.tensor([[[*subject, verb, *objects, verb]]], dtype=torch.float64)
    links, _ = counted(known, seen(weights, tokens(5)))
    assert links["nsubj:to_dependent", GOLD] == ([1], 1)
    assert links["nsubj:to_head", GOLD] == ([1], 1)
    assert links["dobj:to_dependent", GOLD] == ([0], 1)  # the verb looks at its subject
    assert links["dobj:to_head", GOLD] == ([1], 1)


def test_a_word_with_two_dependents_is_one_case_and_either_is_a_hit():
    known = labels([[0, 1, 2]], pairs=[(0, 0, 1, 0), (0, 0, 1, 2)], relations=("advmod",))
    links, _ = counted(known, seen(one_hot([[0, 2, 0, 0], [0, 1, 0, 0]], 4), tokens(3)))
    assert links["advmod:to_dependent", GOLD] == ([1, 0], 1)
    assert links["advmod:to_head", GOLD] == ([0, 0], 2)  # two dependents that ask for their head


def test_pieces_outside_the_tree_and_sentences_without_one_take_no_part():
    # sentence 0: piece 1 belongs to no word and draws most weight; sentence 1 has no tree
    known = labels([[0, -1, 1], [-1, -1, -1]], pairs=[(0, 0, 0, 1)])
    row = torch.tensor([0.1, 0.6, 0.3, 0.0], dtype=torch.float64)
    links, _ = counted(known, seen(row.expand(2, 1, 4, 4), tokens(3, 3)))
    assert links["nsubj:to_dependent", GOLD] == ([1], 1)
    assert links["nsubj:to_head", GOLD] == ([0], 1)


def test_rare_word_heads_by_all_queries_but_eos():
    # piece 1 is the least frequent, 3 the next; head 0 looks at 1, head 1 at 3, head 2 at EOS
    known = labels([[0, 1, 2, 3]], rare=((1,), (1, 3)))
    links, _ = counted(known, seen(one_hot([[1] * 5, [3] * 5, [4] * 5], 5), tokens(4)))
    assert links["rare-1", GOLD] == ([4, 0, 0], 4)
    assert links["rare-2", GOLD] == ([4, 4, 0], 4)


def test_a_sentence_without_a_rare_piece_does_not_count():
    links, _ = counted(
        labels([[0, 1], [0, 1]], rare=((3,), (3,))), seen(one_hot([[1] * 3], 3).expand(2, 1, 3, 3), tokens(2, 2))
    )
    assert links["rare-1", GOLD][1] == 2


def test_interrogation_is_the_weight_on_the_mark_of_the_asking_pieces():
    known = labels([[0, 1, 2]], asks=(0,), mark=(2,))
    weights = torch.tensor([[[[0.1, 0.1, 0.6, 0.2], [0, 0, 1, 0], [0, 0, 1, 0], [0, 0, 1, 0]]]], dtype=torch.float64)
    _, means = counted(known, seen(weights, tokens(3)))
    assert means["interrogation"] == ([0.6], 1)


def test_merging_takes_the_best_piece_of_a_word_and_a_lone_piece_itself():
    # word 0 = pieces 0, 1, 2; word 1 = piece 3
    weights = torch.tensor(
        [[[[0.6, 0.1, 0.1, 0.2, 0], [0.5, 0.2, 0.2, 0.1, 0], [0, 0, 1, 0, 0], [0.3, 0, 0, 0.7, 0], [1, 0, 0, 0, 0]]]],
        dtype=torch.float64,
    )
    _, means = counted(labels([[0, 0, 0, 1]]), seen(weights, tokens(4)))
    assert means["merging"] == ([pytest.approx(0.7 + 0.7)], 2)


def test_a_perfect_head_is_at_zero_with_shuffled_labels():
    # every word looks at the one it depends on, in a chain; shuffled partners are other words
    size = 6
    pairs = [(0, 0, n + 1, n) for n in range(size - 1)]
    weights = one_hot([[*range(1, size), 0, 0]], size + 1)
    links, _ = counted(labels([list(range(size))], pairs), seen(weights, tokens(size)))
    assert links["nsubj:to_head", GOLD] == links["+1", GOLD] == ([size - 1], size - 1)
    assert links["nsubj:to_head", SHUFFLED] == links["+1", SHUFFLED] == ([0], size - 1)


def test_shuffled_labels_find_no_head_among_random_ones():
    generator = torch.Generator().manual_seed(0)
    heads, size, sentences = 24, 8, 60
    words = [list(range(size))] * sentences
    pairs = [(s, 0, n, (n + 3) % size) for s in range(sentences) for n in range(size)]
    weights = torch.rand(sentences, heads, size + 1, size + 1, generator=generator, dtype=torch.float64)
    pieces = tokens(*[size] * sentences)
    pieces[:, :size] = torch.randint(10, 90, (sentences, size), generator=generator)
    rare = tuple([s * (size + 1) + n for s in range(sentences) for n in range(count)] for count in (1, 2))
    links, _ = counted(labels(words, pairs, rare=rare), seen(weights, pieces))
    for (role, side), (hits, cases) in links.items():
        expected = 2 / size if role == "rare-2" else 1 / size
        assert cases >= sentences
        assert np.abs(np.array(hits) / cases - expected).max() < 0.12, (role, side)


def test_counts_of_batches_add_up_whatever_the_padding():
    generator = torch.Generator().manual_seed(3)
    lengths = [5, 2, 7, 3]
    words = [[min(n, 3) for n in range(length)] for length in lengths]
    pairs = [(s, s % 2, 0, 1) for s in range(4)] + [(2, 0, 3, 2)]
    known = labels(words, sorted(pairs), relations=("nsubj", "dobj"), rare=((1, 8), (1, 3, 8)), asks=(0,), mark=(4,))
    pieces = tokens(*lengths)
    scores = torch.randn(4, 3, 8, 8, generator=generator, dtype=torch.float64)
    weights = scores.masked_fill((pieces == 0)[:, None, None], -torch.inf).softmax(-1)

    def part(ids):
        width = max(lengths[i] for i in ids) + 1
        one = seen(weights[ids][..., :width, :width], pieces[ids][:, :width])
        return type(one)(**{**vars(one), "sentences": np.array(ids)})

    whole = counted(known, part([0, 1, 2, 3]))
    for parts in ([[0], [1], [2], [3]], [[3, 0], [2, 1]]):
        links, means = counted(known, *map(part, parts))
        assert links == whole[0]
        for name, (sums, rows) in means.items():
            assert (sums, rows) == (pytest.approx(whole[1][name][0]), whole[1][name][1])


def test_another_seed_shuffles_otherwise_and_the_gold_counts_stay():
    known = labels([list(range(8))], [(0, 0, n, n + 1) for n in range(7)])
    one = seen(torch.rand(1, 4, 9, 9, generator=torch.Generator().manual_seed(0), dtype=torch.float64), tokens(8))
    first, again, other = (counted(known, one, seed=seed)[0] for seed in (1, 1, 2))
    assert first == again
    assert {key for key in first if first[key] != other[key]} <= {key for key in first if key[1] == SHUFFLED}
    assert first != other


def test_layers_become_rows_and_what_means_nothing_has_no_case():
    known = labels([[0, 1, 2]], pairs=[(0, 0, 1, 0)], baselines=(0.4,), rare=((0,), (0, 1)))
    counter = LinkCounter(known, OFFSETS, 1)
    encoder = numbers(counter.summarise(seen(one_hot([[1, 0, 1, 0], [1, 2, 0, 0]], 4), tokens(3))))
    links = counter.found([(2, encoder), (3, {})])
    names = list(zip(links.role.tolist(), links.labels.tolist(), strict=True))
    assert links.hits.shape == links.cases.shape == links.baseline.shape == (5, len(names))
    gold = {role: index for index, (role, side) in enumerate(names) if side == GOLD}
    assert links.hits[:, gold["-1"]].tolist() == [2, 0, 0, 0, 0]
    assert links.cases[:, gold["-1"]].tolist() == [2, 2, 0, 0, 0]
    assert links.baseline[0, gold["-1"]] == pytest.approx(1 / 3)  # a head that looks anywhere among three pieces
    assert links.baseline[0, gold["rare-2"]] == pytest.approx(2 / 3)
    assert links.baseline[:2, gold["nsubj:to_head"]].tolist() == [0.4, 0.4]
    assert np.isnan(links.baseline[2:]).all()
    assert np.isnan(links.weight[2:]).all()
    assert links.weight[0, list(links.measure).index("offset_-1")] == 1.0
    assert dict(zip(links.coverage, links.covered, strict=True)) == {"sentences": 1}


def test_a_model_without_heads_has_links_without_rows():
    links = LinkCounter(labels([[0]]), OFFSETS, 1).found([])
    assert links.hits.shape == (0, len(links.role))
    assert links.weight.shape == (0, len(links.measure))


def test_no_offsets_and_no_relations_leave_the_rare_words():
    known = labels([[0, 1]], relations=(), rare=((0,), (0,)))
    links, means = counted(known, seen(one_hot([[0, 0, 0]], 3), tokens(2)), offsets=())
    assert {role for role, _ in links} == {"rare-1", "rare-2"}
    assert set(means) == {"interrogation", "merging"}

"""Whole maps: which sentences are chosen, and that the kept weights are those of the sentence alone."""

from __future__ import annotations

import numpy as np
import torch
from hand_made import labels

from headcount.data.encoded import Encoded
from headcount.observe.maps import MapKeeper, choose
from headcount.observe.watch import AttentionMap
from headcount.vocabulary import BOS, EOS

NAMES = [f"p{piece}" for piece in range(30)]


def test_a_question_comes_first_then_rare_pieces_of_moderate_length():
    words = [list(range(size)) for size in (2, 7, 8, 9, 40, 10)]
    starts = np.cumsum([0, *(len(sentence) + 1 for sentence in words)])
    rare = ([starts[1], starts[4], starts[5]],) * 2
    known = labels(words, rare=rare, asks=[starts[0], starts[3], starts[5]])
    assert choose(known, 0) == []
    assert choose(known, 2) == [3, 1]
    assert choose(known, 6) == [3, 1, 5, 2, 0, 4]
    assert choose(known, 99) == choose(known, 6)


def test_kept_weights_are_cut_to_the_sentence_and_named():
    corpus = Encoded.from_lists([[5, EOS], [6, 7, 8, EOS], [9, 9, EOS]], [[11, 12, EOS], [13, EOS], [14, EOS]])
    keeper = MapKeeper([2, 0], corpus, NAMES)
    generator = torch.Generator().manual_seed(0)
    weights = {
        kind: torch.rand(3, 2, size, 4, generator=generator, dtype=torch.float64)
        for kind, size in (("encoder", 4), ("decoder_cross", 3), ("decoder_self", 3))
    }
    blank = torch.zeros(3, 4, dtype=torch.int64)
    for kind, values in weights.items():
        for ids in ([1, 2], [0]):  # in two batches
            keeper.keep(AttentionMap(kind, 1, values[ids], blank[ids], blank[ids], np.array(ids)))
    found = keeper.found({"encoder": [[], [0, 3]], "decoder_self": [[0]], "decoder_cross": [[], [1, 2]]})
    assert found.sentence.tolist() == [2, 0]
    assert found.source.tolist() == [["p9", "p9", f"p{EOS}"], ["p5", f"p{EOS}", ""]]
    assert found.target.tolist() == [[f"p{BOS}", "p14", ""], [f"p{BOS}", "p11", "p12"]]
    assert found.encoder.shape == (2, 2, 3, 3)
    np.testing.assert_array_equal(found.encoder[:, 0], weights["encoder"][2, :, :3, :3])
    np.testing.assert_array_equal(found.encoder[:, 1, :2, :2], weights["encoder"][0, :, :2, :2])
    assert np.isnan(found.encoder[:, 1, 2:]).all()
    assert np.isnan(found.encoder[:, 1, :, 2:]).all()
    np.testing.assert_array_equal(found.decoder_cross[:, 0, :2], weights["decoder_cross"][2, :, :2, :3])


def test_no_sentences_and_no_heads_keep_nothing():
    corpus = Encoded.from_lists([[5, EOS]], [[6, EOS]])
    nothing = {"encoder": [[]], "decoder_self": [[]], "decoder_cross": [[]]}
    assert MapKeeper([0], corpus, NAMES).found(nothing).encoder.shape == (0, 1, 2, 2)
    assert MapKeeper([], corpus, NAMES).found({**nothing, "encoder": [[0]]}).encoder.size == 0

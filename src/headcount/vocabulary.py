"""Ids of the special pieces, equal in every vocabulary; free of torch."""

PAD, UNK, BOS, EOS = 0, 1, 2, 3

"""What all parts must agree on about text: ids of the special pieces, the tokenizer of scores; free of torch."""

PAD, UNK, BOS, EOS = 0, 1, 2, 3
"""Ids that are equal in every vocabulary."""

TOKENIZER = "13a"
"""sacreBLEU's tokenizer, of the validation BLEU too unless the study scores with another."""

"""What all parts must agree on about text: ids of special pieces, tokenizer of scores, teachers; free of torch."""

PAD, UNK, BOS, EOS = 0, 1, 2, 3
"""Ids that are equal in every vocabulary."""

TOKENIZER = "13a"
"""sacreBLEU's tokenizer, of the validation BLEU too unless the study scores with another."""

APERTIUM = "apertium"
"""The teacher, in `data.teacher`, that is a rule-based system and no model."""

APERTIUM_DIRECTIONS = {("en", "es"): "eng-spa"}
"""Source and target language -> translation direction of Apertium; its package is `apertium-DIRECTION`."""

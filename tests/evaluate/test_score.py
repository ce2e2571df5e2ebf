from __future__ import annotations

import json
import os
from typing import Any
from urllib.error import URLError

import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.tokenizers import tokenizer_ja_mecab, tokenizer_spm

from headcount.errors import UserError
from headcount.evaluate.bootstrap import SEED_VARIABLE
from headcount.evaluate.score import AGAINST_BASELINE, AGAINST_PARTNER, score, tokenizer_signature
from headcount.settings import TOKENIZERS

REFERENCES = [
    "Der Hund schläft neben dem alten Tisch .",
    "Heute scheint die Sonne auf das Dach .",
    "Wir essen am Abend zusammen Brot und Käse .",
    "Das Kind liest ein Buch über den Mond .",
    "Morgen fahren wir mit dem Zug nach Wien .",
    "Mutter hat den Schlüssel im Auto vergessen .",
]
WORSE = [
    *REFERENCES[:2],
    "Wir essen Brot .",
    "Das Kind liest den Mond .",
    "Morgen nach Wien .",
    "Mutter hat Auto .",
]


def scored(hypotheses: Any, references: Any = REFERENCES, **changes: Any) -> dict[str, Any]:
    settings = {
        "baseline": None,
        "partner": None,
        "subset": range(len(references)),
        "tokenizer": "13a",
        "bootstrap_samples": 200,
    }
    return score(hypotheses, references, **{**settings, "seed": 1, **changes})


def test_references_against_themselves_score_100() -> None:
    values = scored(REFERENCES)
    assert values["bleu"] == pytest.approx(100)
    assert values["chrf"] == pytest.approx(100)
    assert values["bleu_low"] == pytest.approx(100)
    assert values["bleu_high"] == pytest.approx(100)
    assert values["bleu_delta"] is None
    assert values["p_value"] is None
    assert not values["suspect"]


def test_a_worse_system_has_an_interval_and_a_difference() -> None:
    values = scored(WORSE, baseline=REFERENCES)
    assert values["bleu_low"] < values["bleu"] < values["bleu_high"] < 100
    assert values["bleu_delta"] == pytest.approx(values["bleu"] - 100)
    assert 0 < values["p_value"] < 0.05
    assert "tok:13a" in values["signatures"]["bleu"]
    assert json.loads(json.dumps(values)) == values


def test_output_equal_to_the_baseline_is_not_significantly_different() -> None:
    values = scored(WORSE, baseline=list(WORSE))
    assert values["bleu_delta"] == values["bleu_delta_low"] == values["bleu_delta_high"] == 0
    assert values["p_value"] == 1


def test_the_interval_of_the_difference_pairs_the_resamples() -> None:
    worse, better = scored(WORSE, baseline=REFERENCES), scored(REFERENCES, baseline=WORSE)
    assert worse["bleu_delta_low"] <= worse["bleu_delta"] <= worse["bleu_delta_high"] <= 0
    assert worse["bleu_delta_low"] == pytest.approx(-better["bleu_delta_high"])
    assert worse["bleu_delta_high"] == pytest.approx(-better["bleu_delta_low"])


def test_the_partner_is_compared_with_like_the_baseline_and_changes_nothing_else() -> None:
    alone, both = scored(WORSE, baseline=REFERENCES), scored(WORSE, baseline=REFERENCES, partner=REFERENCES)
    assert [both[name] for name in AGAINST_PARTNER] == [both[name] for name in AGAINST_BASELINE]
    assert [alone[name] for name in AGAINST_PARTNER] == [None] * 4
    assert {name: both[name] for name in both if name not in AGAINST_PARTNER} == {
        name: alone[name] for name in alone if name not in AGAINST_PARTNER
    }


def test_a_partner_does_not_need_a_baseline() -> None:
    own = scored(WORSE, partner=list(WORSE))
    assert [own[name] for name in AGAINST_PARTNER] == [0, 0, 0, 1]
    assert [own[name] for name in AGAINST_BASELINE] == [None] * 4
    better = scored(REFERENCES, partner=WORSE)
    assert 0 <= better["partner_low"] <= better["partner_delta"] <= better["partner_high"]
    assert better["partner_delta"] == pytest.approx(-scored(WORSE, partner=REFERENCES)["partner_delta"])


def test_seed_decides_the_interval_and_leaves_the_environment_alone() -> None:
    before = dict(os.environ)
    assert scored(WORSE, seed=1) == scored(WORSE, seed=1)
    assert scored(WORSE, seed=0) == scored(WORSE, seed=0)
    assert scored(WORSE, seed=1)["bleu_low"] != scored(WORSE, seed=2)["bleu_low"]
    assert scored(WORSE, seed=1)["bleu"] == scored(WORSE, seed=2)["bleu"]
    assert dict(os.environ) == before
    assert SEED_VARIABLE not in before or before[SEED_VARIABLE] == os.environ[SEED_VARIABLE]


def test_subset_is_scored_alone_and_may_be_empty() -> None:
    assert scored(WORSE, subset=[0, 1])["bleu_without_near_duplicates"] == pytest.approx(100)
    assert scored(WORSE)["bleu_without_near_duplicates"] == pytest.approx(scored(WORSE)["bleu"])
    assert scored(WORSE, subset=[])["bleu_without_near_duplicates"] is None
    some = [2, 3, 2]
    alone = BLEU(force=True).corpus_score([WORSE[2], WORSE[3]], [REFERENCES[2:4]]).score
    assert scored(WORSE, subset=some)["bleu_without_near_duplicates"] == alone
    with pytest.raises(UserError, match=r"index 6 .* 0 to 5"):
        scored(WORSE, subset=[6])


@pytest.mark.parametrize(
    ("hypotheses", "references"),
    [(REFERENCES[:2], REFERENCES[:3]), (REFERENCES[:3], REFERENCES[:2])],
)
def test_unequal_counts_are_refused(hypotheses: list[str], references: list[str]) -> None:
    with pytest.raises(UserError, match=rf"{len(hypotheses)} hypotheses, {len(references)} references"):
        scored(hypotheses, references)


def test_a_baseline_or_partner_of_another_length_is_refused() -> None:
    with pytest.raises(UserError, match="5 translations of the baseline"):
        scored(REFERENCES, baseline=REFERENCES[:5])
    with pytest.raises(UserError, match="4 translations of the partner"):
        scored(REFERENCES, partner=REFERENCES[:4])


def test_wrong_nesting_is_refused() -> None:
    with pytest.raises(UserError, match="references: expected one string for each sentence, found a sequence"):
        scored(REFERENCES, [[line] for line in REFERENCES])
    with pytest.raises(UserError, match="references: expected one string for each sentence, found one string"):
        scored(["a", "b"], "ab")
    with pytest.raises(UserError, match="nothing to score"):
        scored([], [])


def test_empty_items_are_counted_and_dropped_nowhere() -> None:
    values = scored(["", "Heute scheint die Sonne", " ", *WORSE[3:5]], ["x y", "", "  ", *REFERENCES[3:5]])
    assert values["empty"] == {"hypotheses": 2, "references": 2, "both": 1}
    assert values["sentences"] == 5
    assert not values["suspect"]


def test_an_all_empty_output_scores_0_and_is_suspect() -> None:
    values = scored(["", " ", "", "", "", ""], baseline=REFERENCES)
    assert (values["bleu"], values["chrf"], values["suspect"]) == (0, 0, True)


def test_the_settings_know_every_tokenizer() -> None:
    assert set(TOKENIZERS) == set(BLEU.TOKENIZERS)


JAPANESE = ["彼は絵画と彫刻を学ぶために美術学校へ通った。", "車は、君の車の横に止めたよ。", "火事は多くの命を奪った。"]


@pytest.mark.parametrize(("tokenizer", "signature"), [("ja-mecab", "tok:ja-mecab-"), ("char", "tok:char")])
def test_japanese_is_scored_by_words_or_characters(tokenizer: str, signature: str) -> None:
    close = [line.replace("車の横", "家の横").replace("彫刻", "音楽") for line in JAPANESE]
    assert scored(JAPANESE, JAPANESE, tokenizer=tokenizer)["bleu"] == pytest.approx(100)
    values = scored(close, JAPANESE, tokenizer=tokenizer)
    assert signature in values["signatures"]["bleu"]
    assert 50 < values["bleu"] < 100
    assert scored(close, JAPANESE, tokenizer="13a")["bleu"] < values["bleu"]  # a sentence is one word there
    assert tokenizer_signature(tokenizer) in values["signatures"]["bleu"]


def test_what_a_tokenizer_lacks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def offline(tokenizer: object, key: str) -> None:
        raise URLError("no route")

    monkeypatch.setattr(tokenizer_ja_mecab, "MeCab", None)
    with pytest.raises(UserError, match=r"bleu_tokenizer: 'ja-mecab' cannot be used here: .*sacrebleu\[ja\]"):
        tokenizer_signature("ja-mecab")
    monkeypatch.setattr(tokenizer_spm.TokenizerSPM, "__init__", offline)
    with pytest.raises(UserError, match=r"'flores101' cannot be used here: .*no route"):
        tokenizer_signature("flores101")


def test_unusable_tokenizers_are_refused() -> None:
    with pytest.raises(UserError, match="did you mean '13a'"):
        scored(WORSE, tokenizer="v13a")

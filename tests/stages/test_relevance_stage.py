import numpy as np
import pandas as pd
import pytest
import torch

from headcount.data.encoded import Encoded
from headcount.errors import UserError
from headcount.model import weights
from headcount.model.shape import ModelConfig
from headcount.model.transformer import Transformer
from headcount.observe.relevance.importance import COLUMNS
from headcount.stages.relevance import relevance
from headcount.vocabulary import EOS


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(1)
    sides = [[[*rng.integers(4, 20, rng.integers(2, 6)).tolist(), EOS] for _ in range(6)] for _ in range(2)]
    Encoded.from_lists(*sides).save(tmp_path / "dev.npz")
    torch.manual_seed(0)
    shape = {"layers_encoder": 1, "layers_decoder": 1, "width": 8, "heads": 2, "feed_forward": 16}
    rest = {"norm": "pre", "tie_embeddings": False, "dropout": 0.1, "attention_dropout": 0.0}
    weights.save(Transformer(ModelConfig(vocabulary=20, **shape, **rest)), tmp_path / "model")
    return tmp_path


def run(files, **changes):
    settings = {"sentences": 4, "prefixes": "reference", "epsilon": 1e-6, "length_ratio": 1.0, "length_extra": 3}
    out = files / "relevance.csv"
    relevance(files / "dev.npz", out, model=files / "model", **{**settings, **changes})
    return pd.read_csv(out)


def test_the_table_has_all_heads_and_measures(files):
    table = run(files)
    assert list(table.columns) == list(COLUMNS)
    assert len(table) == 3 * 2 * 5
    pd.testing.assert_frame_equal(run(files), table)


def test_only_the_first_sentences_are_used(files):
    few = run(files)
    corpus = Encoded.load(files / "dev.npz")
    ids = range(4)
    Encoded.from_lists([corpus.source(i) for i in ids], [corpus.target(i) for i in ids]).save(files / "dev.npz")
    pd.testing.assert_frame_equal(run(files, sentences=1000), few)


def test_generated_prefixes_do_not_depend_on_the_references(files):
    def explained():
        table = run(files, prefixes="generated")
        return table[table["measure"].isin(["lrp_epsilon", "lrp_alpha_beta", "gradient_times_activation"])]

    before = explained()
    corpus = Encoded.load(files / "dev.npz")
    sources = [corpus.source(i) for i in range(6)]
    assert not before.equals(run(files).loc[before.index])
    Encoded.from_lists(sources, [[7, EOS]] * 6).save(files / "dev.npz")
    pd.testing.assert_frame_equal(explained().reset_index(drop=True), before.reset_index(drop=True))


def test_unknown_prefixes_are_refused(files):
    with pytest.raises(UserError, match=r"'generate': unknown.*generated.*allowed: reference, generated"):
        run(files, prefixes="generate")

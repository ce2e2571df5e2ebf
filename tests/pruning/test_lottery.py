import copy
import json

import numpy as np
import pytest
import small_study as small
import torch

from headcount.errors import UserError
from headcount.heads import ATTENTION_TYPES, count, flat, full, total, without
from headcount.model import weights
from headcount.model.decode import translate
from headcount.model.shape import ATTENTION_NAMES
from headcount.model.surgery import expand_heads
from headcount.pruning.lottery import prune, rewind
from headcount.train.checkpoint import read

REWIND = 12
FULL = full(1, 1, 4)
GONE = [("encoder", 0, 1), ("decoder_self", 0, 0), ("decoder_self", 0, 2), ("decoder_cross", 0, 3)]


@pytest.fixture(scope="module")
def baseline(tmp_path_factory):
    """A dense training of 20 updates whose checkpoint of update 12 is kept."""
    folder = tmp_path_factory.mktemp("baseline")
    small.fit(small.make_model(dropout=0.1), folder, updates=20, keep=(REWIND,))
    return read(folder / "checkpoints" / f"update-{REWIND:06d}.pt")


CHOICE = {"ranking": "global", "least_per_layer": 0, "scope": "all"}


def surviving(name, tensor, kept):
    """Cut the surviving heads out of a dense tensor, written apart from the surgery that is tested."""
    for kind, pattern in ATTENTION_NAMES.items():
        for layer, ids in enumerate(kept[kind]):
            prefix = pattern.format(layer) + "."
            if name.startswith(prefix):
                channels = [4 * head + c for head in ids for c in range(4)]
                if name == prefix + "output.weight":
                    return tensor[:, channels]
                return tensor if name == prefix + "output.bias" else tensor[channels]
    return tensor


@pytest.mark.parametrize("gone", [[], GONE, [h for h in flat(FULL) if h[0] == "decoder_self"], flat(FULL)])
def test_survivors_and_their_moments_are_the_checkpoint_bit_for_bit(baseline, gone):
    kept = without(FULL, gone, 4)
    untouched = copy.deepcopy(baseline["model"])
    model, start = rewind(baseline, small.config(dropout=0.1), kept)
    optimiser = small.adam(model)
    optimiser.load_moments(start["moments"], steps=start["steps"])
    assert model.config.kept == kept
    state = model.state_dict()
    assert state.keys() == start["model"].keys() == baseline["model"].keys()
    for name, dense in baseline["model"].items():
        assert torch.equal(state[name], surviving(name, dense, kept)), name
        assert torch.equal(dense, untouched[name]), name
    for moment, values in optimiser.moments().items():
        assert values.keys() == {name for name, value in state.items() if value.numel()}
        for name, value in values.items():
            assert torch.equal(value, surviving(name, baseline["moments"][moment][name], kept)), (moment, name)
    assert optimiser.steps == baseline["steps"] == REWIND
    assert (start["update"], start["position"], start["tokens"]) == (REWIND, baseline["position"], baseline["tokens"])


@pytest.mark.parametrize("gone", [GONE, [h for h in flat(FULL) if h[0] != "decoder_cross"]])
def test_every_live_parameter_is_trained_once_and_pruned_heads_stay_out(baseline, gone, tmp_path):
    kept = without(FULL, gone, 4)
    model, start = rewind(baseline, small.config(dropout=0.1), kept)
    before = {name: parameter.clone() for name, parameter in model.named_parameters()}
    optimiser = small.fit(model, tmp_path, updates=REWIND + 1, start=start)
    live = {name for name, parameter in model.named_parameters() if parameter.numel()}
    assert optimiser.moments().keys() == start["moments"].keys()
    assert all(values.keys() == live for values in optimiser.moments().values())
    for name, parameter in model.named_parameters():
        # A shift of all keys changes no softmax: this gradient is 0 but for rounding.
        if parameter.numel() and not name.endswith("key.bias"):
            assert not torch.equal(parameter, before[name]), name
    assert optimiser.steps == REWIND + 1
    assert model.config.kept == kept
    for (kind, layer), attention in model.attentions().items():
        assert attention.query.weight.shape == (4 * len(kept[kind][layer]), 16)


def test_a_rewind_without_removal_goes_on_as_the_baseline_did(baseline, tmp_path):
    dense = small.make_model(dropout=0.1)
    small.fit(dense, tmp_path / "dense", updates=20)
    model, start = rewind(baseline, small.config(dropout=0.1), FULL)
    small.fit(model, tmp_path / "rewound", updates=20, start=start)
    for name, value in dense.state_dict().items():
        assert torch.equal(model.state_dict()[name], value), name


def test_fresh_moments_are_zeros_of_the_same_weights(baseline):
    kept = without(FULL, GONE, 4)
    _, rewound = rewind(baseline, small.config(dropout=0.1), kept)
    _, fresh = rewind(baseline, small.config(dropout=0.1), kept, moments="fresh")
    assert fresh["steps"] == 0
    assert (fresh["update"], fresh["position"]) == (REWIND, baseline["position"])
    assert all(torch.equal(fresh["model"][name], value) for name, value in rewound["model"].items())
    for moment, values in fresh["moments"].items():
        assert values.keys() == rewound["moments"][moment].keys()
        assert all(not value.any() for value in values.values())
        assert any(value.any() for value in rewound["moments"][moment].values())


def test_a_restarted_schedule_counts_from_0_and_goes_on_in_the_data(baseline, tmp_path):
    model, start = rewind(baseline, small.config(dropout=0.1), FULL, schedule="restarted")
    assert (start["update"], start["position"]) == (0, baseline["position"])
    small.fit(model, tmp_path, updates=20, start=start)
    lines = [json.loads(line) for line in (tmp_path / "journal.jsonl").read_text().splitlines()]
    peak = max(line["learning_rate"] for line in lines if "learning_rate" in line)
    assert lines[-1]["update"] == 20
    assert peak == pytest.approx(1e-2)  # of an optimiser that warms up over 20 updates


@pytest.mark.parametrize("normaliser", ["entmax_alpha", "entmax_alpha_layer", "entmax_alpha_model"])
def test_alpha_and_its_moments_survive_a_rewind(normaliser, tmp_path):
    options = {"dropout": 0.1, "normalisers": dict.fromkeys(ATTENTION_TYPES, normaliser)}
    dense = small.make_model(**options)
    small.fit(dense, tmp_path / "dense", updates=3, keep=(2,))
    state = read(tmp_path / "dense" / "checkpoints" / "update-000002.pt")
    kept = without(FULL, [*GONE, *[("decoder_self", 0, head) for head in range(4)]], 4)
    model, start = rewind(state, small.config(**options), kept)
    dense.load_state_dict(state["model"])
    optimiser = small.adam(model)
    optimiser.load_moments(start["moments"], steps=start["steps"])
    for (kind, layer), attention in model.attentions().items():
        assert torch.equal(attention.normaliser.alpha, dense.attentions()[kind, layer].normaliser.alpha[attention.kept])
        name = f"{ATTENTION_NAMES[kind].format(layer)}.normaliser.a"
        if name in optimiser.moments()["exp_avg"]:
            before = state["moments"]["exp_avg"][name]
            assert torch.equal(
                optimiser.moments()["exp_avg"][name], before[kept[kind][layer]] if before.ndim else before
            )
    small.fit(model, tmp_path / "ticket", updates=4, start=start)
    trained = {name for name in start["moments"]["exp_avg"] if name.endswith(("normaliser.a", "attention_a"))}
    assert len(trained) == (1 if normaliser == "entmax_alpha_model" else 2)  # no α of the layer without heads
    assert all(not torch.equal(model.state_dict()[name], start["model"][name]) for name in trained)


def test_a_chain_of_rounds_removes_heads_until_none_are_left(baseline, tmp_path, caplog):
    kept, seen = FULL, []
    for number in range(3):
        model, start = rewind(baseline, small.config(dropout=0.1), kept)
        small.fit(model, tmp_path / str(number), updates=REWIND + 2, start=start)
        state = {name: value.clone() for name, value in model.state_dict().items()}
        decided = prune(model, small.corpus(), scorer="confidence", **CHOICE, heads_per_round=4, seed=1)
        assert all(torch.equal(state[name], value) for name, value in model.state_dict().items())
        assert set(flat(kept)) - set(decided.removed) == set(flat(decided.kept))
        assert {kind: [len(layer) for layer in rows] for kind, rows in decided.scores.items()} == {
            kind: [len(ids) for ids in rows] for kind, rows in kept.items()
        }
        stored = json.loads(json.dumps(decided.to_dict()))
        assert stored["kept"] == decided.kept
        assert [tuple(head) for head in stored["removed"]] == decided.removed
        seen += decided.removed
        kept = decided.kept
    assert sorted(seen) == sorted(flat(FULL))
    assert total(kept) == 0
    assert "the decoder no longer sees the source" in caplog.text
    with pytest.raises(UserError, match="cannot be removed"):
        prune(model, small.corpus(), scorer="confidence", **CHOICE, heads_per_round=5, seed=1)


def test_a_ticket_without_heads_in_a_layer_is_saved_loaded_and_translates(baseline, tmp_path):
    gone = [("encoder", 0, head) for head in range(4)] + [("decoder_cross", 0, head) for head in range(4)]
    model, start = rewind(baseline, small.config(dropout=0.1), without(FULL, gone, 4))
    small.fit(model, tmp_path / "run", updates=REWIND + 10, start=start)
    weights.save(model, tmp_path)
    loaded = weights.load(tmp_path, torch.device("cpu"))
    assert count(loaded.config.kept) == {"encoder": 0, "decoder_self": 4, "decoder_cross": 0}
    masked_state, masked_config = expand_heads(model.state_dict(), model.config)
    masked = small.Transformer(masked_config)
    masked.load_state_dict(masked_state)
    sources = [small.corpus().source(i).tolist() for i in range(5)]
    options = {"beam": 2, "length_penalty": 0.6, "max_length": lambda n: 2 * n, "sentences_per_batch": 3}
    assert translate(loaded, sources, **options) == translate(masked.eval(), sources, **options)


def test_per_type_rounds_take_the_same_share_of_each_type():
    model = small.make_model()
    decided = prune(
        model, small.corpus(), scorer="random", heads_per_round=6, seed=1, **{**CHOICE, "ranking": "per_type"}
    )
    assert count(decided.kept) == dict.fromkeys(ATTENTION_TYPES, 2)
    assert np.allclose(decided.scores["encoder"][0], decided.to_dict()["scores"]["encoder"][0])


def test_an_unknown_scorer_is_refused_with_the_nearest_name():
    with pytest.raises(UserError, match="did you mean 'confidence'"):
        prune(small.make_model(), small.corpus(), scorer="confidance", **CHOICE, heads_per_round=1, seed=1)

import copy
import json

import pytest
import small_study as small
import torch
from safetensors.torch import save

from headcount.errors import UserError
from headcount.heads import ATTENTION_TYPES, full, total
from headcount.model import weights
from headcount.model.decode import translate
from headcount.model.shape import ATTENTION_NAMES
from headcount.model.surgery import expand_heads
from headcount.pruning.subset import NAME, SubsetHook, attach, kept, parameter_groups, pruned, temperature
from headcount.stages.begin.subset import begin
from headcount.stages.begin.task import Task
from headcount.train.checkpoint import read
from headcount.train.journal import read as read_journal

FULL = full(1, 1, 4)
DECODING = {"beam": 4, "length_penalty": 0.6, "max_length": lambda n: 2 * n, "sentences_per_batch": 8}
ESTIMATORS = ("gumbel", "straight_through")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    model = small.make_model(dropout=0.1)
    small.fit(model, tmp_path_factory.mktemp("baseline"), updates=60)
    return model.eval()


def masked(trained, keep=5, estimator="gumbel"):
    model = copy.deepcopy(trained)
    attach(model, keep=keep, estimator=estimator)
    return model


def finetune(model, folder, *, updates=20, planned=20, learning_rate=1e-3, gate_learning_rate=0.2, **options):
    """Fine-tune in place and return the lines of the journal that tell of the mask."""
    groups = parameter_groups(model, learning_rate=learning_rate, gate_learning_rate=gate_learning_rate)
    hook = SubsetHook(updates=planned, temperature_start=1.0, temperature_end=0.01)
    small.fit(model, folder, updates=updates, optimiser=small.adam(model, groups), hooks=[hook], **options)
    return [line for line in read_journal(folder / "journal.jsonl") if "subset/mass" in line]


def set_importance(model, values):
    with torch.no_grad():
        model.get_submodule(NAME).importance.copy_(torch.tensor(values))


def logits(model):
    """Of thirty sentences, with the sentences."""
    sources = [small.corpus().source(index).tolist() for index in range(30)]
    source = torch.nn.utils.rnn.pad_sequence([torch.tensor(ids) for ids in sources], batch_first=True)
    target = torch.nn.functional.pad(source[:, :-1], (1, 0), value=2)
    with torch.no_grad():
        return model.eval()(source, target), sources


def test_the_mask_is_one_parameter_of_the_model(trained):
    model = masked(trained, keep=12)
    added = model.state_dict().keys() - trained.state_dict().keys()
    assert added == {f"{NAME}.importance", f"{NAME}.recent"}
    assert model.get_submodule(NAME).importance.shape == (12,)
    assert kept(model) == FULL
    torch.testing.assert_close(logits(model)[0], logits(trained)[0])


@pytest.mark.parametrize("keep", [0, 13])
def test_more_heads_than_there_are_cannot_stay(trained, keep):
    with pytest.raises(UserError, match=f"{keep} heads cannot stay in a model of 12; allowed: 1 to 12"):
        masked(trained, keep=keep)


def test_a_model_without_mask_is_refused(trained):
    with pytest.raises(ValueError, match="no mask"):
        SubsetHook(updates=1, temperature_start=1.0, temperature_end=0.1).start(trained, 0)


def test_every_trained_parameter_is_in_one_group_once(trained):
    model = masked(trained)
    of_weights, of_mask = parameter_groups(model, learning_rate=1e-3, gate_learning_rate=0.2)
    assert set(of_mask.parameters) == {f"{NAME}.importance"}
    assert of_weights.parameters.keys() | of_mask.parameters.keys() == dict(model.named_parameters()).keys()
    assert not of_weights.parameters.keys() & of_mask.parameters.keys()
    assert (of_weights.rate(1), of_weights.rate(99), of_mask.rate(7)) == (1e-3, 1e-3, 0.2)


def test_the_temperature_falls_by_the_same_factor_each_update():
    values = [temperature(update, updates=5, start=1.0, end=1e-4) for update in range(1, 6)]
    assert values == pytest.approx([1.0, 0.1, 0.01, 1e-3, 1e-4])
    assert temperature(1, updates=1, start=1.0, end=1e-4) == 1.0


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_pruned_equals_the_masked_model_in_evaluation(trained, estimator, caplog):
    model = masked(trained, keep=5, estimator=estimator)
    set_importance(model, [2.0, -1.0, 0.1, -0.1, -3.0, -2.0, -1.0, -0.5, 1.0, -4.0, 3.0, 0.3])
    plain = pruned(model)
    assert plain.config.kept == {"encoder": [[0, 2]], "decoder_self": [[]], "decoder_cross": [[0, 2, 3]]}
    assert plain.state_dict().keys() == trained.state_dict().keys()
    assert "no decoder_self head is left" in caplog.text
    torch.testing.assert_close(logits(plain)[0], logits(model)[0], atol=1e-5, rtol=1e-5)
    assert translate(plain, logits(plain)[1], **DECODING) == translate(model, logits(plain)[1], **DECODING)


def test_a_layer_without_heads_and_removed_heads_have_no_importance(tmp_path):
    model = small.make_model({**FULL, "decoder_self": [[]], "encoder": [[1, 3]]})
    attach(model, keep=3, estimator="gumbel")
    assert model.attentions()["decoder_self", 0].gate is None
    finetune(model, tmp_path, updates=2)
    set_importance(model, [0.0, 3.0, 2.0, -1.0, 1.0, -2.0])
    assert kept(model) == {"encoder": [[3]], "decoder_self": [[]], "decoder_cross": [[0, 2]]}


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("keep", [1, 5])
def test_exactly_k_heads_are_left_after_training(trained, estimator, keep, tmp_path):
    model = masked(trained, keep, estimator)
    lines = finetune(model, tmp_path)
    plain = pruned(model)
    assert total(plain.config.kept) == keep == lines[-1]["heads/kept"]
    assert plain.config.kept == kept(model)
    torch.testing.assert_close(logits(plain)[0], logits(model)[0], atol=1e-5, rtol=1e-5)
    assert lines[-1]["update"] == 20
    assert lines[-1]["subset/temperature"] == pytest.approx(0.01)
    assert 0 < lines[-1]["subset/mass"] <= 1


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_training_in_parts_is_training_in_full(trained, estimator, tmp_path):
    options = {
        "accumulate_batches": 2,
        "validate_every_updates": 5,
        "validate": lambda model: {"x": logits(model)[0][0, 0, 0].item()},
    }
    whole, first, second = (masked(trained, estimator=estimator) for _ in range(3))
    expected = finetune(whole, tmp_path / "whole", **options)
    finetune(first, tmp_path / "parts", updates=8, **options)
    found = finetune(second, tmp_path / "parts", **options)  # a new process starts from the parent again
    assert save(dict(second.state_dict())) == save(dict(whole.state_dict()))
    assert not torch.equal(second.get_submodule(NAME).importance, first.get_submodule(NAME).importance)
    assert [line["subset/mass"] for line in found[-1:]] == [line["subset/mass"] for line in expected[-1:]]
    moments = read(tmp_path / "parts" / "checkpoints" / "update-000020.pt")["moments"]["exp_avg"]
    assert f"{NAME}.importance" in moments


def test_each_batch_of_an_update_has_a_mask_of_its_own(trained, tmp_path, monkeypatch):
    model = masked(trained)
    mask = model.get_submodule(NAME)
    drawn, draw = [], mask.sample
    monkeypatch.setattr(mask, "sample", lambda: drawn.append((mask.temperature, draw())) or drawn[-1][1])
    finetune(model, tmp_path, updates=3, planned=3, accumulate_batches=2)
    assert [t for t, _ in drawn] == pytest.approx([1.0, 1.0, 0.1, 0.1, 0.01, 0.01])
    assert len({tuple(values.tolist()) for _, values in drawn}) == 6
    assert all(values.grad_fn is not None for _, values in drawn)


@pytest.fixture(scope="module")
def few_of_many(tmp_path_factory):
    """A trained model of four heads among eight that disturb it."""
    needed = {"encoder": [[1, 3]], "decoder_self": [[2]], "decoder_cross": [[0]]}
    few = small.make_model(needed)
    small.fit(few, tmp_path_factory.mktemp("few"), updates=120)
    state, _ = expand_heads(few.state_dict(), few.config)
    torch.manual_seed(2)
    for kind in ATTENTION_TYPES:
        for head in set(range(4)) - set(needed[kind][0]):
            channels = slice(4 * head, 4 * head + 4)
            for part in ("query", "key", "value"):
                state[f"{ATTENTION_NAMES[kind].format(0)}.{part}.weight"][channels].normal_(std=0.3)
            state[f"{ATTENTION_NAMES[kind].format(0)}.output.weight"][:, channels].normal_(std=1.0)
    many = small.make_model()
    many.load_state_dict(state)
    return many, needed


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_heads_that_do_the_work_are_found(few_of_many, estimator, tmp_path):
    many, needed = few_of_many
    model = masked(many, keep=4, estimator=estimator)
    lines = finetune(model, tmp_path, updates=60, planned=60, learning_rate=0.0, gate_learning_rate=0.5)
    assert kept(model) == needed
    assert lines[-1]["subset/mass"] > 0.9


def test_heads_that_were_trained_with_others_are_told_of(trained, tmp_path, caplog):
    finetune(masked(trained), tmp_path / "short", updates=2, planned=2)
    assert "of the last masks was on the heads that stay" in caplog.text
    caplog.clear()
    model = masked(trained)
    set_importance(model, [99.0] * 5 + [-99.0] * 7)
    finetune(model, tmp_path / "decided", updates=2, planned=2)
    assert "masks" not in caplog.text


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_begin_trains_a_parent_and_writes_a_plain_model(trained, estimator, tmp_path):
    subset = {"estimator": estimator, "heads": 5, "updates": 20, "learning_rate": 1e-3, "gate_learning_rate": 0.3}
    settings = {"seed": 1, "subset": {**subset, "temperature_start": 2.0, "temperature_end": 0.02}}
    weights.save(trained, tmp_path / "dense")
    task = Task(
        settings, (tmp_path / "dense",), tmp_path / "out", small.VOCABULARY, small.corpus(), torch.device("cpu")
    )
    beginning = begin(task)
    assert (beginning.updates, beginning.average_checkpoints, beginning.start) == (20, 1, None)
    small.fit(
        beginning.model,
        task.out,
        updates=beginning.updates,
        optimiser=small.adam(beginning.model, list(beginning.groups)),
        hooks=beginning.hooks,
    )
    beginning.finish()
    plain = weights.load(task.out, task.device)
    assert total(plain.config.kept) == 5
    torch.testing.assert_close(logits(plain)[0], logits(beginning.model)[0], atol=1e-5, rtol=1e-5)
    last = read_journal(task.out / "journal.jsonl")[-2]
    assert last["heads/kept"] == 5
    assert last["subset/temperature"] == pytest.approx(0.02)
    assert last["learning_rate"] == 1e-3
    assert json.loads((task.out / "model.json").read_text())["kept"] == plain.config.kept

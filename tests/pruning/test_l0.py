import copy

import pytest
import small_study as small
import torch

from headcount.heads import ATTENTION_TYPES, count, full, total
from headcount.model.decode import translate
from headcount.model.gates import FixedGate
from headcount.pruning.control import Control
from headcount.pruning.l0 import L0Hook, attach, gates, kept, parameter_groups, pruned
from headcount.train.checkpoint import read
from headcount.train.journal import read as read_journal

FULL = full(1, 1, 4)
STRETCH = {"temperature": 0.33, "low": -0.1, "high": 1.1}
GATES = {**STRETCH, "initial_log_alpha": 2.5, "initial_spread": 0.0, "seed": 1, "at_test": "binary"}
GATE_RATE = 0.1
DECODING = {"beam": 4, "length_penalty": 0.6, "max_length": lambda n: 2 * n, "sentences_per_batch": 8}
SHIFT = 0.33 * torch.tensor(0.1 / 1.1).log()  # τ log(-γ/ζ)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    model = small.make_model()
    small.fit(model, tmp_path_factory.mktemp("baseline"), updates=120)
    return model


def gated(trained, scope="all", **changes):
    model = copy.deepcopy(trained)
    attach(model, scope=scope, **{**GATES, **changes})
    return model


def constant(penalty):
    return Control(penalty, target_heads=0, gate_learning_rate=GATE_RATE, settled_updates=0)


def finetune(model, folder, *, penalty, updates=60, target_heads=0, settled_updates=0, **options):
    """Fine-tune in place and return the lines of the journal that tell of the gates."""
    groups = parameter_groups(model, learning_rate=1e-3, gate_learning_rate=GATE_RATE)
    control = Control(penalty, target_heads=target_heads, gate_learning_rate=GATE_RATE, settled_updates=settled_updates)
    hooks = [L0Hook(model, control)]
    small.fit(model, folder, updates=updates, optimiser=small.adam(model, groups), hooks=hooks, **options)
    return [line for line in read_journal(folder / "journal.jsonl") if "gates" in line]


def logits(model):
    """Of thirty sentences, with the sentences."""
    sources = [small.corpus().source(index).tolist() for index in range(30)]
    source = torch.nn.utils.rnn.pad_sequence([torch.tensor(ids) for ids in sources], batch_first=True)
    target = torch.nn.functional.pad(source[:, :-1], (1, 0), value=2)
    with torch.no_grad():
        return model.eval()(source, target), sources


def set_log_alpha(model, values):
    with torch.no_grad():
        for place, gate in gates(model).items():
            gate.log_alpha.copy_(torch.tensor(values[place]))


@pytest.mark.parametrize("scope", ["encoder", "all"])
def test_gates_are_put_on_the_scope_and_start_open(trained, scope):
    model = gated(trained, scope)
    assert {kind for kind, _ in gates(model)} == set(ATTENTION_TYPES if scope == "all" else ATTENTION_TYPES[:1])
    assert kept(model) == FULL
    assert all(gate.log_alpha.tolist() == [2.5] * 4 for gate in gates(model).values())
    batch = torch.tensor([[5, 6, 3]]), torch.tensor([[2, 6, 5]])
    with torch.no_grad():
        torch.testing.assert_close(model.eval()(*batch), trained.eval()(*batch))


def test_a_layer_without_heads_gets_no_gate(tmp_path):
    model = small.make_model({**FULL, "decoder_self": [[]], "encoder": [[1, 3]]})
    attach(model, scope="all", **GATES)
    assert list(gates(model)) == [("encoder", 0), ("decoder_cross", 0)]
    finetune(model, tmp_path, penalty=0.01, updates=2)
    set_log_alpha(model, {("encoder", 0): [-1.0, 1.0], ("decoder_cross", 0): [1.0] * 4})
    assert kept(model) == {"encoder": [[3]], "decoder_self": [[]], "decoder_cross": [[0, 1, 2, 3]]}


def test_the_penalty_and_its_gradient_are_the_closed_form(trained):
    model = gated(trained)
    values = {place: torch.randn(4, generator=torch.Generator().manual_seed(1)).tolist() for place in gates(model)}
    set_log_alpha(model, values)
    hook = L0Hook(model, constant(0.3))
    hook.start(model, 0)
    model.train()(torch.tensor([[5, 3]]), torch.tensor([[2, 5]])).sum().backward()
    for gate in gates(model).values():
        gate.log_alpha.grad = torch.zeros_like(gate.log_alpha)
    term = hook.loss_term(1)
    term.backward()
    opened = {place: (torch.tensor(values[place]) - SHIFT).sigmoid() for place in values}
    torch.testing.assert_close(term.detach(), 0.3 * sum(p.sum() for p in opened.values()))
    for place, gate in gates(model).items():
        torch.testing.assert_close(gate.log_alpha.grad, 0.3 * opened[place] * (1 - opened[place]))


@pytest.mark.parametrize("tied", [True, False])
def test_scope_encoder_trains_encoder_and_gates_and_leaves_the_rest_bit_for_bit(tied, tmp_path):
    model = small.make_model(tie_embeddings=tied, dropout=0.1)
    attach(model, scope="encoder", **{**GATES, "initial_log_alpha": 0.5})
    before = {name: parameter.clone() for name, parameter in model.named_parameters()}
    finetune(model, tmp_path, penalty=0.01, updates=5)
    changed = {name for name, parameter in model.named_parameters() if not torch.equal(parameter, before[name])}
    trained_parts = {name for name in before if name.startswith(("encoder.", "embedding.source"))}
    assert changed == trained_parts
    assert any(name.startswith("embedding.") for name in changed) is not tied
    assert any(name.endswith("gate.log_alpha") for name in changed)


@pytest.mark.parametrize("scope", ["encoder", "all"])
def test_every_trained_parameter_is_in_one_group_once(trained, scope):
    model = gated(trained, scope)
    weights, of_gates = parameter_groups(model, learning_rate=1e-3, gate_learning_rate=0.1)
    ids = [id(parameter) for group in (weights, of_gates) for parameter in group.parameters.values()]
    assert len(ids) == len(set(ids))
    assert set(ids) == {id(p) for p in model.parameters() if p.requires_grad}
    assert {id(p) for p in of_gates.parameters.values()} == {id(gate.log_alpha) for gate in gates(model).values()}
    assert (weights.rate(1), weights.rate(99), of_gates.rate(7)) == (1e-3, 1e-3, 0.1)


def test_without_a_penalty_all_heads_stay(trained, tmp_path):
    model = gated(trained)
    finetune(model, tmp_path, penalty=0.0, updates=100)
    assert kept(model) == FULL


@pytest.mark.parametrize("scope", ["encoder", "all"])
def test_a_larger_penalty_never_keeps_more_heads(trained, scope, tmp_path):
    found = []
    for penalty in (0.0, 0.1, 1.0, 2.0, 100.0):
        model = gated(trained, scope)
        finetune(model, tmp_path / str(penalty), penalty=penalty, updates=45)
        found.append(total(kept(model)))
    assert found == sorted(found, reverse=True)
    assert found[0] == 12
    assert found[-1] == (0 if scope == "all" else 8)


@pytest.mark.parametrize("penalty", [None, 0.0, 0.05, 1.0])
def test_expected_sampled_and_deterministic_counts_agree(trained, penalty, tmp_path):
    model = gated(trained)
    if penalty is not None:
        finetune(model, tmp_path, penalty=penalty)
    hook = L0Hook(model, constant(0.0))
    hook.start(model, 0)
    reported = hook.after_step(1)
    probability = torch.cat([gate.expected_open() for gate in gates(model).values()]).detach()
    assert reported["heads/expected"] == pytest.approx(float(probability.sum()), rel=1e-5)
    model.train()
    torch.manual_seed(1)
    draws = 1000
    with torch.no_grad():
        opened = sum(int((gate() > 0).sum()) for _ in range(draws) for gate in gates(model).values()) / draws
        deviation = float((probability * (1 - probability)).sum() / draws) ** 0.5
        assert abs(opened - reported["heads/expected"]) < 5 * deviation + 1e-3
        model.eval()
        deterministic = sum(int(gate().sum()) for gate in gates(model).values())
    assert deterministic == reported["heads/kept"] == total(kept(model))
    # Undecided gates are all that sets the two counts apart: an open one has P > 0.688, a closed one less.
    undecided = float(torch.minimum(probability, 1 - probability).sum())
    between = ((probability > 0.5) & (probability < 0.688)).sum()
    assert abs(deterministic - reported["heads/expected"]) <= undecided + between


def test_pruned_equals_the_gated_model_in_evaluation(trained):
    model = gated(trained)
    set_log_alpha(
        model,
        {
            ("encoder", 0): [2.0, -1.0, 0.1, -0.1],
            ("decoder_self", 0): [-3.0, -2.0, -1.0, -0.5],
            ("decoder_cross", 0): [1.0, -4.0, 3.0, 2.0],
        },
    )
    plain = pruned(model)
    assert plain.config.kept == {"encoder": [[0, 2]], "decoder_self": [[]], "decoder_cross": [[0, 2, 3]]}
    assert not any("gate" in name for name in plain.state_dict())
    torch.testing.assert_close(logits(plain)[0], logits(model)[0], atol=1e-5, rtol=1e-5)
    assert translate(plain, logits(plain)[1], **DECODING) == translate(model, logits(plain)[1], **DECODING)


def test_pruned_after_training_keeps_what_was_reported_and_warns_of_lost_types(trained, tmp_path, caplog):
    model = gated(trained)
    finetune(model, tmp_path, penalty=100.0)  # more than any head is worth
    plain = pruned(model)
    assert count(plain.config.kept) == dict.fromkeys(ATTENTION_TYPES, 0)
    assert "no encoder head is left" in caplog.text
    assert "the decoder no longer sees the source" in caplog.text
    assert read_journal(tmp_path / "journal.jsonl")[-2]["heads/kept"] == 0


def test_the_journal_tells_the_trajectory_of_every_gate(trained, tmp_path):
    model = gated(trained, "encoder")
    lines = finetune(model, tmp_path, penalty=0.05, updates=40)
    assert [line["update"] for line in lines] == [20, 40]
    for line in lines:
        assert list(line["gates"]) == ["encoder"]
        assert line["heads/expected"] == pytest.approx(8 + sum(line["gates"]["encoder"][0]))
        assert line["l0/penalty"] == 0.05
    assert lines[-1]["gates"]["encoder"] == [gate.expected_open().tolist() for gate in gates(model).values()]
    assert lines[-1]["heads/kept"] == total(kept(model))


def test_training_in_parts_is_training_in_full(trained, tmp_path):
    whole, parts = gated(trained), gated(trained)
    finetune(whole, tmp_path / "whole", penalty=0.05, updates=20)
    finetune(parts, tmp_path / "parts", penalty=0.05, updates=8)
    resumed = gated(trained)  # a new process starts from the parent again
    finetune(resumed, tmp_path / "parts", penalty=0.05, updates=20)
    for name, value in whole.state_dict().items():
        assert torch.equal(resumed.state_dict()[name], value), name
    moments = read(tmp_path / "parts" / "checkpoints" / "update-000020.pt")["moments"]["exp_avg"]
    assert sum(name.endswith("gate.log_alpha") for name in moments) == 3


def test_a_gate_that_takes_no_part_ends_the_run(trained, tmp_path):
    model = gated(trained)
    attention = model.attentions()["decoder_cross", 0]
    groups = parameter_groups(model, learning_rate=1e-3, gate_learning_rate=0.1)

    class Swap(L0Hook):
        def start(self, model, update):
            super().start(model, update)
            attention.gate = FixedGate([1.0] * 4)  # the forward pass asks another gate from now on

    with pytest.raises(RuntimeError, match="decoder_cross"):
        small.fit(model, tmp_path, updates=2, optimiser=small.adam(model, groups), hooks=[Swap(model, constant(0.1))])
    with pytest.raises(ValueError, match="no gates"):
        L0Hook(model, constant(0.1)).start(copy.deepcopy(trained), 0)


@pytest.mark.parametrize("scope", ["encoder", "all"])
def test_the_spread_of_the_start_is_drawn_from_the_seed(trained, scope):
    drawn = [
        torch.cat([gate.log_alpha for gate in gates(gated(trained, scope, **changes)).values()]).detach()
        for changes in (
            {"initial_log_alpha": 1.0, "initial_spread": 0.6, "seed": 3},
            {"initial_log_alpha": 1.0, "initial_spread": 0.6, "seed": 3},
            {"initial_log_alpha": 1.0, "initial_spread": 0.6, "seed": 4},
            {"initial_log_alpha": 1.0, "initial_spread": 0.0, "seed": 3},
        )
    ]
    assert torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], drawn[2])
    assert ((drawn[0] >= 0.4) & (drawn[0] <= 1.6)).all()
    assert len(set(drawn[0].tolist())) == len(drawn[0])  # gates of one layer are not alike, nor are the layers
    assert drawn[3].tolist() == [1.0] * len(drawn[0])


HALF_OPEN = {
    ("encoder", 0): [2.0, -1.0, 0.1, -3.0],
    ("decoder_self", 0): [-3.0, -2.5, -2.4, -9.0],
    ("decoder_cross", 0): [0.0, 2.5, 9.0, -2.3],
}


def test_soft_gates_become_part_of_the_output_projections(trained):
    model = gated(trained, at_test="soft")
    set_log_alpha(model, HALF_OPEN)
    plain = pruned(model)
    # Factors are 0 from log α = -ln 11 = -2.398 down, and 1 from 2.398 up.
    assert plain.config.kept == {"encoder": [[0, 1, 2]], "decoder_self": [[]], "decoder_cross": [[0, 1, 2, 3]]}
    rows = plain.attentions()["decoder_cross", 0].output.weight.detach().unflatten(1, (4, 4))
    before = trained.attentions()["decoder_cross", 0].output.weight.detach().unflatten(1, (4, 4))
    assert torch.equal(rows[:, [1, 2]], before[:, [1, 2]])
    torch.testing.assert_close(rows[:, 0], before[:, 0] / 2)
    torch.testing.assert_close(logits(plain)[0], logits(model)[0], atol=1e-5, rtol=1e-5)
    assert translate(plain, logits(plain)[1], **DECODING) == translate(model, logits(plain)[1], **DECODING)
    other = gated(trained, at_test="binary")
    set_log_alpha(other, HALF_OPEN)
    assert kept(other) == {"encoder": [[0, 2]], "decoder_self": [[]], "decoder_cross": [[1, 2]]}
    assert not torch.allclose(logits(other)[0], logits(model)[0])


@pytest.mark.parametrize(
    ("scope", "wish", "at_test"),
    [("all", 10, "binary"), ("all", 3, "binary"), ("all", 6, "soft"), ("encoder", 2, "binary")],
)
def test_a_wish_for_heads_is_met(trained, scope, wish, at_test, tmp_path):
    model = gated(trained, scope, at_test=at_test)
    lines = finetune(model, tmp_path, penalty=0.01, target_heads=wish, updates=120)
    ungated = 0 if scope == "all" else 8
    missed_by = total(kept(model)) - ungated - wish  # soft gates: -1 on average, -2 for a quarter of the seeds
    assert abs(missed_by) <= (1 if at_test == "binary" else 2)
    assert total(pruned(model).config.kept) == lines[-1]["heads/kept"] == total(kept(model))
    assert len({line["l0/penalty"] for line in lines}) == len(lines)


def test_a_wish_is_met_in_parts_as_in_full(trained, tmp_path):
    whole, first, second = (gated(trained) for _ in range(3))
    options = {"penalty": 0.01, "target_heads": 5, "updates": 40}
    expected = finetune(whole, tmp_path / "whole", **options)
    finetune(first, tmp_path / "parts", **{**options, "updates": 25})
    found = finetune(second, tmp_path / "parts", **options)
    assert torch.equal(whole.l0.multiplier, second.l0.multiplier)
    for name, value in whole.state_dict().items():
        assert torch.equal(second.state_dict()[name], value), name
    by_update = {line["update"]: line["l0/penalty"] for line in found}
    assert [by_update[line["update"]] for line in expected] == [line["l0/penalty"] for line in expected]


def test_training_ends_when_all_gates_have_settled(trained, tmp_path):
    options = {"penalty": 100.0, "settled_updates": 7}
    model = gated(trained, initial_log_alpha=0.0)
    last = finetune(model, tmp_path / "whole", **options, updates=90)[-1]["update"]
    assert last < 90
    assert all(gate.settled().all() for gate in gates(model).values())
    assert int(model.l0.unsettled) == last - 7
    for updates in (last - 3, 90):  # the count goes on where it was
        resumed = gated(trained, initial_log_alpha=0.0)
        again = finetune(resumed, tmp_path / "parts", **options, updates=updates)
    assert again[-1]["update"] == last
    for name, value in model.state_dict().items():
        assert torch.equal(resumed.state_dict()[name], value), name


LEARNED = ("entmax_alpha", "entmax_alpha_layer", "entmax_alpha_model")


@pytest.mark.parametrize("normaliser", ["entmax15", *LEARNED])
def test_a_sparse_model_is_gated_and_keeps_its_alpha_when_heads_go(normaliser, tmp_path):
    model = small.make_model(normalisers=dict.fromkeys(ATTENTION_TYPES, normaliser))
    attach(model, scope="all", **GATES)
    finetune(model, tmp_path, penalty=0.01, updates=3)
    set_log_alpha(model, HALF_OPEN)
    plain = pruned(model)
    torch.testing.assert_close(logits(plain)[0], logits(model)[0], atol=1e-5, rtol=1e-5)
    for place, attention in plain.attentions().items():
        if normaliser in LEARNED:
            before = model.attentions()[place].normaliser.alpha
            assert torch.equal(attention.normaliser.alpha, before[attention.kept])


@pytest.mark.parametrize("normaliser", LEARNED)
def test_scope_encoder_trains_no_alpha_that_the_decoder_uses(normaliser):
    model = small.make_model(normalisers=dict.fromkeys(ATTENTION_TYPES, normaliser))
    attach(model, scope="encoder", **GATES)
    trains = {kind: attention.normaliser.a.requires_grad for (kind, _), attention in model.attentions().items()}
    own = normaliser != "entmax_alpha_model"
    assert trains == {"encoder": own, "decoder_self": False, "decoder_cross": False}

import pytest
import torch
from torch import nn

from headcount.heads import ATTENTION_TYPES
from headcount.model.gates import FixedGate, HardConcreteGate
from headcount.model.shape import ModelConfig
from headcount.model.surgery import remove_heads
from headcount.model.transformer import Transformer
from headcount.observe.relevance.propagate import Pass, frozen, step_relevance
from headcount.observe.relevance.rules import AlphaBeta, Epsilon, Gradient
from headcount.vocabulary import BOS, PAD

RULES = {"epsilon": Epsilon(1e-12), "alpha_beta": AlphaBeta()}
SOME = {"encoder": [[1, 3], [0, 1, 2]], "decoder_self": [[], [2]], "decoder_cross": [[0, 1], [3]]}
SOURCE = torch.tensor([[5, 6, 7, 8, 9], [10, 11, 4, PAD, PAD], [6, 12, 13, 9, PAD]])
TARGET = torch.tensor([[BOS, 5, 9, 8], [BOS, 12, PAD, PAD], [BOS, 7, 6, PAD]])


@pytest.fixture(params=RULES)
def rule(request):
    return RULES[request.param]


def make_model(norm="pre", normaliser="softmax", kept=None, tied=True):
    torch.manual_seed(2)
    model = Transformer(
        ModelConfig(
            vocabulary=20,
            layers_encoder=2,
            layers_decoder=2,
            width=16,
            heads=4,
            feed_forward=24,
            norm=norm,
            tie_embeddings=tied,
            dropout=0.3,
            attention_dropout=0.3,
            normalisers=dict.fromkeys(ATTENTION_TYPES, normaliser),
            kept=kept or {},
        )
    ).double()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("bias"):
                parameter.normal_(0, 0.2)
    return model.eval()


def biases(part):
    """Biases of a part of the model that relevance can reach: queries and keys are held constant."""
    return [
        bias
        for name, bias in part.named_parameters()
        if name.endswith("bias") and "query" not in name and "key" not in name and bias.requires_grad
    ]


def received(outputs, start, *tensors):
    """Sum the relevance that reaches each of the tensors."""
    return [
        float(part.sum())
        for part in torch.autograd.grad(outputs, tensors, start, retain_graph=True, materialize_grads=True)
    ]


MODELS = {
    "pre": {},
    "post": {"norm": "post"},
    "entmax": {"normaliser": "entmax15"},
    "learned": {"normaliser": "entmax_alpha", "norm": "post", "tied": False},
    "removed": {"kept": SOME},
    "removed_post": {"kept": SOME, "norm": "post", "normaliser": "entmax_alpha"},
}


@pytest.mark.parametrize("settings", MODELS)
@pytest.mark.parametrize("rules", [Gradient(), *RULES.values()], ids=["gradient", *RULES])
def test_the_pass_is_that_of_the_model(settings, rules):
    model = make_model(**MODELS[settings])
    model.attentions()["decoder_cross", 1].gate = FixedGate([0.5] * len(model.config.kept["decoder_cross"][1]))
    real = TARGET != PAD
    run = Pass(model, rules, SOURCE, TARGET)
    torch.testing.assert_close(run.hidden[real], model.hidden(SOURCE, TARGET)[real])
    torch.testing.assert_close(run.top_logits()[real], model(SOURCE, TARGET).amax(-1)[real])


@pytest.mark.parametrize("settings", MODELS)
def test_relevance_is_conserved_from_a_logit_to_the_embeddings(rule, settings):
    model = make_model(**MODELS[settings])
    run = Pass(model, rule, SOURCE, TARGET)
    logits = run.top_logits()
    for step in range(2):
        start = rule.start(logits)[:, step]
        parts = received(logits[:, step], start, *run.embedded, *biases(model))
        assert sum(parts) == pytest.approx(float(start.sum()), rel=1e-4)


class Recording(Epsilon):
    """Remember the sums of residual connections: the states between sub-layers, in the order of the pass."""

    def __init__(self):
        super().__init__(1e-12)
        self.sums = []

    def add(self, first, second):
        self.sums.append(super().add(first, second))
        return self.sums[-1]


def test_relevance_is_conserved_at_each_layer_boundary():
    model, rule = make_model(), Recording()
    run = Pass(model, rule, SOURCE, TARGET)
    logits = run.top_logits()
    start = rule.start(logits)[:, 1]
    whole = float(start.sum())
    encoder, decoder = rule.sums[1:4:2], rule.sums[6::3]  # states after the whole layers
    for layer, states in enumerate(encoder):
        above = [*biases(model.decoder), *biases(model.encoder.norm)]
        above += [bias for part in model.encoder.layers[layer + 1 :] for bias in biases(part)]
        assert sum(received(logits[:, 1], start, run.embedded[1], states, *above)) == pytest.approx(whole, rel=1e-4)
    # the top decoder states get everything; below them, what goes to the source has left
    on_top = received(logits[:, 1], start, decoder[-1], *biases(model.decoder.norm))
    assert sum(on_top) == pytest.approx(whole, rel=1e-4)


def test_relevance_is_conserved_at_decoder_boundaries_without_a_source(rule):
    model, recording = make_model(kept={"decoder_cross": [[], []]}), Recording()
    run = Pass(model, recording, SOURCE, TARGET)
    logits = run.top_logits()
    start = recording.start(logits)[:, 1]
    for layer, states in enumerate(recording.sums[6::3]):
        above = [bias for part in (*model.decoder.layers[layer + 1 :], model.decoder.norm) for bias in biases(part)]
        parts = received(logits[:, 1], start, states, *above)
        assert sum(parts) == pytest.approx(float(start.sum()), rel=1e-4)


def test_a_meter_reads_the_relevance_that_passes_the_head():
    model, rule = make_model(), Epsilon(1e-12)
    seen = []

    class Watching(Epsilon):
        def meter(self, inputs, gauge):
            seen.append(super().meter(inputs, gauge))
            return seen[-1]

    run = Pass(model, Watching(1e-12), SOURCE, TARGET)
    logits = run.top_logits()
    relevance = step_relevance(model, rule, SOURCE, TARGET)
    for (place, read), outputs in zip(relevance.items(), seen, strict=True):
        (passing,) = torch.autograd.grad(logits[:, 1], outputs, rule.start(logits)[:, 1], retain_graph=True)
        torch.testing.assert_close(read[:, 1], passing.sum((2, 3)), msg=str(place))


class Constants(Gradient):
    """Ordinary derivatives of the network whose attention weights and norm scales are constants."""

    def weights(self, weights):
        return weights.detach()

    def norm(self, inputs, norm):
        sd = (inputs.var(-1, unbiased=False, keepdim=True) + norm.eps).sqrt().detach()
        return (inputs - inputs.mean(-1, keepdim=True)) / sd * norm.weight + norm.bias


@pytest.mark.parametrize("settings", ["pre", "post"])
def test_epsilon_relevance_is_gradient_times_activation_with_constant_factors(settings):
    model = make_model(**MODELS[settings])
    ours = step_relevance(model, Epsilon(1e-12), SOURCE, TARGET)
    for place, expected in step_relevance(model, Constants(), SOURCE, TARGET).items():
        torch.testing.assert_close(ours[place], expected, rtol=1e-6, atol=1e-8)


class Factors(nn.Module):
    def __init__(self, heads):
        super().__init__()
        self.factors = nn.Parameter(torch.ones(heads, dtype=torch.float64))

    def forward(self):
        return self.factors


@pytest.mark.parametrize("settings", ["pre", "learned", "removed"])
def test_gradient_times_activation_is_the_gradient_of_a_gate(settings):
    model = make_model(**MODELS[settings])
    found = step_relevance(model, Gradient(), SOURCE, TARGET)
    attentions = {place: attention for place, attention in model.attentions().items() if attention.kept}
    for attention in attentions.values():
        attention.gate = Factors(len(attention.kept))
    for step in range(TARGET.shape[1]):
        top = model(SOURCE, TARGET).amax(-1)[:, step]  # [batch]
        gates = [attention.gate.factors for attention in attentions.values()]
        for sentence, logit in enumerate(top):
            if TARGET[sentence, step] == PAD:
                continue
            gradients = torch.autograd.grad(logit, gates, retain_graph=True, materialize_grads=True)
            for place, gradient in zip(attentions, gradients, strict=True):
                torch.testing.assert_close(found[place][sentence, step], gradient)


def test_a_head_that_the_output_ignores_is_irrelevant(rule):
    model = make_model()
    closed, unread = ("encoder", 1), ("decoder_cross", 0)
    model.attentions()[closed].gate = FixedGate([1.0, 0.0, 1.0, 1.0]).double()
    with torch.no_grad():
        model.attentions()[unread].output.weight[:, 8:12] = 0.0
    relevance = step_relevance(model, rule, SOURCE, TARGET)
    assert (relevance[closed][:, :2] != 0).any(1).tolist() == [[True, False, True, True]] * 3
    assert (relevance[unread][:, :2] != 0).any(1).tolist() == [[True, True, False, True]] * 3


def test_an_encoder_that_nobody_reads_is_irrelevant(rule):
    model = make_model(kept={"decoder_self": [[], []], "decoder_cross": [[], []]})
    relevance = step_relevance(model, rule, SOURCE, TARGET)
    assert list(relevance) == [("encoder", 0), ("encoder", 1)]
    assert not any(part.any() for part in relevance.values())


def test_a_model_without_heads_has_none_to_explain(rule):
    model = make_model(kept={kind: [[], []] for kind in ATTENTION_TYPES})
    assert step_relevance(model, rule, SOURCE, TARGET) == {}


def test_a_closed_head_is_a_removed_head(rule):
    model = make_model()
    kept = {kind: [[0, 2, 3], [1]] for kind in ATTENTION_TYPES}
    state, config = remove_heads(model.state_dict(), model.config, kept)
    smaller = Transformer(config).double().eval()
    smaller.load_state_dict(state)
    for (kind, layer), attention in model.attentions().items():
        attention.gate = FixedGate.keeping(kept[kind][layer], range(4)).double()
    masked = step_relevance(model, rule, SOURCE, TARGET)
    for (kind, layer), relevance in step_relevance(smaller, rule, SOURCE, TARGET).items():
        torch.testing.assert_close(masked[kind, layer][..., kept[kind][layer]], relevance)


@pytest.mark.parametrize("rules", [Gradient(), *RULES.values()], ids=["gradient", *RULES])
def test_a_sentence_is_explained_as_if_it_were_alone(rules):
    model = make_model()
    together = step_relevance(model, rules, SOURCE, TARGET)
    for sentence in range(len(SOURCE)):
        source, target = (side[sentence, side[sentence] != PAD][None] for side in (SOURCE, TARGET))
        for place, alone in step_relevance(model, rules, source, target).items():
            torch.testing.assert_close(together[place][sentence, : target.shape[1]], alone[0])


def test_a_step_does_not_know_what_comes_later(rule):
    model, other = make_model(), TARGET.clone()
    other[:, 2:] = 17
    before, after = (step_relevance(model, rule, SOURCE, target) for target in (TARGET, other))
    for place, relevance in before.items():
        torch.testing.assert_close(relevance[:, :2], after[place][:, :2])


def test_noise_takes_no_part_and_the_model_is_as_before():
    model = make_model()
    model.attentions()["encoder", 0].gate = HardConcreteGate(
        4, initial_log_alpha=0.1, temperature=0.33, low=-0.1, high=1.1
    ).double()
    model.train()
    model.embedding.requires_grad_(False)
    flags = [parameter.requires_grad for parameter in model.parameters()]
    with frozen(model):
        first, second = (step_relevance(model, AlphaBeta(), SOURCE, TARGET) for _ in range(2))
        assert not any(parameter.requires_grad for parameter in model.parameters())
    assert all(torch.equal(part, second[place]) for place, part in first.items())
    with pytest.raises(KeyError), frozen(model):
        raise KeyError
    assert model.training
    assert [parameter.requires_grad for parameter in model.parameters()] == flags

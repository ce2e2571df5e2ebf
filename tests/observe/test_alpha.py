import torch

from headcount.model.shape import ModelConfig
from headcount.model.transformer import Transformer
from headcount.observe.alpha import AlphaHook


def make_model(normalisers):
    return Transformer(
        ModelConfig(
            vocabulary=8,
            layers_encoder=1,
            layers_decoder=2,
            width=8,
            heads=2,
            feed_forward=8,
            norm="pre",
            tie_embeddings=True,
            dropout=0.0,
            attention_dropout=0.0,
            normalisers=normalisers,
        )
    )


def test_alpha_is_reported_by_type_layer_and_head_as_it_changes():
    model = make_model({"encoder": "entmax_alpha", "decoder_self": "entmax15", "decoder_cross": "entmax_alpha"})
    hook = AlphaHook()
    hook.start(model, 0)
    before = hook.after_step(1)["alpha"]
    assert {kind: [len(layer) for layer in layers] for kind, layers in before.items()} == {
        "encoder": [2],
        "decoder_cross": [2, 2],
    }
    normaliser = model.attentions()["decoder_cross", 1].normaliser
    with torch.no_grad():
        normaliser.a.fill_(0.0)
    after = hook.after_step(2)["alpha"]
    assert after["decoder_cross"][1] == [1.5, 1.5]
    assert after["encoder"] == before["encoder"]
    assert hook.loss_term(2) is None


def test_a_model_without_alpha_adds_nothing_to_the_journal():
    hook = AlphaHook()
    hook.start(make_model({}), 0)
    assert hook.after_step(1) == {}

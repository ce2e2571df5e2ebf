"""A Marian model of transformers in the size of one of ours."""

from torch import nn
from transformers import MarianConfig, MarianMTModel


def build(config, specials):
    """Return a MarianMTModel with the sizes, dropouts and special pieces of our model."""
    model = MarianMTModel(
        MarianConfig(
            vocab_size=config["vocabulary"],
            max_position_embeddings=256,
            d_model=config["width"],
            encoder_layers=config["layers_encoder"],
            decoder_layers=config["layers_decoder"],
            encoder_attention_heads=config["heads"],
            decoder_attention_heads=config["heads"],
            encoder_ffn_dim=config["feed_forward"],
            decoder_ffn_dim=config["feed_forward"],
            activation_function="relu",
            dropout=config["dropout"],
            activation_dropout=config["dropout"],
            attention_dropout=config["attention_dropout"],
            scale_embedding=True,
            pad_token_id=specials["pad"],
            bos_token_id=specials["bos"],
            eos_token_id=specials["eos"],
            decoder_start_token_id=specials["bos"],
            forced_eos_token_id=None,
            attn_implementation="sdpa",
        )
    )
    for module in model.modules():
        if isinstance(module, nn.LayerNorm):
            module.eps = 1e-6  # ours
    return model

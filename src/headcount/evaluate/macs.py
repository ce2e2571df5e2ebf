"""Multiply-accumulates of the matrix products of decoding, and the speed-up that they alone would allow.

What is counted is one sentence by itself, without padding: the encoder and the decoder's keys and values of the source
once, then a query of each hypothesis and step, with cached keys; in a beam a query is multiplied with the keys of all
hypotheses of its sentence (`model.cache`). Left out are the embeddings, which are looked up, and all that is no matrix
product: softmax, norms, moving the cache, the search (behnke2020, speed). Free of torch.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from headcount.heads import count
from headcount.model.shape import ModelConfig


@dataclass(frozen=True)
class Macs:
    """Multiply-accumulates by what they compute; two floating-point operations each.

    Attributes:
        projections: queries, keys, values and outputs of the attentions.
        attention: scores and mixed values.
        feed_forward: both maps of the feed-forward sub-layers.
        output: logits of the vocabulary.

    """

    projections: int
    attention: int
    feed_forward: int
    output: int

    def __add__(self, other: Macs) -> Macs:
        """Add part by part."""
        return Macs(
            self.projections + other.projections,
            self.attention + other.attention,
            self.feed_forward + other.feed_forward,
            self.output + other.output,
        )

    @property
    def total(self) -> int:
        """All parts."""
        return self.projections + self.attention + self.feed_forward + self.output


def encoding(config: ModelConfig, source: int) -> Macs:
    """Count what is done once for a sentence of `source` pieces: encoder, keys and values for the cross-attentions."""
    channels = _channels(config)
    return Macs(
        projections=source * config.width * (4 * channels["encoder"] + 2 * channels["decoder_cross"]),
        attention=2 * source * source * channels["encoder"],
        feed_forward=source * config.layers_encoder * _feed_forward(config),
        output=0,
    )


def decoding(config: ModelConfig, source: int, queries: int, keys: int) -> Macs:
    """Count the decoder's steps.

    Args:
        config: of the model.
        source: pieces that every query sees in the cross-attentions.
        queries: positions that are decoded, of all hypotheses.
        keys: with which they are multiplied in the self-attentions, summed over the queries.

    """
    channels = _channels(config)
    return Macs(
        projections=queries * config.width * (4 * channels["decoder_self"] + 2 * channels["decoder_cross"]),
        attention=2 * (keys * channels["decoder_self"] + queries * source * channels["decoder_cross"]),
        feed_forward=queries * config.layers_decoder * _feed_forward(config),
        output=queries * config.width * config.vocabulary,
    )


def translation(config: ModelConfig, source: int, steps: int, beam: int) -> Macs:
    """Count the search for one translation: one hypothesis in the first step, `beam` in each of the others.

    Args:
        config: of the model.
        source: pieces of the source, EOS included.
        steps: pieces of the translation, EOS included.
        beam: hypotheses.

    """
    queries = 1 + beam * (steps - 1)
    keys = 1 + sum(beam * (1 + beam * (step - 1)) for step in range(2, steps + 1))  # of all hypotheses so far
    return encoding(config, source) + decoding(config, source, queries, keys)


def ceiling(dense: ModelConfig, model: ModelConfig, lengths: Iterable[tuple[int, int]], beam: int) -> float:
    """Return the speed-up of `model` over `dense` if time went into matrix products only.

    `lengths` are pieces of source and translation of some sentences, EOS included in both.
    """
    before = after = 0
    for source, steps in lengths:
        before += translation(dense, source, steps, beam).total
        after += translation(model, source, steps, beam).total
    return before / after


def _channels(config: ModelConfig) -> dict[str, int]:
    """Return the channels of the heads that are left, summed over the layers of each attention type."""
    return {kind: heads * config.head_width for kind, heads in count(config.kept).items()}


def _feed_forward(config: ModelConfig) -> int:
    return 2 * config.width * config.feed_forward

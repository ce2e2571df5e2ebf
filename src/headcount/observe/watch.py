"""One teacher-forced pass of a model over a corpus that shows every attention map once and keeps none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from headcount.data.batching import make_batch, sorted_batches
from headcount.data.encoded import Encoded
from headcount.data.packing import Indices
from headcount.errors import UserError
from headcount.model.attention import Observer
from headcount.model.transformer import Transformer
from headcount.vocabulary import EOS, PAD


@dataclass(frozen=True)
class AttentionMap:
    """The weights of one attention for one batch, before dropout, with the pieces that attend and are attended to.

    Attributes:
        attention: attention type.
        layer: counted from 0.
        weights: [batch, head, query, key], float64; heads in the order of the model's kept ids.
        query_tokens: [batch, query], what is fed to the querying side.
        key_tokens: [batch, key].
        sentences: [batch] numbers of the sentences in the corpus; one array for all maps of a batch.

    """

    attention: str
    layer: int
    weights: Tensor
    query_tokens: Tensor
    key_tokens: Tensor
    sentences: Indices

    @property
    def queries(self) -> Tensor:
        """Real query positions, [batch, query]."""
        return self.query_tokens != PAD

    @property
    def keys(self) -> Tensor:
        """Real key positions, [batch, key]."""
        return self.key_tokens != PAD

    @property
    def word_queries(self) -> Tensor:
        """Real query positions other than EOS, [batch, query]."""
        return self.queries & (self.query_tokens != EOS)

    @property
    def word_keys(self) -> Tensor:
        """Real key positions other than EOS, [batch, key]."""
        return self.keys & (self.key_tokens != EOS)

    @property
    def allowed(self) -> Tensor:
        """Pairs of a real query and a real key that it may attend to, [batch, query, key]."""
        pairs = self.queries[:, :, None] & self.keys[:, None]
        return pairs.tril() if self.attention == "decoder_self" else pairs


def watch(
    model: Transformer, corpus: Encoded, *, sentences_per_batch: int, see: Callable[[AttentionMap], None]
) -> None:
    """Run the model over the corpus in evaluation mode and hand every attention map to `see`.

    The decoder reads BOS and the reference without its EOS, so EOS is a query and a key of the source side only. The
    model's mode and observers are as before when the pass ends, also by an error.

    Raises:
        UserError: the corpus is empty.

    """
    if not len(corpus):
        raise UserError("the corpus has no sentence pairs to observe; run `headcount prepare` again")
    device = model.output_weight.device
    attentions = model.attentions()
    observers = {place: attention.observer for place, attention in attentions.items()}
    training = model.training
    model.eval()
    try:
        for ids in sorted_batches(corpus, sentences_per_batch=sentences_per_batch):
            batch = make_batch(corpus, ids).to(device)
            source, target = batch.source, batch.target_input
            sides = {"encoder": (source, source), "decoder_self": (target, target), "decoder_cross": (target, source)}
            for (kind, layer), attention in attentions.items():
                attention.observer = _observer(kind, layer, *sides[kind], batch.sentences, see)
            with torch.no_grad():
                model.hidden(source, target)
    finally:
        model.train(training)
        for place, attention in attentions.items():
            attention.observer = observers[place]


def _observer(
    kind: str,
    layer: int,
    query_tokens: Tensor,
    key_tokens: Tensor,
    sentences: Indices,
    see: Callable[[AttentionMap], None],
) -> Observer:
    def observe(weights: Tensor, _queries: Tensor, _keys: Tensor) -> None:
        see(AttentionMap(kind, layer, weights.double(), query_tokens, key_tokens, sentences))

    return observe

"""What a training run is measured by while it trains: loss on all of dev, greedy BLEU on its first sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import sacrebleu

from headcount.data.batching import make_batch, sorted_batches
from headcount.model.decode import translate
from headcount.train.loss import batch_loss

if TYPE_CHECKING:
    from headcount.data.encoded import Encoded
    from headcount.model.transformer import Transformer


def validate(
    model: Transformer,
    corpus: Encoded,
    references: Sequence[str],
    *,
    decode: Callable[[Sequence[Sequence[int]]], list[str]],
    smoothing: float,
    sentences_per_batch: int,
    length_ratio: float,
    length_extra: int,
    tokenizer: str,
) -> dict[str, float]:
    """Return `valid/loss` (smoothed) and `valid/nll`, in nats per target token, and `valid/bleu`.

    Args:
        model: in evaluation mode, without gradients.
        corpus: dev pairs.
        references: raw target sentences of the first dev pairs, as many as are to be decoded.
        decode: pieces to text.
        smoothing: of `valid/loss`, as in training.
        sentences_per_batch: dev pairs taken together.
        length_ratio: longest translation as a multiple of the source, plus
        length_extra: pieces.
        tokenizer: sacreBLEU's.

    """
    device = model.output_weight.device
    loss_sum, nll_sum, tokens = 0.0, 0.0, 0
    for ids in sorted_batches(corpus, sentences_per_batch=sentences_per_batch):
        batch = make_batch(corpus, ids)
        loss, nll = batch_loss(model, batch, smoothing=smoothing, device=device)
        loss_sum, nll_sum, tokens = loss_sum + loss.item(), nll_sum + nll.item(), tokens + batch.target_tokens
    translations = translate(
        model,
        [corpus.source(index).tolist() for index in range(len(references))],
        beam=1,
        length_penalty=0.0,
        max_length=(length_ratio, length_extra),
        sentences_per_batch=sentences_per_batch,
    )
    bleu = sacrebleu.corpus_bleu(decode(translations), [list(references)], tokenize=tokenizer)
    return {"valid/loss": loss_sum / tokens, "valid/nll": nll_sum / tokens, "valid/bleu": bleu.score}

"""Greedy and beam search with a cache; every sentence is searched as if it were alone.

A hypothesis ends when EOS is among the `beam` best continuations of its sentence. A sentence is finished when `beam`
hypotheses have ended, when no living one can still overtake the best ended one, or at its length limit, where every
living hypothesis has to end. Beam 1 is greedy search.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from headcount.model.products import product
from headcount.model.transformer import Transformer
from headcount.vocabulary import BOS, EOS, PAD

WEIGHTS_PER_HEAD = 2_000_000
"""Most attention weights of a batch in an encoder head, so that a very long line does not exhaust the memory."""

BLOCK = 64
"""Values of which `largest` takes the maximum at once."""


def translate(
    model: Transformer,
    sources: Sequence[Sequence[int]],
    *,
    beam: int,
    length_penalty: float,
    max_length: Callable[[int], int] | tuple[float, int],
    sentences_per_batch: int,
) -> list[list[int]]:
    """Translate sentences in evaluation mode and without gradients.

    Args:
        model: its training mode is restored afterwards.
        sources: piece ids, ending in EOS as in training; a sentence without any other piece stays empty.
        beam: hypotheses per sentence.
        length_penalty: exponent of (5 + pieces) / 6 by which log-probabilities are divided, EOS included in the pieces.
        max_length: most pieces of a translation for a source of so many pieces, EOS excluded in both; (ratio, extra)
            stands for ratio * pieces + extra.
        sentences_per_batch: sentences of similar length that are searched together.

    Returns:
        Piece ids without EOS, in the order of `sources`.

    """
    limit = max_length if callable(max_length) else _linear_limit(*max_length)
    device = model.output_weight.device
    results: list[list[int]] = [[] for _ in sources]
    was_training = model.training
    model.eval()
    try:
        with torch.no_grad():
            output_weight = model.output_weight.t().contiguous().t()  # by columns: read faster in a product of few rows
            for batch in _batches(sources, sentences_per_batch):
                longest = len(sources[batch[-1]])
                padded = torch.tensor([[*sources[i], *[PAD] * (longest - len(sources[i]))] for i in batch])
                limits = torch.tensor([limit(_pieces(sources[i])) for i in batch])
                found = _search(model, output_weight, padded.to(device), limits.to(device), beam, length_penalty)
                for sentence, pieces in zip(batch, found, strict=True):
                    results[sentence] = pieces
    finally:
        model.train(was_training)
    return results


def _pieces(source: Sequence[int]) -> int:
    """Count the pieces before EOS."""
    return len(source) - (len(source) > 0 and source[-1] == EOS)


def _linear_limit(ratio: float, extra: int) -> Callable[[int], int]:
    return lambda pieces: int(ratio * pieces) + extra


def _batches(sources: Sequence[Sequence[int]], sentences_per_batch: int) -> Iterator[list[int]]:
    """Group the sentences that are not empty by length; the last one of a batch is its longest."""
    batch: list[int] = []
    for sentence in sorted(range(len(sources)), key=lambda i: len(sources[i])):
        length = len(sources[sentence])
        if batch and (len(batch) == sentences_per_batch or (len(batch) + 1) * length**2 > WEIGHTS_PER_HEAD):
            yield batch
            batch = []
        if _pieces(sources[sentence]):
            batch.append(sentence)
    if batch:
        yield batch


def _search(
    model: Transformer, output_weight: Tensor, source: Tensor, limits: Tensor, beam: int, alpha: float
) -> list[list[int]]:
    """Search one batch: source [sentence, position], limits [sentence] on the pieces before EOS."""
    results: list[list[int]] = [[] for _ in source]
    cache = model.start(source)
    # All of the unfinished sentences. Each starts with one hypothesis and goes on with `beam`.
    sentences = torch.arange(len(source), device=source.device)  # [sentence], index into results
    pieces = torch.full((len(source), 1, 1), BOS, device=source.device)  # [sentence, hypothesis, position]
    scores = torch.zeros(len(source), 1, device=source.device)  # [sentence, hypothesis], log-probability
    best = torch.full((len(source),), -math.inf, device=source.device)  # [sentence], penalised score of the best ended
    ended = torch.zeros_like(limits)  # [sentence], number of ended hypotheses
    while len(sentences):
        length = pieces.shape[2]  # of a hypothesis that ends now, EOS included
        last = limits < length  # [sentence], every hypothesis must end now
        hidden = model.step(pieces[:, :, -1], cache)  # [sentence, hypothesis, width]
        logits = product(hidden.flatten(0, 1), output_weight).float()
        logits = logits.view(*hidden.shape[:2], -1)  # [sentence, hypothesis, vocabulary]
        candidates, parents, tokens = _continuations(logits, scores, last, beam)  # [sentence, candidate]

        # Hypotheses that end.
        ends = (tokens == EOS) & (torch.arange(tokens.shape[1], device=tokens.device) < beam)
        penalised = candidates.masked_fill(~ends, -math.inf) / _penalty(length, alpha)
        ended = ended + (penalised > -math.inf).sum(1)
        top, which = penalised.max(1)  # [sentence]
        improved = (top > best).nonzero().flatten()  # [improved sentence]
        winners = pieces[improved, parents[improved, which[improved]], 1:]  # [improved sentence, position]
        for sentence, winner in zip(sentences[improved].tolist(), winners.tolist(), strict=True):
            results[sentence] = winner
        best = torch.maximum(best, top)

        # Hypotheses that go on, and the sentences for which that can change the result.
        scores, order = candidates.masked_fill(tokens == EOS, -math.inf).topk(min(beam, tokens.shape[1]))
        parents, tokens = parents.gather(1, order), tokens.gather(1, order)  # [sentence, hypothesis]
        reachable = scores[:, 0] / _penalty(limits + 1, alpha)  # a longer hypothesis only loses log-probability
        going = (~last & (ended < beam) & (reachable > best)).nonzero().flatten()  # [unfinished sentence]

        parents = parents[going]
        pieces = torch.cat([pieces[going[:, None], parents], tokens[going, :, None]], dim=2)
        cache.select(parents, None if len(going) == len(sentences) else going)
        sentences, scores, best, ended, limits = (x[going] for x in (sentences, scores, best, ended, limits))
    return results


def _continuations(logits: Tensor, scores: Tensor, last: Tensor, beam: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return the best continuations of each sentence, best first: scores, parent hypotheses, pieces.

    There are so many that `beam` of them go on, since each hypothesis ends once; in greedy search one is enough, and
    nothing has to be normalised to find it. PAD and BOS are never produced; sentences with `last` can only end.
    """
    if beam == 1:
        candidates, totals = 1, logits  # [sentence, 1, piece]
    else:
        candidates, totals = 2 * beam, logits.log_softmax(2).add_(scores[:, :, None])  # [sentence, hypothesis, piece]
    totals[:, :, [PAD, BOS]] = -math.inf
    if last.any():
        ending = totals[last, :, EOS]  # [last sentence, hypothesis]
        totals[last] = -math.inf
        totals[last, :, EOS] = ending
    best, order = largest(totals.flatten(1), candidates)  # [sentence, candidate]
    return best, order // totals.shape[2], order % totals.shape[2]


def largest(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return what `topk` does: the `count` largest values of each row, or all if there are fewer, and their columns.

    `topk` is slow in long rows. Here it sees the `count` blocks with the largest maxima only, and what is behind the
    last whole block.
    """
    rows, columns = values.shape
    whole = columns - columns % BLOCK
    maxima = values[:, :whole].reshape(rows, -1, BLOCK).amax(2)  # [row, block]
    blocks = maxima.topk(min(count, maxima.shape[1])).indices  # [row, chosen block]
    place = torch.arange(columns, device=values.device)
    inside = (blocks[:, :, None] * BLOCK + place[:BLOCK]).flatten(1)
    inside = torch.cat([inside, place[whole:].expand(rows, -1)], dim=1)  # [row, column to look at]
    best, order = values.gather(1, inside).topk(min(count, inside.shape[1]))
    return best, inside.gather(1, order)


def _penalty(length: int | Tensor, alpha: float) -> float | Tensor:
    """((5 + length) / 6)^alpha."""
    return ((5 + length) / 6) ** alpha

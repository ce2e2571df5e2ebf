"""Which keys each query of an attention map should look at, were the head positional, syntactic or a rare-word head.

A link is a kind and a role, such as ("positional", "-1"). Its targets are a mask; a query without a target is no case.
EOS is neither query nor key; the decoder's BOS is a piece like any other. The control of every link replaces the
targets of a query by as many random other keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from headcount.data.spans import NO_WORD
from headcount.observe.labels import Labels
from headcount.observe.watch import AttentionMap
from headcount.vocabulary import PAD

Link = tuple[str, str]
"""Kind and role."""

RARE = ("rare-1", "rare-2")
"""The query looks at the least frequent piece; at one of the two least frequent (voita2019 section 5.3)."""

TO_DEPENDENT, TO_HEAD = "to_dependent", "to_head"
"""The query is the head word and looks at its dependent; the other way round (voita2019 section 5.2)."""

_Noise = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Targets:
    """What a map is compared with.

    Attributes:
        pieces: [piece link, batch, query, key] targets among the pieces.
        words: [word link, batch, query word, key word] targets among the words of the trees.
        eligible: [batch, query, key] pieces that the query may look at: neither EOS nor padding, none by EOS.
        eligible_words: [batch, query word, key word] words with pieces.
        members: [batch, key, key word] the piece belongs to the word.
        text_word: [batch, key] written word of each piece, `NO_WORD` where there is none.
        question: [batch, query, key] the query asks and the key is the question mark.

    """

    pieces: Tensor
    words: Tensor
    eligible: Tensor
    eligible_words: Tensor
    members: Tensor
    text_word: Tensor
    question: Tensor


def piece_links(offsets: Sequence[int]) -> list[Link]:
    """List the links between pieces in the order of `Targets.pieces`."""
    return [*(("positional", f"{offset:+d}") for offset in offsets), *(("rare", role) for role in RARE)]


def word_links(relations: Sequence[str]) -> list[Link]:
    """List the links between words in the order of `Targets.words`."""
    return [("syntactic", f"{relation}:{way}") for relation in relations for way in (TO_DEPENDENT, TO_HEAD)]


def targets(seen: AttentionMap, labels: Labels, offsets: Sequence[int]) -> Targets:
    """Build the targets of a self-attention; in the decoder only the offsets mean something."""
    eligible = seen.allowed & seen.word_queries[:, :, None] & seen.word_keys[:, None]  # [batch, query, key]
    place = torch.arange(eligible.shape[-1], device=eligible.device)
    distance = place - place[:, None]  # [query, key]
    wanted = torch.tensor(offsets, dtype=torch.int64, device=place.device)  # [offset]
    positional = eligible & (distance == wanted[:, None, None])[:, None]  # [offset, batch, query, key]
    nothing = eligible.new_zeros
    if seen.attention == "decoder_self":
        return Targets(
            pieces=torch.cat([positional, nothing(len(RARE), *eligible.shape)]),
            words=nothing(2 * len(labels.relations), len(eligible), 0, 0),
            eligible=eligible,
            eligible_words=nothing(len(eligible), 0, 0),
            members=nothing(len(eligible), eligible.shape[-1], 0),
            text_word=torch.full_like(seen.key_tokens, NO_WORD),
            question=nothing(eligible.shape),
        )
    batch = _Batch(labels, seen)
    rare = torch.stack([eligible & batch.pad(flags, False)[:, None] for flags in labels.rare])
    asks, mark = batch.pad(labels.asks, False), batch.pad(labels.mark, False)
    words, members = batch.words()
    present = members.any(1)  # [batch, word]
    return Targets(
        pieces=torch.cat([positional, rare]),
        words=words,
        eligible=eligible,
        eligible_words=present[:, :, None] & present[:, None],
        members=members,
        text_word=batch.pad(labels.text_word, NO_WORD),
        question=eligible & asks[:, :, None] & mark[:, None],
    )


def shuffled(gold: Tensor, eligible: Tensor, noise: Tensor) -> Tensor:
    """Replace the targets of each query by as many random keys that are neither targets nor the query itself.

    A query with too few such keys gets none and is no case of the control.

    Args:
        gold: [link, batch, query, key].
        eligible: [batch, query, key].
        noise: [batch, query, key]; the free keys of the lowest noise are drawn.

    """
    own = torch.eye(gold.shape[-1], dtype=torch.bool, device=gold.device)  # [query, key]
    free = eligible & ~gold & ~own  # [link, batch, query, key]
    wanted = gold.sum(-1, keepdim=True)  # [link, batch, query, 1]
    enough = free.sum(-1, keepdim=True) >= wanted
    rank = noise.masked_fill(~free, torch.inf).argsort(-1).argsort(-1)  # [link, batch, query, key]
    return free & enough & (rank < wanted)


def noise(tokens: Tensor, length: int, seed: int) -> Tensor:
    """Draw uniform noise [batch, query, key] for `length` queries and keys.

    It is a pure function of the seed, the sentence and the two places, whatever the batch and its padding.

    Args:
        tokens: [batch, position] the pieces of each sentence.
        length: of queries and of keys, which may be words.
        seed: another seed, other noise.

    """
    ids = tokens.cpu().numpy().astype(np.uint64)  # [batch, position]
    place = np.arange(max(ids.shape[1], length), dtype=np.uint64)
    spelled = np.where(ids != PAD, _mix(ids + (place[: ids.shape[1]] << np.uint64(32))), np.uint64(0))
    sentence = spelled.sum(1, dtype=np.uint64) + _mix(np.full(1, seed % 2**64, dtype=np.uint64))  # [batch]
    cell = _mix(place[:length, None] + (place[:length] << np.uint64(32)))  # [query, key]
    drawn = _mix(sentence[:, None, None] + cell) >> np.uint64(11)
    return torch.from_numpy(drawn.astype(np.float64) / 2**53).to(tokens.device)


def _mix(numbers: _Noise) -> _Noise:
    """Scramble 64-bit numbers one by one (the finaliser of SplitMix64)."""
    with np.errstate(over="ignore"):
        numbers = (numbers + np.uint64(0x9E3779B97F4A7C15)).astype(np.uint64)
        numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return numbers ^ (numbers >> np.uint64(31))


class _Batch:
    """The labels of the sentences of one map."""

    def __init__(self, labels: Labels, seen: AttentionMap) -> None:
        self.labels, self.sentences = labels, seen.sentences
        self.length, self.device = seen.key_tokens.shape[1], seen.key_tokens.device

    def pad(self, values: npt.NDArray[np.generic], fill: int | bool) -> Tensor:
        """Return the labels of the pieces, [batch, key]."""
        starts, ends = self.labels.starts[self.sentences], self.labels.starts[self.sentences + 1]  # [batch]
        cells = starts[:, None] + np.arange(self.length)  # [batch, key]
        padded = np.where(cells < ends[:, None], values[np.minimum(cells, len(values) - 1)], fill)
        return torch.from_numpy(padded).to(self.device)

    def words(self) -> tuple[Tensor, Tensor]:
        """Return the targets among the words [word link, batch, word, word] and the members [batch, key, word]."""
        owner = self.pad(self.labels.tree_word, NO_WORD)  # [batch, key]
        number = torch.arange(int(owner.max()) + 1, device=self.device)  # [word]
        members = owner[:, :, None] == number
        found = torch.zeros(
            (2 * len(self.labels.relations), len(owner), len(number), len(number)), dtype=torch.bool, device=self.device
        )
        pairs = self.labels.pairs
        slot = np.full(len(self.labels.starts) - 1, NO_WORD)
        slot[self.sentences] = np.arange(len(self.sentences))
        mine = slot[pairs[:, 0]] != NO_WORD
        row, relation = slot[pairs[mine, 0]], pairs[mine, 1]
        head, dependent = pairs[mine, 2], pairs[mine, 3]
        found[2 * relation, row, head, dependent] = True
        found[2 * relation + 1, row, dependent, head] = True
        return found, members

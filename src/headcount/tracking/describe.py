"""The description of a study, in Markdown: a file of its folder, which MLflow shows above the study's runs."""

from __future__ import annotations

from pathlib import Path

from headcount.config import Study
from headcount.files import atomic_write

FILE = "study.md"

METHODS: dict[str, str] = {
    "l0": "| l0, scratch, random, named, unnamed | Hard-Concrete gates on the heads of a trained model, one run per "
    "penalty λ and scope, and their controls | Voita et al., ACL 2019 |",
    "lottery": "| round, ticket, same_counts, reinit, reinit_longer | heads removed in rounds with rewinding; tickets "
    "trained to the full budget, and their controls: other heads, new initialisations | Behnke & Heafield, EMNLP "
    "2020 |",
    "entmax": "| entmax15, entmax_alpha, ... | sparse attention trained from scratch, α fixed or learnt per head | "
    "Correia et al., EMNLP 2019 |",
    "ranked": "| ranked | heads of a trained model removed by a score, the rest trained on | Michel et al., NeurIPS "
    "2019 |",
    "subset": "| subset | exactly K heads of a trained model, chosen by gradient descent | Li et al., TACL 2021 |",
    "smaller": "| smaller | dense models of less compute | |",
}


def write_note(study: Study, study_folder: Path) -> None:
    """Write the description into the study's folder, so that a store can be made again from that folder alone."""
    atomic_write(study_folder / FILE, study_note(study) + "\n")


def read_note(study_folder: Path) -> str:
    """Return the description; "" where the study was never checked."""
    path = study_folder / FILE
    return path.read_text(encoding="utf-8").strip() if path.exists() else ""


def study_note(study: Study) -> str:
    """Describe a study: what is asked, what was trained on what, and how to read the runs."""
    model, training, data = study.model, study.training, study.data
    seeds = ", ".join(str(seed) for seed in study.seeds)
    heads = (model.layers_encoder + 2 * model.layers_decoder) * model.heads
    corpus = f"{data.source}, {data.source_language} → {data.target_language}"
    further = f"; further corpora: {', '.join(study.corpora)}" if study.corpora else ""
    lines = [
        f"## {study.study}: how many attention heads does a translation model need?",
        "",
        f"- **Corpus** {corpus}; {study.subword.vocabulary:,} subword pieces; {data.test_sentences:,} test sentences"
        f"{further}",
        f"- **Model** Transformer, {model.layers_encoder} encoder and {model.layers_decoder} decoder layers, width "
        f"{model.width}, {model.heads} heads per attention, {heads} heads in all",
        f"- **Budget** {training.updates:,} updates of {training.tokens_per_batch * training.accumulate_batches:,} "
        f"tokens for every model trained from scratch; seeds {seeds}",
        "",
        "| method | what it is | paper |",
        "| --- | --- | --- |",
        "| baseline | softmax attention, all heads | |",
        *(METHODS[method] for method in study.methods),
        "",
        "**Reading the runs.** One run per run folder; group by the tags `corpus`, `method`, `seed`, `scope`. "
        "Lottery rounds hang under `lottery-s<seed>` of their corpus; `summary` carries tables, figures and report.",
        "",
        "**Metrics.** `score/bleu` is the test set's, between `score/bleu_low` and `score/bleu_high` (95 % bootstrap); "
        "`heads/total` are the heads left, `heads/kept` those left while gates close; `cost/seconds` is training time. "
        "`train/` and `valid/` are curves over optimiser updates, those under `lottery/` over rounds.",
        "",
        "This is a view of the run folders: it can be deleted and rebuilt with `headcount track`.",
    ]
    return "\n".join(lines)

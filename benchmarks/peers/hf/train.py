"""Train a MarianMTModel of transformers on our batches in a plain loop with fused Adam; prints one JSON line."""

import json
import sys
from pathlib import Path

import torch
import torch.nn.functional as F  # noqa: N812
import transformers
from marian import build

sys.path.insert(0, str(Path(__file__).parents[1]))
from stamps import Stamps


def main(folder):
    """Make the updates of the task."""
    torch.set_num_threads(1)
    torch.manual_seed(1)
    task = json.loads((Path(folder) / "task.json").read_text(encoding="utf-8"))
    pad, bos = task["specials"]["pad"], task["specials"]["bos"]
    model = build(task["config"], task["specials"]).train()
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), fused=True)
    warm_up, last = task["updates"]
    stamps = Stamps(last, f"transformers {transformers.__version__}, torch {torch.__version__}")
    batches = [[torch.tensor(side) for side in batch] for batch in task["batches"]]
    for update, (source, target) in enumerate(batches, start=1):
        shifted = torch.full_like(target, bos)
        shifted[:, 1:] = target[:, :-1]
        logits = model(
            input_ids=source,
            attention_mask=(source != pad).long(),
            decoder_input_ids=shifted,
            use_cache=False,
        ).logits
        loss = F.cross_entropy(
            logits.flatten(0, 1), target.flatten(), ignore_index=pad, label_smoothing=task["label_smoothing"]
        )
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        tokens = int((target != pad).sum())
        if update >= warm_up:
            stamps.report(update, tokens)


main(sys.argv[1])

"""Decode the task of a folder with `generate` of transformers; prints one JSON line."""

import json
import sys
from pathlib import Path

import torch
import transformers
from marian import build
from task import marian_names, read

sys.path.insert(0, str(Path(__file__).parents[1]))
from searches import timed


def main(folder):
    """Print sentences per CPU-second and pieces."""
    torch.set_num_threads(1)
    task, weights = read(folder)
    specials = task["specials"]
    model = build(task["config"], specials).eval()
    state = {name: torch.from_numpy(value) for name, value in marian_names(weights).items()}
    missing = model.load_state_dict(state, strict=False)
    assert not missing.unexpected_keys, missing
    model.tie_weights()

    def search(sources, steps, beam):
        longest = max(map(len, sources))
        ids = torch.tensor([[*source, *[specials["pad"]] * (longest - len(source))] for source in sources])
        with torch.inference_mode():
            found = model.generate(
                input_ids=ids,
                attention_mask=(ids != specials["pad"]).long(),
                num_beams=beam,
                max_new_tokens=steps,
                do_sample=False,
                **({"length_penalty": 0.0, "early_stopping": True} if beam > 1 else {}),
            )
        return found[:, 1:].tolist()

    rates, pieces = timed(search, task["batches"])
    result = {
        "rates": rates,
        "pieces": pieces,
        "version": f"transformers {transformers.__version__}, torch {torch.__version__}",
        "what": {"beam4": "MarianMTModel.generate, SDPA attention, inference mode, early_stopping=True"},
        "not_equal": "ours ends every hypothesis in the last step, generate cuts them off there",
    }
    sys.stdout.write(json.dumps(result) + "\n")


main(sys.argv[1])

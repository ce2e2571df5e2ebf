"""Train with the command line of eole; prints one JSON line at the last update."""

import json
import sys
from importlib.metadata import version
from pathlib import Path

import yaml

sys.path.insert(0, str(Path(__file__).parents[1]))
from stamps import Stamps

BATCH = 1.12
"""Its batches count BOS and EOS too: so much larger, they hold as many target tokens as ours."""


def write_config(folder, task):
    """Write vocabulary and configuration; return the path of the latter."""
    own = folder / "eole"
    own.mkdir(exist_ok=True)
    vocabulary = own / "vocabulary"
    pieces = (folder / "text" / "pieces").read_text(encoding="utf-8")
    vocabulary.write_text("<unk>\n<blank>\n<s>\n</s>\n" + pieces, encoding="utf-8")
    config, text = task["config"], folder / "text"
    warm_up, last = task["updates"]
    values = {
        "src_vocab": str(vocabulary),
        "tgt_vocab": str(vocabulary),
        "share_vocab": True,
        "vocab_size_multiple": 1,
        "src_vocab_size": config["vocabulary"],
        "tgt_vocab_size": config["vocabulary"],
        "overwrite": True,
        "report_every": warm_up,
        "seed": 1,
        "data": {"corpus": {"path_src": str(text / "train.source"), "path_tgt": str(text / "train.target")}},
        "transforms": [],
        "training": {
            "model_path": str(own / "model"),
            "batch_type": "tokens",
            "batch_size": round(BATCH * task["tokens_per_batch"]),
            "batch_size_multiple": 1,
            "bucket_size": 36000,
            "num_workers": 0,
            "world_size": 1,
            "gpu_ranks": [],
            "normalization": "tokens",
            "accum_count": [1],
            "optim": "adam",
            "adam_beta1": 0.9,
            "adam_beta2": 0.98,
            "learning_rate": 0.0001,
            "max_grad_norm": 1.0,
            "dropout": [config["dropout"]],
            "attention_dropout": [config["attention_dropout"]],
            "label_smoothing": task["label_smoothing"],
            "log_attention_entropy": False,
            "compute_dtype": "fp32",
            "train_steps": last,
            "valid_steps": 10 * last,
            "save_checkpoint_steps": 10 * last,
        },
        "model": {
            "architecture": "transformer",
            "layers": config["layers_encoder"],
            "hidden_size": config["width"],
            "heads": config["heads"],
            "transformer_ff": config["feed_forward"],
            "share_embeddings": True,
            "share_decoder_embeddings": True,
            "embeddings": {
                "word_vec_size": config["width"],
                "position_encoding": True,
                "position_encoding_type": "SinusoidalInterleaved",
            },
        },
    }
    path = own / "config.yaml"
    path.write_text(yaml.safe_dump(values), encoding="utf-8")
    return path


def main(folder):
    """Run `eole train`, listening to its reports."""
    task = json.loads((folder / "task.json").read_text(encoding="utf-8"))
    config = write_config(folder, task)
    from eole.bin.main import main as command
    from eole.utils.statistics import Statistics

    stamps = Stamps(task["updates"][1], f"eole {version('eole')}")
    output = Statistics.output

    def listen(self, step, *arguments):
        output(self, step, *arguments)
        stamps.report(step, self.n_tokens)

    Statistics.output = listen
    sys.argv = ["eole", "train", "-config", str(config)]
    command()


main(Path(sys.argv[1]))

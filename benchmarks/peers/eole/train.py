"""Train with the command line of eole; prints one JSON line at the last update."""

import sys
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from onmt_options import of_corpus, of_model, of_training, train
from toolkit import prepared, read, written


def write_config(folder, task):
    """Write vocabulary and configuration; return the path of the latter."""
    own, vocabulary = prepared(folder, "eole", "<blank>")
    values = {
        **of_corpus(folder, task, vocabulary),
        "transforms": [],
        "training": {
            "model_path": str(own / "model"),
            **of_training(task),
            "log_attention_entropy": False,
            "compute_dtype": "fp32",
        },
        "model": {
            "architecture": "transformer",
            **of_model(task),
            "embeddings": {
                "word_vec_size": task["config"]["width"],
                "position_encoding": True,
                "position_encoding_type": "SinusoidalInterleaved",
            },
        },
    }
    return written(own, values)


def main(folder):
    """Run `eole train`."""
    task = read(folder)
    config = write_config(folder, task)
    from eole.bin.main import main as command
    from eole.utils.statistics import Statistics

    arguments = ["eole", "train", "-config", str(config)]
    train(command, arguments, task, Statistics, "n_tokens", f"eole {version('eole')}")


main(Path(sys.argv[1]))

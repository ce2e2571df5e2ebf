"""Train with the command line of joeynmt; prints one JSON line at the last update."""

import sys
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from stamps import Stamps
from toolkit import prepared, read, written

WARM_UP, LAST = 2, 8
"""Updates; its batches are not sorted by length, so that one lasts several times as long as those of others."""


def write_config(folder, task):
    """Write vocabulary and configuration; return the path of the latter."""
    own, vocabulary = prepared(folder, "joeynmt", "<pad>")
    for part in ("train", "dev"):
        for side in ("source", "target"):
            link = own / f"{part}.{side}"
            link.unlink(missing_ok=True)
            link.symlink_to(folder / "text" / f"{part}.{side}")
    config = task["config"]
    side = {"max_length": 200, "level": "word", "voc_limit": config["vocabulary"], "voc_file": str(vocabulary)}
    stack = {
        "type": "transformer",
        "num_layers": config["layers_encoder"],
        "num_heads": config["heads"],
        "embeddings": {"embedding_dim": config["width"], "scale": True, "dropout": config["dropout"]},
        "hidden_size": config["width"],
        "ff_size": config["feed_forward"],
        "dropout": config["dropout"],
        "layer_norm": "pre",
    }
    values = {
        "name": "bench",
        "joeynmt_version": "2.3.0",
        "model_dir": str(own / "model"),
        "use_cuda": False,
        "fp16": False,
        "random_seed": 1,
        "num_workers": 0,
        "data": {
            "train": str(own / "train"),
            "dev": str(own / "dev"),
            "dataset_type": "plain",
            "src": {"lang": "source", **side},
            "trg": {"lang": "target", **side},
        },
        "testing": {"beam_size": 1, "batch_size": 20, "batch_type": "sentence"},
        "training": {
            "optimizer": "adam",
            "adam_betas": [0.9, 0.98],
            "learning_rate": 0.0001,
            "scheduling": "warmupinversesquareroot",
            "learning_rate_warmup": 100,
            "loss": "crossentropy",
            "label_smoothing": task["label_smoothing"],
            "normalization": "tokens",
            "clip_grad_norm": 1.0,
            "batch_size": task["tokens_per_batch"],
            "batch_type": "token",
            "batch_multiplier": 1,
            "epochs": 1,
            "updates": LAST,
            "validation_freq": 1000,
            "logging_freq": WARM_UP,
            "overwrite": True,
            "shuffle": True,
            "print_valid_sents": [],
        },
        "model": {
            "initializer": "xavier_uniform",
            "embed_initializer": "xavier_uniform",
            "bias_initializer": "zeros",
            "tied_embeddings": True,
            "tied_softmax": True,
            "encoder": stack,
            "decoder": stack,
        },
    }
    return written(own, values)


def main(folder):
    """Run `joeynmt train`, listening to its reports."""
    task = read(folder)
    config = write_config(folder, task)
    from joeynmt.__main__ import main as command
    from joeynmt.training import TrainManager

    stamps = Stamps(LAST, f"joeynmt {version('joeynmt')}")
    log_scores = TrainManager._log_scores

    def listen(self, epoch, seconds, start_tokens, *arguments):
        log_scores(self, epoch, seconds, start_tokens, *arguments)
        stamps.report(self.stats.steps, int(self.stats.total_tokens - start_tokens))

    TrainManager._log_scores = listen
    sys.argv = ["joeynmt", "train", str(config), "--skip-test"]
    command()


main(Path(sys.argv[1]))

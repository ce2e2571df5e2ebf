"""What eole took over from OpenNMT-py: the names of its options, and the reports of its training."""

import sys

from stamps import Stamps

BATCH = 1.12
"""Their batches count BOS and EOS too: so much larger, they hold as many target tokens as ours."""


def of_corpus(folder, task, vocabulary):
    """Return the options of the corpus and its pieces, the same on both sides."""
    text, pieces = folder / "text", task["config"]["vocabulary"]
    return {
        "src_vocab": str(vocabulary),
        "tgt_vocab": str(vocabulary),
        "share_vocab": True,
        "vocab_size_multiple": 1,
        "src_vocab_size": pieces,
        "tgt_vocab_size": pieces,
        "overwrite": True,
        "report_every": task["updates"][0],
        "seed": 1,
        "data": {"corpus": {"path_src": str(text / "train.source"), "path_tgt": str(text / "train.target")}},
    }


def of_training(task):
    """Return the options of batches and optimisation; nothing is validated or saved."""
    config, (_, last) = task["config"], task["updates"]
    return {
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
        "train_steps": last,
        "valid_steps": 10 * last,
        "save_checkpoint_steps": 10 * last,
    }


def of_model(task):
    """Return the options of the model's sizes; embeddings and output are one matrix."""
    config = task["config"]
    return {
        "layers": config["layers_encoder"],
        "hidden_size": config["width"],
        "heads": config["heads"],
        "transformer_ff": config["feed_forward"],
        "share_embeddings": True,
        "share_decoder_embeddings": True,
    }


def train(command, arguments, task, statistics, target_tokens, version):
    """Run the command, listening to its reports: `target_tokens` is the counter of the class `statistics`."""
    stamps = Stamps(task["updates"][1], version)
    output = statistics.output

    def listen(self, step, *others):
        output(self, step, *others)
        stamps.report(step, getattr(self, target_tokens))

    statistics.output = listen
    sys.argv = arguments
    command()

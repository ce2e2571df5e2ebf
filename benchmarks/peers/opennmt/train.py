"""Train with the command line of OpenNMT-py; prints one JSON line at the last update."""

import json
import sys
import types
from importlib.metadata import version
from pathlib import Path

import yaml

sys.path.insert(0, str(Path(__file__).parents[1]))
from stamps import Stamps

sys.modules["spacy"] = types.ModuleType("spacy")  # imported by a transform that is not used here

BATCH = 1.12
"""Its batches count BOS and EOS too: so much larger, they hold as many target tokens as ours."""


def write_config(folder, task):
    """Write vocabulary and configuration; return the path of the latter."""
    own = folder / "opennmt"
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
        "src_vocab_size": config["vocabulary"],
        "tgt_vocab_size": config["vocabulary"],
        "vocab_size_multiple": 1,
        "overwrite": True,
        "report_every": warm_up,
        "seed": 1,
        "data": {"corpus": {"path_src": str(text / "train.source"), "path_tgt": str(text / "train.target")}},
        "save_model": str(own / "model"),
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
        "encoder_type": "transformer",
        "decoder_type": "transformer",
        "layers": config["layers_encoder"],
        "hidden_size": config["width"],
        "word_vec_size": config["width"],
        "heads": config["heads"],
        "transformer_ff": config["feed_forward"],
        "position_encoding": True,
        "share_embeddings": True,
        "share_decoder_embeddings": True,
        "add_qkvbias": True,
    }
    path = own / "config.yaml"
    path.write_text(yaml.safe_dump(values), encoding="utf-8")
    return path


def main(folder):
    """Run `onmt_train`, listening to its reports."""
    task = json.loads((folder / "task.json").read_text(encoding="utf-8"))
    config = write_config(folder, task)
    from onmt.bin.train import main as command
    from onmt.utils.statistics import Statistics

    stamps = Stamps(task["updates"][1], f"OpenNMT-py {version('OpenNMT-py')}")
    output = Statistics.output

    def listen(self, step, *arguments):
        output(self, step, *arguments)
        stamps.report(step, self.n_words)

    Statistics.output = listen
    sys.argv = ["onmt_train", "-config", str(config)]
    command()


main(Path(sys.argv[1]))

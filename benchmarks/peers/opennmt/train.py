"""Train with the command line of OpenNMT-py; prints one JSON line at the last update."""

import sys
import types
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from onmt_options import of_corpus, of_model, of_training, train
from toolkit import prepared, read, written

sys.modules["spacy"] = types.ModuleType("spacy")  # imported by a transform that is not used here


def write_config(folder, task):
    """Write vocabulary and configuration; return the path of the latter."""
    own, vocabulary = prepared(folder, "opennmt", "<blank>")
    values = {
        **of_corpus(folder, task, vocabulary),
        "save_model": str(own / "model"),
        **of_training(task),
        "encoder_type": "transformer",
        "decoder_type": "transformer",
        **of_model(task),
        "word_vec_size": task["config"]["width"],
        "position_encoding": True,
        "add_qkvbias": True,
    }
    return written(own, values)


def main(folder):
    """Run `onmt_train`."""
    task = read(folder)
    config = write_config(folder, task)
    from onmt.bin.train import main as command
    from onmt.utils.statistics import Statistics

    arguments = ["onmt_train", "-config", str(config)]
    train(command, arguments, task, Statistics, "n_words", f"OpenNMT-py {version('OpenNMT-py')}")


main(Path(sys.argv[1]))

"""What the toolkits with a command line of their own are given: a task, a vocabulary, a configuration file."""

import json

import yaml


def read(folder):
    """Return the task of a folder."""
    return json.loads((folder / "task.json").read_text(encoding="utf-8"))


def prepared(folder, toolkit, padding):
    """Return a folder for a toolkit's own files and the vocabulary in it, specials first."""
    own = folder / toolkit
    own.mkdir(exist_ok=True)
    vocabulary = own / "vocabulary"
    pieces = (folder / "text" / "pieces").read_text(encoding="utf-8")
    vocabulary.write_text(f"<unk>\n{padding}\n<s>\n</s>\n{pieces}", encoding="utf-8")
    return own, vocabulary


def written(own, values):
    """Write the configuration and return its path."""
    path = own / "config.yaml"
    path.write_text(yaml.safe_dump(values), encoding="utf-8")
    return path

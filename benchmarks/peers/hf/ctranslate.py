"""Decode the task of a folder with CTranslate2, as float32 and as int8; prints one JSON line."""

import json
import sys
import tempfile
from pathlib import Path

import ctranslate2
import numpy as np
from ctranslate2.converters.utils import fuse_linear
from ctranslate2.specs import TransformerSpec, common_spec
from task import marian_names, read

sys.path.insert(0, str(Path(__file__).parents[1]))
from searches import timed


def specify(config, weights):
    """Return the specification of a Marian model with these weights."""
    spec = TransformerSpec.from_config(
        (config["layers_encoder"], config["layers_decoder"]),
        config["heads"],
        pre_norm=False,
        activation=common_spec.Activation.RELU,
    )
    positions = _sinusoids(256, config["width"])
    for stack, name in ((spec.encoder, "encoder"), (spec.decoder, "decoder")):
        embeddings = stack.embeddings[0] if name == "encoder" else stack.embeddings
        embeddings.weight = weights["model.shared.weight"]
        stack.position_encodings.encodings = positions
        for number, layer in enumerate(stack.layer):
            place = f"model.{name}.layers.{number}"
            _attention(layer.self_attention, weights, f"{place}.self_attn", itself=True)
            if name == "decoder":
                _attention(layer.attention, weights, f"{place}.encoder_attn", itself=False)
            _linear(layer.ffn.linear_0, weights, f"{place}.fc1")
            _linear(layer.ffn.linear_1, weights, f"{place}.fc2")
            _norm(layer.ffn.layer_norm, weights, f"{place}.final_layer_norm")
    spec.decoder.projection.weight = weights["model.shared.weight"]
    names = [str(piece) for piece in range(config["vocabulary"])]
    names[1], names[2], names[3] = "<unk>", "<s>", "</s>"
    spec.register_source_vocabulary(names)
    spec.register_target_vocabulary(names)
    spec.config.decoder_start_token = "<s>"
    spec.config.add_source_eos = False
    return spec, names


def _linear(spec, weights, name):
    spec.weight, spec.bias = weights[f"{name}.weight"], weights[f"{name}.bias"]


def _norm(spec, weights, name):
    spec.gamma, spec.beta = weights[f"{name}.weight"], weights[f"{name}.bias"]


def _attention(spec, weights, name, *, itself):
    parts = [common_spec.LinearSpec() for _ in "qkv"]
    for part, letter in zip(parts, "qkv", strict=True):
        _linear(part, weights, f"{name}.{letter}_proj")
    if itself:
        fuse_linear(spec.linear[0], parts)
    else:
        _linear(spec.linear[0], weights, f"{name}.q_proj")
        fuse_linear(spec.linear[1], parts[1:])
    _linear(spec.linear[-1], weights, f"{name}.out_proj")
    _norm(spec.layer_norm, weights, f"{name}_layer_norm")


def _sinusoids(length, width):
    rates = 10000.0 ** (-np.arange(width // 2) / (width // 2))
    angles = np.arange(length)[:, None] * rates
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1).astype(np.float32)


def main(folder):
    """Print sentences per CPU-second and pieces."""
    task, weights = read(folder)
    spec, names = specify(task["config"], marian_names(weights))
    ids = {name: piece for piece, name in enumerate(names)}
    spec.validate()
    spec.optimize()
    rates, pieces = {}, {}
    with tempfile.TemporaryDirectory() as saved:
        spec.save(saved)
        for prefix, kind in (("", "float32"), ("int8_", "int8")):
            translator = ctranslate2.Translator(saved, compute_type=kind, inter_threads=1, intra_threads=1)

            def search(sources, steps, beam, translator=translator):
                results = translator.translate_batch(
                    [[names[piece] for piece in source] for source in sources],
                    beam_size=beam,
                    max_decoding_length=steps,
                    length_penalty=0.0,
                    max_batch_size=0,
                )
                return [[ids[name] for name in result.hypotheses[0]] for result in results]

            for kept, found in zip((rates, pieces), timed(search, task["batches"]), strict=True):
                kept |= {prefix + name: value for name, value in found.items()}
    result = {
        "rates": rates,
        "pieces": pieces,
        "version": f"ctranslate2 {ctranslate2.__version__}",
        "what": {"beam4": "Translator.translate_batch, float32", "int8_beam4": "the same with weights in int8"},
        "not_equal": "CTranslate2 is C++ without gradients; ours ends every hypothesis in the last step, it cuts off",
    }
    sys.stdout.write(json.dumps(result) + "\n")


main(sys.argv[1])

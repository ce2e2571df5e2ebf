"""Where, in which precision and how compiled a model is trained."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from headcount.errors import UserError

if TYPE_CHECKING:
    from headcount.model.transformer import Transformer

log = logging.getLogger(__name__)

Hidden = Callable[[Tensor, Tensor], Tensor]
"""`Transformer.hidden`, plain or compiled."""

COMPILED_FROM_UPDATES = 3000
"""Updates of a training that earn back the minute or two that its compilation takes."""

ALIGNED = 8
"""A GPU's lengths are padded to multiples of it: what the kernels for half precision want, and fewer shapes."""


def choose_device(name: str, precision: str = "auto", local_rank: int = 0) -> torch.device:
    """Return the device that the settings `training.device` and `training.precision` mean here.

    Args:
        name: auto, cpu or cuda.
        precision: auto, float32 or bfloat16.
        local_rank: number of the GPU.

    Raises:
        UserError: a GPU was asked for and there is none, training never falls back to the CPU unasked; or bfloat16 was,
            and the device computes it more slowly than float32.

    """
    available = torch.cuda.is_available()
    if name == "cuda" and not available:
        raise UserError("training.device: cuda, but PyTorch finds no GPU here; allowed here: auto, cpu")
    if not available or name == "cpu":
        if precision == "bfloat16":
            raise UserError(
                "training.precision: bfloat16, but a CPU computes it up to 28 times more slowly than float32; "
                "allowed here: auto, float32"
            )
        return torch.device("cpu")
    if local_rank >= torch.cuda.device_count():
        raise UserError(
            f"rank {local_rank} of this machine needs a GPU of its own, but PyTorch finds {torch.cuda.device_count()} "
            "here; ask for as many GPUs as ranks (resource `gpu`)"
        )
    if precision == "bfloat16" and not _fast_bfloat16():
        raise UserError(
            f"training.precision: bfloat16, which {torch.cuda.get_device_name()} only imitates; allowed: auto, float32"
        )
    device = torch.device("cuda", local_rank)
    torch.cuda.set_device(device)
    return device


def autocast(device: torch.device, precision: str) -> torch.autocast:
    """Return the context of the forward pass for the setting `training.precision`: auto, float32 or bfloat16.

    On a GPU auto means bfloat16 where the GPU has it in hardware.
    """
    bfloat16 = precision == "bfloat16" or (precision == "auto" and device.type == "cuda" and _fast_bfloat16())
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=bfloat16)


def _fast_bfloat16() -> bool:
    return bool(torch.cuda.is_bf16_supported(including_emulation=False))


def hidden_for(model: Transformer, updates: int) -> Hidden:
    """Return how a training computes `model.hidden`: compiled on a GPU, if it has enough updates; else as it is.

    PyTorch's variable TORCH_COMPILE_DISABLE=1 turns compilation off.
    """
    on_gpu = model.output_weight.device.type == "cuda"
    return compiled(model, "inductor") if on_gpu and updates >= COMPILED_FROM_UPDATES else model.hidden


def compiled(model: Transformer, backend: str) -> Hidden:
    """Return the model's `hidden` compiled for any number of sentences and any length.

    The method is compiled, not the module: parameters keep their names, and checkpoints know nothing of it. Where the
    first call cannot be compiled, for instance since there is no C compiler, a warning says so and training goes on
    without.
    """
    attempt = torch.compile(model.hidden, dynamic=True, backend=backend)
    chosen: list[Hidden] = []

    def hidden(source: Tensor, target_input: Tensor) -> Tensor:
        if chosen:
            return chosen[0](source, target_input)
        from torch._dynamo.exc import TorchDynamoException  # the compiler costs a second to import

        try:
            states = attempt(source, target_input)
        except TorchDynamoException as error:
            log.warning("training goes on uncompiled and more slowly: %s", (str(error).splitlines() or [""])[0])
            chosen.append(model.hidden)
            return model.hidden(source, target_input)
        chosen.append(attempt)
        return states

    return hidden

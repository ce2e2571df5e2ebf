"""Pydantic's faults in the words of a user: one line each, with path, value, allowed and nearest name."""

from __future__ import annotations

from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from headcount.registry import nearest


def describe(error: ValidationError, model: type[BaseModel]) -> str:
    """Render every fault of a validation error, one line each."""
    return "\n".join(line for fault in error.errors() for line in _lines(fault, model))


def _lines(fault: Any, model: type[BaseModel]) -> list[str]:
    path = ".".join(str(part) for part in fault["loc"])
    kind, value = fault["type"], fault["input"]
    if kind == "extra_forbidden":
        allowed = _keys_at(model, fault["loc"][:-1])
        return [f"{path}: unknown key{nearest(str(fault['loc'][-1]), allowed)}; allowed: {', '.join(allowed)}"]
    if kind == "value_error":
        prefix = f"{path}: {value!r}: " if isinstance(value, str | int | float) else ""
        prefix = prefix or (f"{path}: " if path else "")
        said = str(fault["ctx"]["error"])
        hint = nearest(value, said.partition("allowed: ")[2].split(", ")) if isinstance(value, str) else ""
        return [f"{prefix}{line}{hint}" for line in said.splitlines()]
    if kind == "literal_error":
        choices = _choices(fault["ctx"]["expected"])
        return [f"{path}: {value!r} is not allowed{nearest(str(value), choices)}; allowed: {', '.join(choices)}"]
    return [f"{path}: {value!r}: {fault['msg'][0].lower()}{fault['msg'][1:]}"]


def _choices(expected: str) -> list[str]:
    return [part.strip(" '") for part in expected.replace(" or ", ", ").split(", ")]


def _keys_at(model: type[BaseModel], path: tuple[Any, ...]) -> list[str]:
    """Return the allowed keys of the section that `path` leads to."""
    current = model
    for part in path:
        if str(part) not in current.model_fields:
            continue  # the name of an entry in a mapping, or its place in a list
        annotation = current.model_fields[str(part)].annotation
        candidates = (annotation, *get_args(annotation))
        current = next(c for c in candidates if isinstance(c, type) and issubclass(c, BaseModel))
    return list(current.model_fields)

"""Everything that is generated from the settings model: `config.yaml`, the JSON schema, `docs/config.md`."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_origin

import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from headcount.config import Study
from headcount.methods import NORMALISERS, SCORERS
from headcount.settings import SOURCES

WIDTH = 110


def generated(root: Path) -> dict[Path, str]:
    """Return every generated file of the project below `root` with the content that it must have."""
    return {
        root / "config.yaml": default_yaml(),
        root / "workflow" / "config.schema.json": schema(),
        root / "docs" / "config.md": reference(),
    }


def default_yaml() -> str:
    """Render the default study: every key present, each with its meaning."""
    head = [
        "# yaml-language-server: $schema=workflow/config.schema.json",
        "# The default study. Every key is here; `make config` writes this file from the settings in src/headcount.",
        "# Change values here, or keep an override of a few keys beside it: snakemake --configfile configs/mine.yaml",
        "",
    ]
    return "\n".join([*head, *_yaml(Study(), 0), ""])


def _yaml(section: BaseModel, depth: int) -> Iterator[str]:
    pad = "  " * depth
    for name, field in type(section).model_fields.items():
        value = getattr(section, name)
        if isinstance(value, BaseModel):
            yield ""
            yield from (f"{pad}# {line}" for line in textwrap.wrap(_summary(type(value)), WIDTH))
            yield f"{pad}{name}:"
            yield from _yaml(value, depth + 1)
        else:
            line = f"{pad}{name}: {_scalar(value)}"
            comment = f"  # {field.description}"
            if len(line) + len(comment) > WIDTH:
                yield from (f"{pad}# {part}" for part in textwrap.wrap(str(field.description), WIDTH - 2 - len(pad)))
                comment = ""
            yield line + comment


def _scalar(value: Any) -> str:
    if isinstance(value, tuple):
        value = list(value)
    return yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, width=1000).removesuffix("...\n").strip()


def schema() -> str:
    """Render the JSON schema, for editors that complete and check `config.yaml`."""
    return json.dumps(Study.model_json_schema(), indent=2, ensure_ascii=False) + "\n"


def reference() -> str:
    """Render the config reference: one table for each section."""
    lines = [
        "# Config reference",
        "",
        "Generated from `src/headcount/settings.py` and `src/headcount/methods.py` by `make config`. Values may be",
        "changed in `config.yaml` or in an override file: `snakemake --configfile configs/mine.yaml`, where mappings",
        "are merged and lists are replaced.",
        "Threads, memory and partitions belong to the profiles (`profiles/`), not here.",
        "",
    ]
    for path, section in _sections(Study, ""):
        lines += [f"## `{path}`" if path else "## Top level", "", _summary(section), ""]
        lines += ["| key | type | default | meaning |", "| --- | --- | --- | --- |"]
        for name, field in section.model_fields.items():
            if not _is_section(field):
                default = _scalar(field.get_default()).replace("|", "\\|")
                meaning = str(field.description).replace("|", "\\|")
                lines.append(f"| `{name}` | {_type(section, name, field)} | `{default}` | {meaning} |")
        lines.append("")
    return "\n".join(lines)


def _sections(model: type[BaseModel], path: str) -> Iterator[tuple[str, type[BaseModel]]]:
    yield path, model
    for name, field in model.model_fields.items():
        if _is_section(field):
            yield from _sections(field.annotation, f"{path}.{name}".lstrip("."))  # type: ignore[arg-type]


def _is_section(field: FieldInfo) -> bool:
    return isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)


def _summary(section: type[BaseModel]) -> str:
    return str(section.__doc__).strip().splitlines()[0]


PLUGINS = {("Data", "source"): SOURCES, ("Lottery", "scorer"): SCORERS, ("Entmax", "normalisers"): NORMALISERS}
"""Section and key of the settings whose values are the names of plugin files."""


def _type(section: type[BaseModel], name: str, field: FieldInfo) -> str:
    plugins = PLUGINS.get((section.__name__, name))
    if plugins:
        allowed = ", ".join(f"`{value}`" for value in plugins)
        return f"list of {allowed}" if get_origin(field.annotation) is tuple else f"one of {allowed}"
    return _type_name(field.annotation)


def _type_name(annotation: Any) -> str:
    arguments = get_args(annotation)
    if get_origin(annotation) is tuple:
        return f"list of {_type_name(arguments[0])}"
    if arguments and all(isinstance(argument, str) for argument in arguments):
        return "one of " + ", ".join(f"`{argument}`" for argument in arguments)
    if arguments:  # Annotated[type, constraint]
        return _type_name(arguments[0])
    return str(getattr(annotation, "__name__", annotation))

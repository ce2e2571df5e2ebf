"""A hash of the code that a stage runs: its modules' syntax trees without comments, docstrings and layout.

Snakemake does not see edits of a package behind `python -m`. With this value among a rule's `params` a changed formula
repeats exactly the stages that use it, and a reworded comment repeats nothing.
"""

from __future__ import annotations

import ast
import functools
import hashlib
from pathlib import Path

PACKAGE = Path(__file__).parent


def fingerprint(*modules: str) -> str:
    """Hash the named modules of the package and everything of the package that they import, at any depth.

    Args:
        modules: names below the package, such as `stages.train` or `pruning.l0`.

    """
    digest = hashlib.sha256()
    for module in sorted(_closure(modules)):
        digest.update(f"{module}\0{_source(module)[0]}\0".encode())
    return digest.hexdigest()[:16]


def _closure(modules: tuple[str, ...]) -> set[str]:
    found: set[str] = set()
    waiting = list(modules)
    while waiting:
        module = waiting.pop()
        if module not in found:
            found.add(module)
            waiting += _source(module)[1]
    return found


@functools.cache
def _source(module: str) -> tuple[str, tuple[str, ...]]:
    """Return the module's bare syntax tree as text and the modules of the package that it imports."""
    tree = _Bare().visit(ast.parse(_file(module).read_text(encoding="utf-8")))
    imported = {name for node in ast.walk(tree) for name in _imports(node) if _file(name).is_file() and name != module}
    return ast.dump(tree, include_attributes=False), tuple(sorted(imported))


def _file(module: str) -> Path:
    path = PACKAGE.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _imports(node: ast.AST) -> list[str]:
    prefix = f"{PACKAGE.name}."
    if isinstance(node, ast.Import):
        return [alias.name.removeprefix(prefix) for alias in node.names if alias.name.startswith(prefix)]
    if isinstance(node, ast.ImportFrom) and node.module and f"{node.module}.".startswith(prefix):
        base = node.module.removeprefix(PACKAGE.name).lstrip(".")
        dotted = [f"{base}.{alias.name}".lstrip(".") for alias in node.names]
        return [name for name in (base, *dotted) if name]
    return []


class _Bare(ast.NodeTransformer):
    """Drop what changes nothing: docstrings, other bare constants, and imports for type checkers only."""

    def visit_If(self, node: ast.If) -> ast.AST:
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            node.body = []  # an else branch is what runs
        return self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        return None if isinstance(node.value, ast.Constant) else node

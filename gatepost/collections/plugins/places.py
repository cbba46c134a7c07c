"""Source positions of declarations (`file:line`), for error messages."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterable
from contextlib import suppress
from types import ModuleType
from typing import Any

from ..collection import Collection


def place(declared: Any) -> str:
    """Returns `file:line` of a class, a function, or the class of a collection.

    Returns the file alone if the line is unknown, and the module's name if the file is.
    """
    source = declared
    if isinstance(declared, Collection):
        source = type(declared)
    elif callable(declared) and not isinstance(declared, type):
        source = inspect.unwrap(declared)
    module = str(getattr(source, "__module__", type(source).__module__))
    try:
        file = inspect.getsourcefile(source) or module
    except TypeError:
        return module
    try:
        return f"{file}:{inspect.getsourcelines(source)[1]}"
    except (OSError, IndexError):
        return file


def place_in(declared: type, name: str) -> str:
    """Returns `file:line` of the assignment to an attribute in a class or one of its bases; else that of the class."""
    for base in declared.__mro__:
        with suppress(OSError, SyntaxError, TypeError):
            lines, first = inspect.getsourcelines(base)
            for node in ast.walk(ast.parse(textwrap.dedent("".join(lines)))):
                if not isinstance(node, ast.Assign | ast.AnnAssign):
                    continue
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                if any(isinstance(target, ast.Name) and target.id == name for target in targets):
                    return f"{inspect.getsourcefile(base)}:{first + node.lineno - 1}"
    return place(declared)


def place_among(modules: Iterable[ModuleType], declared: object) -> str:
    """Returns `file:line` of an object's assignment in one of these modules; the first file alone if there is none."""
    for module in modules:
        name = next((name for name, value in vars(module).items() if value is declared), "")
        with suppress(OSError, SyntaxError, TypeError):
            for node in ast.parse(inspect.getsource(module)).body:
                targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
                if name in [part.id for target in targets if target is not None for part in ast.walk(target)
                            if isinstance(part, ast.Name)]:
                    return f"{module.__file__}:{node.lineno}"
    return str(next(iter(modules)).__file__)


def raised_at(error: BaseException, package: str) -> str | None:
    """Returns `file:line` of the innermost code of a package in an error's traceback; None if it has none."""
    if isinstance(error, SyntaxError) and error.filename is not None:
        return f"{error.filename}:{error.lineno or 1}"
    top, position, trace = package.partition(".")[0], None, error.__traceback__
    while trace is not None:
        if str(trace.tb_frame.f_globals.get("__name__", "")).partition(".")[0] == top:
            position = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
        trace = trace.tb_next
    return position

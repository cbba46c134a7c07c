"""Where in its source something was declared, for the sentences about what is wrong with it."""

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
    """`file:line` of a class or a function, or of the class of an object; of what was made while the program ran, and
    of other objects, the file alone or the module."""
    found = declared
    if isinstance(declared, Collection):
        found = type(declared)
    elif callable(declared) and not isinstance(declared, type):
        found = inspect.unwrap(declared)
    module = str(getattr(found, "__module__", type(found).__module__))
    try:
        file = inspect.getsourcefile(found) or module
    except TypeError:
        return module
    try:
        return f"{file}:{inspect.getsourcelines(found)[1]}"
    except (OSError, IndexError):
        return file


def place_in(declared: type, name: str) -> str:
    """`file:line` of an attribute that the body of a class, or of one that it inherits from, gives a value; the place
    of the class where none does."""
    for one in declared.__mro__:
        with suppress(OSError, SyntaxError, TypeError):
            lines, first = inspect.getsourcelines(one)
            for node in ast.walk(ast.parse(textwrap.dedent("".join(lines)))):
                if not isinstance(node, ast.Assign | ast.AnnAssign):
                    continue
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                if any(isinstance(target, ast.Name) and target.id == name for target in targets):
                    return f"{inspect.getsourcefile(one)}:{first + node.lineno - 1}"
    return place(declared)


def place_among(modules: Iterable[ModuleType], declared: object) -> str:
    """`file:line` of an object to which one of these modules gives a name; the file alone where none does."""
    for module in modules:
        name = next((name for name, found in vars(module).items() if found is declared), "")
        with suppress(OSError, SyntaxError, TypeError):
            for node in ast.parse(inspect.getsource(module)).body:
                targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
                if name in [one.id for target in targets if target is not None for one in ast.walk(target)
                            if isinstance(one, ast.Name)]:
                    return f"{module.__file__}:{node.lineno}"
    return str(next(iter(modules)).__file__)


def raised_at(error: BaseException, package: str) -> str | None:
    """`file:line` of the code of a package that an error came from; None where none of it was running."""
    if isinstance(error, SyntaxError) and error.filename is not None:
        return f"{error.filename}:{error.lineno or 1}"
    top, found, trace = package.partition(".")[0], None, error.__traceback__
    while trace is not None:
        if str(trace.tb_frame.f_globals.get("__name__", "")).partition(".")[0] == top:
            found = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
        trace = trace.tb_next
    return found

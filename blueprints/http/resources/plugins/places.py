"""Where in its source something was declared, for the sentences about what is wrong with it."""

from __future__ import annotations

import inspect
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

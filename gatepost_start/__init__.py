"""Checks that Python finds Gatepost's own modules under their names, before anything of Gatepost is imported.

The names are common. A `models.py` in a folder that comes first on Python's path (the current folder with `python -m`,
a folder of PYTHONPATH) would be imported instead, and cause an unrelated error. So the first import of this package
ends the process with a sentence that names the file. `app`, `gatepost` and the `gatepost` command
(`gatepost_start.command`) import it before anything else.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

NAMES = ("app", "blueprints", "gatepost", "models", "policies", "settings", "system")


def foreign(home: Path) -> Path | None:
    """Returns the first file or folder that Python finds for one of `NAMES` outside of the folder `home`; else None."""
    for name in NAMES:
        spec = find_spec(name)
        if spec is None:
            continue
        # A folder without __init__.py has no origin, but may have several places.
        folders = [Path(place) for place in spec.submodule_search_locations or ()]
        paths = [Path(spec.origin)] if spec.origin is not None and not folders else folders
        for path in paths:
            # Resolve the folder and not the file, because an installer may link every file to one in its cache.
            if path.parent.resolve() != home:
                return path
    return None


if (stranger := foreign(Path(__file__).parent.parent.resolve())) is not None:
    raise SystemExit(f"Error: {stranger} stands in front of Gatepost's own {stranger.stem} on Python's path. "
                     "Rename it, or start in another folder and without it in PYTHONPATH.")

"""Looks, before anything of Gatepost is imported, whether Python finds Gatepost's own modules under their names.

Their names are plain ones. A `models.py` in a folder that stands in front of Gatepost's on the path (the current
folder with `python -m`, a folder of PYTHONPATH) would be imported in their place, and end in an error that says
nothing of that. The first import of this package ends the process instead, with a sentence that names the file.
`app`, `gatepost` and the `gatepost` command (`gatepost_start.command`) import it before anything else.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

NAMES = ("app", "blueprints", "gatepost", "models", "policies", "settings", "system")


def foreign(home: Path) -> Path | None:
    """The first file or folder that Python finds under one of `NAMES`, and that does not lie in the folder `home`."""
    for name in NAMES:
        spec = find_spec(name)
        if spec is None:
            continue
        # A folder without __init__.py has no origin, but may have several places.
        folders = [Path(place) for place in spec.submodule_search_locations or ()]
        found = [Path(spec.origin)] if spec.origin is not None and not folders else folders
        for path in found:
            # The folder is resolved and not the file: an installer may link every file to one in its cache.
            if path.parent.resolve() != home:
                return path
    return None


if (stranger := foreign(Path(__file__).parent.parent.resolve())) is not None:
    raise SystemExit(f"Error: {stranger} stands in front of Gatepost's own {stranger.stem} on Python's path. "
                     "Rename it, or start in another folder and without it in PYTHONPATH.")

"""A second app on the rows and keys of the first, with rules of a test."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from flask import Flask

from tests.apps import close, make_app, new_instance

Under = Callable[..., Flask]


def edit(policies: Path, conditions: str = "", lines: Mapping[str, str] | None = None, only: bool = False) -> None:
    """Adds branches to the matcher, and lines to files; `only` removes the files' own lines first.

    Removes the shipped invariants, which are for the shipped rules.
    """
    (policies / "invariants.csv").unlink(missing_ok=True)
    model = policies / "model.conf"
    always = "    p.when == 'always' || \\\n"
    assert always in model.read_text()
    model.write_text(model.read_text().replace(always, always + conditions))
    for name, added in (lines or {}).items():
        kept = (policies / name).read_text().removesuffix("# end\n") if (policies / name).exists() and not only else ""
        (policies / name).write_text(f"{kept}{added.rstrip()}\n# end\n")


@pytest.fixture(scope="module")
def under(instance_folder: Path, database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Under]:
    """`under(conditions, lines)` returns an app with edited rules that accepts the tokens of the module's `app`."""
    made: list[Flask] = []

    def start(conditions: str = "", lines: Mapping[str, str] | None = None, only: bool = False) -> Flask:
        folder = new_instance(tmp_path_factory.mktemp("under") / "instance", database_url, "default", "other",
                              keys=instance_folder / "secret.key")
        edit(folder / "policies", conditions, lines, only)
        made.append(make_app(folder, database_url))
        return made[-1]

    yield start
    for app in made:
        close(app)

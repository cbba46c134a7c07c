"""Changes that editors make to a whole file: encoding, line ends, separators; and files that cannot be read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.policies.generated import WITH_INVARIANTS

from .mistake import Edit, Mistake, error

FILES = ("orders.csv", "roles.csv", "invariants.csv", "model.conf")
SAVE = "save the file as UTF-8 without a byte order mark (BOM)"
_CONTENTS: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "a byte order mark": (lambda content: b"\xef\xbb\xbf" + content, f"hides its first line from Casbin; {SAVE}"),
    "UTF-16": (lambda content: content.decode().encode("utf-16"), f"the file is UTF-16; {SAVE}"),
    "UTF-16 without a mark": (lambda content: content.decode().encode("utf-16-le"), f"the file is UTF-16; {SAVE}"),
    "Latin 1": (lambda content: b"# K\xe4ufer\n" + content, f"this line is not UTF-8; {SAVE}"),
    "line ends of old Macs": (lambda content: content.replace(b"\n", b"\r"), "with the line ends LF or CRLF"),
    "a second carriage return": (lambda content: content.replace(b"\n", b"\r\r\n"), "end the line with a line feed"),
}
_PLACES: dict[str, tuple[Callable[[Path], object], str]] = {
    "a link to nothing": (lambda place: place.symlink_to("nothing"), "the file cannot be read: No such file"),
    "a folder": (Path.mkdir, "this is not a regular file"),
}


def _rewritten(file: str, change: Callable[[bytes], bytes]) -> Edit:
    return Edit(file, lambda folder: (folder / file).write_bytes(change(WITH_INVARIANTS[file])))


def _replaced(file: str, put: Callable[[Path], object]) -> Edit:
    def apply(folder: Path) -> None:
        (folder / file).unlink(missing_ok=True)
        put(folder / file)

    return Edit(file, apply)


def _every_line(separator: bytes) -> Callable[[bytes], bytes]:
    """Replaces the separator in every line except comments."""
    return lambda content: b"\n".join(
        line if line.startswith(b"#") else line.replace(b",", separator) for line in content.split(b"\n"))


MISTAKES = [
    *(Mistake(f"files, {name}", file, _rewritten(file, change), True, error(phrase))
      for name, (change, phrase) in _CONTENTS.items() for file in FILES),
    *(Mistake(f"files, {name}", file, _replaced(file, put), True, error(phrase, at="the file"))
      for name, (put, phrase) in _PLACES.items() for file in FILES),
    *(Mistake(f"files, {name}", file, _rewritten(file, _every_line(separator)), True,
              error(f"not by {name} (", at=f"{first}{separator.decode()}"))
      for name, separator in (("semicolons", b";"), ("tabulators", b"\t"))
      for file, first in (("orders.csv", "p"), ("roles.csv", "g"), ("invariants.csv", "never"))),
]

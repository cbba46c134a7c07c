"""Policy files as lines, with the checks that hold for every policy file.

A file that was cut short may lack exactly the line that denies, so each ends with the comment `# end`. Casbin
loses a line to a byte order mark and keeps quotes and trailing comments as part of a value; here they are
errors.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..wording.characters import odd, unseen
from ..wording.columns import SPREADSHEET
from ..wording.finding import Finding

END = "# end"


def decoded(file: str, content: bytes, findings: list[Finding]) -> list[str]:
    """The lines of a file, stripped, with comments still in; an unusable file gives none and a finding."""
    if content.startswith(b"\xef\xbb\xbf"):
        findings.append(Finding(file, 1, "the file begins with a byte order mark; save it as plain UTF-8"))
        return []
    if content.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in content[:2]:
        message = "the file begins with a byte order mark or is UTF-16; save it as plain UTF-8"
        findings.append(Finding(file, 1, message))
        return []
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        findings.append(Finding(file, line, "this line is not UTF-8; save the file as plain UTF-8"))
        return []
    lines = [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]
    for number, row in enumerate(lines, 1):
        if wrong := unseen(row) if row.lstrip().startswith("#") else odd(row):
            findings.append(Finding(file, number, wrong))
    _check_end(file, lines, findings)
    return [line.strip() for line in lines]


def meaningful(lines: list[str]) -> Iterator[tuple[int, str]]:
    """The numbered lines that are neither empty nor a comment."""
    return ((number, line) for number, line in enumerate(lines, 1) if line and not line.startswith("#"))


def _check_end(file: str, lines: list[str], findings: list[Finding]) -> None:
    # Blank lines below the last one take nothing away.
    count = next((number for number in range(len(lines), 0, -1) if lines[number - 1].strip()), 0)
    last = lines[count - 1].strip() if count else ""
    if last != END:
        findings.append(Finding(file, max(count, 1), _wrong_end(last)))
    for number, line in enumerate(lines[:max(count - 1, 0)], 1):
        # A file cut inside such a comment would look complete.
        if END in line:
            findings.append(Finding(file, number, f"`{END}` may stand on the last line only"))


def _wrong_end(last: str) -> str:
    wanted = f"the last line must be the comment `{END}`"
    bare = last.replace('"', "").rstrip(",;\t ")
    if bare == END:
        return f"{wanted} alone; there are commas or quotes beside it: {SPREADSHEET}"
    if "".join(bare.casefold().split()) == "".join(END.split()):
        return f"{wanted}, spelt like that"
    return f"{wanted}; was the file cut short?"

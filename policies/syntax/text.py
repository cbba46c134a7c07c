"""Policy files as lines, with the checks that hold for every policy file.

A file that was cut short may lack exactly the line that denies, so each ends with the comment `# end`. Casbin
loses a line to a byte order mark and keeps quotes and trailing comments as part of a value; here they are
errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..wording.characters import odd, unseen
from ..wording.columns import SPREADSHEET
from ..wording.finding import Finding

END = "# end"
_SAVE = "save the file as UTF-8 without a byte order mark (BOM)"
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_COMMENT = re.compile("[#;]")


def decoded(file: str, content: bytes, findings: list[Finding]) -> list[str]:
    """The lines of a file, stripped, with comments still in; an unusable file gives none and a finding."""
    if wrong := _unusable(content):
        findings.append(Finding(file, 1, wrong))
        return []
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        findings.append(Finding(file, line, f"this line is not UTF-8; {_SAVE}"))
        return []
    lines = [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]
    for number, row in enumerate(lines, 1):
        # What stands in quotes is judged with the matcher, or as quotes; a comment behind a line is a fault by itself.
        if wrong := unseen(row) if row.lstrip().startswith("#") else odd(_QUOTED.sub("", _COMMENT.split(row, 1)[0])):
            findings.append(Finding(file, number, wrong))
    _check_end(file, lines, findings)
    return [line.strip() for line in lines]


def meaningful(lines: list[str]) -> Iterator[tuple[int, str]]:
    """The numbered lines that are neither empty nor a comment."""
    return ((number, line) for number, line in enumerate(lines, 1) if line and not line.startswith("#"))


def unreported(file: str, lines: list[str], findings: list[Finding]) -> Iterator[tuple[int, str, bool]]:
    """The meaningful lines by number, each with False if there is a finding about it already: one a line is enough."""
    reported = {finding.line for finding in findings if finding.file == file}
    return ((number, line, number not in reported) for number, line in meaningful(lines))


def _unusable(content: bytes) -> str:
    """Returns what makes a whole file unusable, and what to do; empty when nothing does."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in content[:2]:
        return f"the file is UTF-16; {_SAVE}"
    if content.startswith(b"\xef\xbb\xbf"):
        return f"the file begins with a byte order mark, which hides its first line from Casbin; {_SAVE}"
    if b"\r" in content and b"\n" not in content:
        return "the lines end in CR alone, as on old Macs; save the file with the line ends LF or CRLF"
    return ""


def _check_end(file: str, lines: list[str], findings: list[Finding]) -> None:
    # Blank lines below the last one take nothing away.
    count = next((number for number in range(len(lines), 0, -1) if lines[number - 1].strip()), 0)
    last = lines[count - 1].strip() if count else ""
    # A file cut inside such a comment would look complete.
    early = [number for number, line in enumerate(lines[:max(count - 1, 0)], 1) if END in line]
    findings += [Finding(file, number, f"`{END}` is allowed on the last line only") for number in early]
    if last != END and END not in (lines[number - 1].strip() for number in early):
        findings.append(Finding(file, max(count, 1), _wrong_end(last)))


def _wrong_end(last: str) -> str:
    wanted = f"the last line must be the comment `{END}`"
    bare = last.replace('"', "").rstrip(",;\t ")
    if bare == END:
        return f"{wanted} alone; there are commas or quotes beside it: {SPREADSHEET}"
    if "".join(bare.casefold().split()).replace(";", "#") == "".join(END.split()):
        return f"{wanted}, spelt like that"
    return f"{wanted}; was the file cut short?"

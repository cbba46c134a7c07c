"""Policy files as lines, with the checks that hold for every policy file.

A file that was cut short may lack exactly the line that denies, so each ends with the comment `# end`. Casbin
loses a line to a byte order mark and keeps quotes and trailing comments as part of a value; here they are
errors.
"""

from __future__ import annotations

from collections.abc import Iterator

from .finding import Finding

END = "# end"


def decoded(file: str, content: bytes, findings: list[Finding]) -> list[str]:
    """The lines of a file, stripped, with comments still in; an unusable file gives none and a finding."""
    if content.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
        findings.append(Finding(file, 1, "the file begins with a byte order mark; save it as plain UTF-8"))
        return []
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        findings.append(Finding(file, line, "this line is not UTF-8"))
        return []
    lines = [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]
    for number, row in enumerate(lines, 1):
        if not row.replace("\t", " ").isprintable():
            findings.append(Finding(file, number, "this line holds a control character"))
    _check_end(file, lines, findings)
    return [line.strip() for line in lines]


def meaningful(lines: list[str]) -> Iterator[tuple[int, str]]:
    """The numbered lines that are neither empty nor a comment."""
    return ((number, line) for number, line in enumerate(lines, 1) if line and not line.startswith("#"))


def _check_end(file: str, lines: list[str], findings: list[Finding]) -> None:
    if not lines or lines[-1] != END:
        message = f"the last line must be the comment `{END}`; was the file cut short?"
        findings.append(Finding(file, len(lines), message))
    for number, line in enumerate(lines[:-1], 1):
        # A file cut inside such a comment would look complete.
        if END in line:
            findings.append(Finding(file, number, f"`{END}` may stand on the last line only"))

"""The bytes of a policy file: its last line, its encoding, its line ends."""

from __future__ import annotations

import pytest

from policies import PolicyError
from policies.loading.loader import from_files
from tests.policies.generated import FILES
from tests.policies.shipped_vocabulary import VOCABULARY


@pytest.mark.parametrize("files", [["p, user, article.view, own, allow"], []])
def test_a_file_must_end_with_its_last_line(files: list[str]) -> None:
    with pytest.raises(PolicyError, match="the last line must be the comment `# end`"):
        from_files({**FILES, "articles.csv": "\n".join(files).encode()}, VOCABULARY)


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_byte_order_mark_is_refused_and_windows_line_ends_change_nothing(name: str) -> None:
    with pytest.raises(PolicyError, match="byte order mark"):
        from_files({**FILES, name: b"\xef\xbb\xbf" + FILES[name]}, VOCABULARY)
    with pytest.raises(PolicyError, match="byte order mark"):
        from_files({**FILES, name: FILES[name].decode().encode("utf-16")}, VOCABULARY)
    with pytest.raises(PolicyError, match="not UTF-8"):
        from_files({**FILES, name: b"# caf\xe9\n" + FILES[name]}, VOCABULARY)
    windows = from_files({**FILES, name: FILES[name].replace(b"\n", b"\r\n")}, VOCABULARY)
    unchanged = from_files(FILES, VOCABULARY)
    assert (windows.rules, windows.model) == (unchanged.rules, unchanged.model)

"""Tokens of a text for the full-text index: its words, folded, each prefixed with its tenant.

A word is a run of letters, combining marks and decimal digits of any script (categories L, M and Nd of Unicode 14, but
no variation selector): `O'Brien` is two words, `m²` is `m`. Words that differ only in case, or in the encoding of a
letter, are one token (`fold`). No database folds or splits by itself, so no locale decides what a search finds.

Six letters before each word tell tenants apart. Each tenant's words are separate terms of the index, so a search does
not slow down where other tenants use its words often. Two tenants have the same letters once in 16 million; so a search
also compares the tenant of each row.

The indexes store the results of these functions. After a change here, a migration must rebuild them (`ddl.searchable`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import chain, islice, repeat

# All other assigned characters, as ranges of a character class. They are written out, because another version of Python
# would split words that are stored otherwise.
_PLAIN = (
    r"\u0000-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u00a9\u00ab-\u00b4\u00b6-\u00b9\u00bb-\u00bf\u00d7\u00f7"
    r"\u02c2-\u02c5\u02d2-\u02df\u02e5-\u02eb\u02ed\u02ef-\u02ff\u0375\u037e\u0384-\u0385\u0387\u03f6\u0482"
    r"\u055a-\u055f\u0589-\u058f\u05be\u05c0\u05c3\u05c6\u05f3-\u060f\u061b-\u061f\u066a-\u066d\u06d4\u06dd-\u06de"
    r"\u06e9\u06fd-\u06fe\u0700-\u070f\u07f6-\u07f9\u07fe-\u07ff\u0830-\u083e\u085e\u0888\u0890-\u0891\u08e2"
    r"\u0964-\u0965\u0970\u09f2-\u09fb\u09fd\u0a76\u0af0-\u0af1\u0b70\u0b72-\u0b77\u0bf0-\u0bfa\u0c77-\u0c7f\u0c84"
    r"\u0d4f\u0d58-\u0d5e\u0d70-\u0d79\u0df4\u0e3f\u0e4f\u0e5a-\u0e5b\u0f01-\u0f17\u0f1a-\u0f1f\u0f2a-\u0f34\u0f36"
    r"\u0f38\u0f3a-\u0f3d\u0f85\u0fbe-\u0fc5\u0fc7-\u0fda\u104a-\u104f\u109e-\u109f\u10fb\u1360-\u137c\u1390-\u1399"
    r"\u1400\u166d-\u166e\u1680\u169b-\u169c\u16eb-\u16f0\u1735-\u1736\u17d4-\u17d6\u17d8-\u17db\u17f0-\u180a\u180e"
    r"\u1940-\u1945\u19da-\u19ff\u1a1e-\u1a1f\u1aa0-\u1aa6\u1aa8-\u1aad\u1b5a-\u1b6a\u1b74-\u1b7e\u1bfc-\u1bff"
    r"\u1c3b-\u1c3f\u1c7e-\u1c7f\u1cc0-\u1cc7\u1cd3\u1fbd\u1fbf-\u1fc1\u1fcd-\u1fcf\u1fdd-\u1fdf\u1fed-\u1fef"
    r"\u1ffd-\u2070\u2074-\u207e\u2080-\u208e\u20a0-\u20c0\u2100-\u2101\u2103-\u2106\u2108-\u2109\u2114\u2116-\u2118"
    r"\u211e-\u2123\u2125\u2127\u2129\u212e\u213a-\u213b\u2140-\u2144\u214a-\u214d\u214f-\u2182\u2185-\u2bff"
    r"\u2ce5-\u2cea\u2cf9-\u2cff\u2d70\u2e00-\u2e2e\u2e30-\u3004\u3007-\u3029\u3030\u3036-\u303a\u303d-\u303f"
    r"\u309b-\u309c\u30a0\u30fb\u3190-\u319f\u31c0-\u31e3\u3200-\u33ff\u4dc0-\u4dff\ua490-\ua4c6\ua4fe-\ua4ff"
    r"\ua60d-\ua60f\ua673\ua67e\ua6e6-\ua6ef\ua6f2-\ua716\ua720-\ua721\ua789-\ua78a\ua828-\ua82b\ua830-\ua839"
    r"\ua874-\ua877\ua8ce-\ua8cf\ua8f8-\ua8fa\ua8fc\ua92e-\ua92f\ua95f\ua9c1-\ua9cd\ua9de-\ua9df\uaa5c-\uaa5f"
    r"\uaa77-\uaa79\uaade-\uaadf\uaaf0-\uaaf1\uab5b\uab6a-\uab6b\uabeb\ufb29\ufbb2-\ufbc2\ufd3e-\ufd4f\ufdcf"
    r"\ufdfc-\ufe19\ufe30-\ufe6b\ufeff-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65\uffe0-\ufffd"
)
_RARE = (
    r"\U00010100-\U000101fc\U000102e1-\U000102fb\U00010320-\U00010323\U00010341\U0001034a\U0001039f"
    r"\U000103d0-\U000103d5\U0001056f\U00010857-\U0001085f\U00010877-\U0001087f\U000108a7-\U000108af"
    r"\U000108fb-\U000108ff\U00010916-\U0001091f\U0001093f\U000109bc-\U000109bd\U000109c0-\U000109ff"
    r"\U00010a40-\U00010a58\U00010a7d-\U00010a7f\U00010a9d-\U00010a9f\U00010ac8\U00010aeb-\U00010af6"
    r"\U00010b39-\U00010b3f\U00010b58-\U00010b5f\U00010b78-\U00010b7f\U00010b99-\U00010baf\U00010cfa-\U00010cff"
    r"\U00010e60-\U00010e7e\U00010ead\U00010f1d-\U00010f26\U00010f51-\U00010f59\U00010f86-\U00010f89"
    r"\U00010fc5-\U00010fcb\U00011047-\U00011065\U000110bb-\U000110c1\U000110cd\U00011140-\U00011143"
    r"\U00011174-\U00011175\U000111c5-\U000111c8\U000111cd\U000111db\U000111dd-\U000111f4\U00011238-\U0001123d"
    r"\U000112a9\U0001144b-\U0001144f\U0001145a-\U0001145d\U000114c6\U000115c1-\U000115d7\U00011641-\U00011643"
    r"\U00011660-\U0001166c\U000116b9\U0001173a-\U0001173f\U0001183b\U000118ea-\U000118f2\U00011944-\U00011946"
    r"\U000119e2\U00011a3f-\U00011a46\U00011a9a-\U00011a9c\U00011a9e-\U00011aa2\U00011c41-\U00011c45"
    r"\U00011c5a-\U00011c71\U00011ef7-\U00011ef8\U00011fc0-\U00011fff\U00012400-\U00012474\U00012ff1-\U00012ff2"
    r"\U00013430-\U00013438\U00016a6e-\U00016a6f\U00016af5\U00016b37-\U00016b3f\U00016b44-\U00016b45"
    r"\U00016b5b-\U00016b61\U00016e80-\U00016e9a\U00016fe2\U0001bc9c\U0001bc9f-\U0001bca3\U0001cf50-\U0001d164"
    r"\U0001d16a-\U0001d16c\U0001d173-\U0001d17a\U0001d183-\U0001d184\U0001d18c-\U0001d1a9\U0001d1ae-\U0001d241"
    r"\U0001d245-\U0001d378\U0001d6c1\U0001d6db\U0001d6fb\U0001d715\U0001d735\U0001d74f\U0001d76f\U0001d789\U0001d7a9"
    r"\U0001d7c3\U0001d800-\U0001d9ff\U0001da37-\U0001da3a\U0001da6d-\U0001da74\U0001da76-\U0001da83"
    r"\U0001da85-\U0001da8b\U0001e14f\U0001e2ff\U0001e8c7-\U0001e8cf\U0001e95e-\U0001ed3d\U0001eef0-\U0001fbca"
    r"\U000e0001-\U000e01ef"
)

_WORD = re.compile(f"[^{_PLAIN}]+")
# A character class that reaches beyond the first plane is slow, so only texts with such characters use this one.
_RARE_SIGN = re.compile(f"[{_RARE}]+")
# Characters that need more than folding one letter after the other: scripts with their own marks, other marks, a sign
# that decomposes to one, and all characters beyond the first plane.
_MARKED = re.compile(
    "[\u0300-\u036f\u0483-\u0487\u0591-\u1cff\u1dc0-\u1dff\u1f80-\u1fff\u20d0-\u20ff\u2adc\u2cef-\u2cf1\u2d7f\u2de0-\u2dff"
    "\u302a-\u302f\u3099\u309a\ua66f-\ua67d\ua69e\ua69f\ua6f0\ua6f1\ua7cb-\ua7cf\ua7d2\ua7d4\ua7da-\ua7dc\ua800-\uabff"
    "\ufb1e\ufe20-\ufe2f\U00010000-\U0010ffff]")
# Letters and marks of Unicode 15 to 17 that fold, decompose or change their order. They stay unchanged: otherwise a
# newer Python would fold words in another way than the stored ones.
_LATER_PLAIN = r"\u0897\u1acf-\u1aeb\u1c89\u1c8a\ua7cb-\ua7cf\ua7d2\ua7d4\ua7da-\ua7dc"
_LATER_RARE = (
    r"\U000105c0-\U000105ff\U00010d40-\U00010d8f\U00010efa-\U00010eff\U00011380-\U000113ff\U00011f00-\U00011f5f"
    r"\U00016100-\U0001613f\U00016d40-\U00016d7f\U00016ea0-\U00016edf\U0001e030-\U0001e08f\U0001e4d0-\U0001e4ff"
    r"\U0001e5d0-\U0001e5ff\U0001e6c0-\U0001e6ff"
)
_IOTA = re.compile("[\u0345\u1f80-\u1fff]")  # a mark below a letter, and letters that include it
_SETTLED = re.compile(f"[^{_LATER_PLAIN}{_LATER_RARE}]+")
# Python sorts marks in quadratic time. No language puts so many on one letter.
_MANY_MARKS = re.compile(r"\W{31}")
# Words of Latin-1, folded. Two letters fold to letters outside Latin-1; `split` handles them.
_SHARP_S, _MICRO = b"\xdf", b"\xb5"
_LATIN = bytes(ord(" " if _WORD.fullmatch(chr(code)) is None else chr(code).lower()) for code in range(256))
# Limits of a tsvector in Postgres: its bytes, a word's bytes, positions of a word, the last position; bytes per word
# and position.
_LARGEST, _LONGEST, _MOST_PLACES, _LAST_PLACE, _PER_WORD, _PER_PLACE = 1_000_000, 2046, 255, 16383, 3, 2
_SHORT, _SHORT_WORD = 200_000, 500  # characters of a written tsvector, and of a word, below which nothing is counted
_known_places: list[str] = []
_LETTERS = str.maketrans("0123456789", "ghijklmnop")


@lru_cache(maxsize=1024)  # it runs several times for every write
def mark(tenant_id: str) -> str:
    """Returns the prefix of a tenant's words: the last six hexadecimal digits of its id, as letters from a to p."""
    return tenant_id[-6:].translate(_LETTERS)


def fold(text: str) -> str:
    """Returns a text without differences of case and encoding: the full case folding of Unicode 14, in NFC.

    `ß` folds to `ss`, `ς` to `σ`. `İ` and `ı` fold to `i`, as `I` does, because no text says whether it is Turkish.
    """
    if _MARKED.search(text):
        return _SETTLED.sub(lambda match: _fold_marked(match[0]), text)
    return _fold_plain(text)


def _fold_marked(text: str) -> str:
    # Folding may leave a script's own marks in another order (Unicode, definition D145).
    if _IOTA.search(text) or not unicodedata.is_normalized("NFC", text):
        text = unicodedata.normalize("NFD", text)
    return _fold_plain(text)


def _fold_plain(text: str) -> str:
    return unicodedata.normalize("NFC", text.casefold().replace("ı", "i").replace("i\u0307", "i"))


def split(text: str) -> list[str]:
    """Returns the words of a text, folded."""
    try:
        latin = text.encode("latin-1")
    except UnicodeEncodeError:
        return _split_any(text)
    if _MICRO in latin:
        return _split_any(text)
    words = latin.translate(_LATIN)
    if _SHARP_S in words:
        words = words.replace(_SHARP_S, b"ss")
    return words.decode("latin-1").split()


def _split_any(text: str) -> list[str]:
    if not _MARKED.search(text):
        return _WORD.findall(_fold_plain(text))
    words = _WORD.findall(_RARE_SIGN.sub(" ", text))
    joined = " ".join(words)
    if _MANY_MARKS.search(joined):
        return [word.casefold() if _MANY_MARKS.search(word) else fold(word) for word in words]
    return fold(joined).split()


def marked(text: str | None, mark: str) -> str | None:
    """Returns the words of a text, folded, each prefixed with `mark`, separated by spaces; None for None."""
    if text is None:
        return None
    words = split(text)
    return f"{mark}{f' {mark}'.join(words)}" if words else ""


def of_tenant(tenant_id: str, text: str | None) -> str | None:
    """Returns `marked` for a tenant. On SQLite it is the function `gatepost_words` of each connection."""
    return marked(text, mark(tenant_id))


def vector(texts: Iterable[str | None], mark: str) -> str:
    """Returns the words of several texts in the form that Postgres reads as a tsvector: prefixed, with their positions.

    A gap between the positions keeps a phrase from continuing in the next text. Postgres accepts a tsvector of at most
    a megabyte: of a larger one only the first words are kept.
    """
    lists = [split(text) if text else [] for text in texts]
    parts, place, longest = [], 0, 0
    for words in lists:
        endings = islice(_places(place + len(words)), place, None)
        parts.append("".join(chain.from_iterable(zip(repeat(mark), words, endings))))
        place += len(words) + 1
        longest = max(longest, *map(len, words), 0)
    text_of_words = "".join(parts)
    return text_of_words if len(text_of_words) <= _SHORT and longest <= _SHORT_WORD else _shortened(lists, mark)


def _places(most: int) -> list[str]:
    """Returns at least `most` position suffixes of a written tsvector: `:1 `, `:2 ` and so on."""
    if len(_known_places) < most:
        _known_places.extend(f":{min(number, _LAST_PLACE)} " for number in range(len(_known_places) + 1, most + 1))
    return _known_places


def _shortened(lists: Iterable[list[str]], mark: str) -> str:
    places: dict[str, list[str]] = {}
    size = last_place = 0
    for words in lists:
        for place, word in enumerate(words, last_place + 1):
            numbers = places.get(word)
            if numbers is None:
                length = len(mark) + len(word.encode())
                if length > _LONGEST:
                    continue
                numbers = places[word] = []
                size += length + _PER_WORD
            if len(numbers) < _MOST_PLACES:
                size += _PER_PLACE
                if size > _LARGEST:
                    return _as_vector(places, mark)
                numbers.append(str(min(place, _LAST_PLACE)))
        last_place += len(words) + 1
    return _as_vector(places, mark)


def _as_vector(places: Mapping[str, list[str]], mark: str) -> str:
    return " ".join(f"{mark}{word}:{','.join(numbers)}" for word, numbers in places.items() if numbers)

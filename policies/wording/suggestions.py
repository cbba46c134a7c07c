"""Did you mean: the known word that a misspelt one of the policy files stands for.

A suggestion shows known words alone, never the text of the file.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from functools import lru_cache

LONGEST = 60  # characters of a word that is compared
LISTED = 20  # known words that a message lists
_CLOSE = 0.7  # of difflib's ratio: an `artikel` is still an article
# Letters of other alphabets that look like Latin ones, by what they look like.
LOOKALIKES = {ord(other): latin for latin, others in {
    "a": "АаΑα", "b": "ВвЬьΒβ", "c": "СсϹϲ", "d": "Ԁԁ", "e": "ЕеΕε", "h": "НһΗ", "i": "ІіΙι", "j": "Јј", "k": "КкΚκ",
    "m": "МмΜ", "n": "Ννոп", "o": "ОоΟο", "p": "РрΡρ", "q": "Ԛԛ", "s": "Ѕѕ", "t": "ТтΤτ", "v": "Ѵѵ", "w": "Ԝԝ",
    "x": "ХхΧχ", "y": "УуΥ", "z": "Ζ",
}.items() for other in others}
_SEPARATORS = re.compile(r"[\W_]+")
_NEGATED = re.compile(r"\s*(?:[!~¬]|not\s)", re.IGNORECASE)  # the known word would say the opposite


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean article.view?`, or nothing where no known word is near.

    Case, separators (`order:view`), order of the parts (`view.order`), plurals (`orders.view`) and letters of other
    alphabets count as no difference; then spelling is compared, and at last whether a part is missing or too much
    (`owner` for `owner_id`).
    """
    meant = nearest(word, known)
    return f"; did you mean {meant}?" if meant else ""


def hint(word: str, known: Iterable[str]) -> str:
    """The same, or the list of the known words where none is near, cut short."""
    words = sorted(known)
    rest = ", …" if len(words) > LISTED else ""
    return did_you_mean(word, words) or f"; known are {', '.join(words[:LISTED])}{rest}"


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word that `word` most likely stands for; empty when none is near."""
    if not word or len(word) > LONGEST or _NEGATED.match(word):
        return ""
    return _nearest(word, _known(tuple(sorted(set(known)))))


def latin(word: str) -> str:
    """The word with Latin letters for those that only look like them, and without what cannot be seen."""
    plain = unicodedata.normalize("NFKC", word).translate(LOOKALIKES)
    return "".join(letter for letter in plain if letter.isprintable())


def _parts(word: str) -> tuple[str, ...]:
    return tuple(part for part in _SEPARATORS.split(latin(word).casefold()) if part)


def singular(part: str) -> str:
    """`category` for `categories`, `order` for `orders`."""
    return f"{part[:-3]}y" if part.endswith("ies") else part.removesuffix("s")


class _Known:
    """Known words, by each form in which a word is looked for."""

    def __init__(self, words: Sequence[str]) -> None:
        self.parts = {word: _parts(word) for word in words}
        # Of words that are alike in a form, the first one counts.
        self.by_form = [(form, {form(parts): word for word, parts in reversed(self.parts.items())}) for form in _FORMS]
        self.by_spelling = {".".join(parts): word for word, parts in reversed(self.parts.items())}


# A client may send the same unknown word again and again, and a new one each time.
@lru_cache(maxsize=64)
def _known(words: tuple[str, ...]) -> _Known:
    return _Known(words)


@lru_cache(maxsize=1024)
def _nearest(word: str, known: _Known) -> str:
    parts = _parts(word)
    for form, words in known.by_form:
        if (wanted := form(parts)) and (found := words.get(wanted, "")):
            return found
    if close := get_close_matches(".".join(parts), known.by_spelling, 1, _CLOSE):
        return known.by_spelling[close[0]]
    longer = [one for one, rest in known.parts.items() if parts and rest != parts
              and (rest[:len(parts)] == parts or parts[:len(rest)] == rest)]
    return longer[0] if len(longer) == 1 else ""


_FORMS: tuple[Callable[[tuple[str, ...]], tuple[str, ...]], ...] = (
    lambda parts: parts,
    lambda parts: ("".join(parts),) if parts else (),
    lambda parts: tuple(map(singular, parts)),
    lambda parts: tuple(sorted(map(singular, parts))),
)

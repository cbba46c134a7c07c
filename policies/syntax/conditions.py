"""The words of the condition column: each is a branch of the matcher, and some take a parameter, as `language:de` does.

A branch takes one by `p.when == 'language:' + r.obj.language`. For a line it folds to an ordinary comparison with what
stands behind the colon, so that decisions, SQL, comparison and matrix know no parameters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from ..wording.finding import quoted
from ..wording.suggestions import hint
from .expression import (
    AllOf,
    AnyOf,
    Attribute,
    Comparison,
    Expression,
    PluginCall,
    Prefixed,
    atoms,
    conjunction,
    disjunction,
    text,
)
from .vocabulary import Condition, Function

WHEN = Attribute("rule", "when")
PREFIX = re.compile(r"[a-z][a-z0-9_]*:", re.ASCII)
PARAMETER = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
# What other Casbins make of a missing value when they put it behind a text.
NO_PARAMETERS = ("undefined", "null", "None")
_ALWAYS = "p.when == 'always' || \\\n"


@dataclass(frozen=True, slots=True)
class Branch:
    """A word of the column, with its colon where it takes a parameter: `own`, `language:`.

    expression  its branch of the matcher: without the word itself, but with `p.when == 'language:' + …`
    """

    name: str
    line: int
    expression: Expression

    @property
    def source(self) -> str:
        """The branch as it stands in model.conf."""
        return text(self.expression)


class Conditions(Mapping[str, Branch]):
    """Conditions by word. Keys are the words of the matcher; a look-up takes the words of the column.

    So `language:de` finds the condition `language:`.
    """

    def __init__(self, branches: Iterable[Branch]) -> None:
        self._branches = {condition.name: condition for condition in branches}

    def __getitem__(self, word: str) -> Branch:
        name, colon, parameter = word.partition(":")
        # A matcher may know `language:de` by itself.
        takes = word not in self._branches and colon and is_parameter(parameter)
        return self._branches[f"{name}:" if takes else word]

    def __iter__(self) -> Iterator[str]:
        return iter(self._branches)

    def __len__(self) -> int:
        return len(self._branches)


def branches_of(functions: Iterable[Function], conditions: Iterable[Condition]) -> dict[str, str]:
    """The words that lines of plugins use, each with the line of model.conf that gives it its meaning."""
    meanings = {word: text(PluginCall(function, literals))
                for function in functions for word, literals in function.words.items()}
    meanings |= {one.word: f"({one.matcher})" if "||" in one.matcher else one.matcher for one in conditions}
    return {word: f"p.when == '{word}' && {meaning} || \\" for word, meaning in meanings.items()}


def with_branches(model: str, branches: Iterable[str]) -> str:
    """A shipped model.conf with these branches below that of `always`, as an administrator adds them."""
    return model.replace(_ALWAYS, _ALWAYS + "".join(f"    {branch}\n" for branch in branches), 1)


def is_parameter(text: str) -> bool:
    """True if the text can follow the colon of a condition."""
    return bool(PARAMETER.fullmatch(text)) and text not in NO_PARAMETERS


def is_word(word: str, words: Mapping[str, object]) -> bool:
    """True if a rule may use this word. A word that takes a parameter must have one."""
    return word in words and not word.endswith(":")


def wrong_word(word: str, words: Mapping[str, object], near: Callable[[str, Iterable[str]], str] = hint) -> str | None:
    """Describes what is wrong with a word of the column; None if nothing is. `near` phrases a suggestion."""
    if is_word(word, words):
        return None
    name, _, parameter = word.partition(":")
    if f"{name}:" in words:
        behind = f", not {quoted(parameter)}" if parameter else ""
        return f"`{name}` takes a parameter: write {name}: and letters, digits, _ or - directly behind it{behind}"
    return f"`{name}` takes no parameter; write {name}" if name in words else \
        f"{quoted(word)} is no condition{near(word, words)}"


def conditions(matcher: Expression, lines: Mapping[str, int], first: int) -> Conditions:
    """The words that a matcher compares the column with, each with what else its branch asks.

    lines  text in quotes → the first line on which it stands; `first` is that of the matcher
    """
    words = dict.fromkeys(word for atom in atoms(matcher) if (word := word_of(atom)) is not None)
    branches: dict[str, list[Expression]] = {}
    for word, branch in named_branches(matcher):
        branches.setdefault(word, []).append(branch)
    return Conditions(Branch(word, lines.get(word, first), disjunction(branches.get(word, ()))) for word in words)


def word_of(atom: Expression) -> str | None:
    """The word that an atom compares the column with, if it does."""
    match atom:
        case Comparison("==", left, str(word)) if left == WHEN:
            return word
        case Comparison("==", left, Prefixed(prefix)) if left == WHEN:
            return prefix
    return None


def named_branches(expression: Expression) -> Iterator[tuple[str, Expression]]:
    """Every word that the column is compared with, and what stands beside it; True when nothing does."""
    match expression:
        case AllOf(parts):
            named = dict.fromkeys(word for part in parts if (word := word_of(part)) is not None)
            for word in named:
                yield word, conjunction(part for part in parts if word_of(part) != word or _takes_parameter(part))
            for part in parts:
                if word_of(part) is None:
                    yield from ((word, branch) for word, branch in named_branches(part) if word not in named)
        case AnyOf(parts):
            for part in parts:
                yield from named_branches(part)
        case _ if (own_word := word_of(expression)) is not None:
            yield own_word, expression if _takes_parameter(expression) else True


def _takes_parameter(atom: Expression) -> bool:
    return isinstance(atom, Comparison) and isinstance(atom.right, Prefixed)

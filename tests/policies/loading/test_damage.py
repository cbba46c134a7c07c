"""Damage to a policy file never permits anything new."""

from __future__ import annotations

import itertools
import random

import pytest

from policies import PolicyError
from policies.invariants.lines import INVARIANTS_FILE
from policies.loading.loader import from_files
from policies.loading.sample import sample_questions
from tests.policies.generated import MATCHER, MODEL, WITH_INVARIANTS
from tests.policies.shipped_vocabulary import VOCABULARY


class Baseline:
    """The decisions of the shipped model and roles with the rules of one file, for comparison with damaged files."""

    def __init__(self, name: str) -> None:
        wanted = dict.fromkeys(
            ("model.conf", "roles.csv", "articles.csv" if name in ("model.conf", "roles.csv") else name)
        )
        self.files = {file: WITH_INVARIANTS[file] for file in wanted}
        # Other lines that the file needs: permissions that must always be allowed, and a rule for a scope.
        needed = {INVARIANTS_FILE: ("admin.csv", "session.csv"), "scopes.csv": ("session.csv",)}
        self.files |= {file: WITH_INVARIANTS[file] for file in needed.get(name, ())}
        self.policy = from_files(self.files, VOCABULARY)
        samples = itertools.islice(sample_questions(self.policy, random.Random(3)), 150)
        self.asked = [question for _, question in samples]
        self.answers = [self.policy.decide(*question) for question in self.asked]

    def is_safe_from(self, name: str, content: bytes) -> bool:
        """True if a damaged file is refused with a place for each finding, or allows nothing new."""
        try:
            damaged = from_files({**self.files, name: content}, VOCABULARY)
        except PolicyError as error:
            return all(finding.file and finding.severity == "error" for finding in error.findings)
        answers = zip(self.asked, self.answers, strict=True)
        return all(damaged.decide(*question) <= answer for question, answer in answers)


@pytest.mark.parametrize("name", sorted(WITH_INVARIANTS))
@pytest.mark.parametrize("bytes_apart", [97, pytest.param(11, marks=pytest.mark.slow)])
def test_a_file_cut_anywhere_is_refused_or_the_same(name: str, bytes_apart: int) -> None:
    """Cuts at some bytes and around the ends of lines; around each end if these are close together."""
    baseline, content = Baseline(name), WITH_INVARIANTS[name]
    lines = [at for at, byte in enumerate(content) if byte == ord("\n")]
    some = lines if bytes_apart == 11 else [*lines[::5], lines[-1]]
    ends = {at + near for at in some for near in (-2, -1, 0, 1)}
    for length in sorted({*range(0, len(content), bytes_apart), *ends} & {*range(len(content))}):
        if content[:length] == content.removesuffix(b"\n"):
            whole = from_files({**baseline.files, name: content[:length]}, VOCABULARY)
            assert (whole.model, whole.rules) == (baseline.policy.model, baseline.policy.rules)
            continue
        with pytest.raises(PolicyError) as refused:
            from_files({**baseline.files, name: content[:length]}, VOCABULARY)
        assert any(finding.file == name for finding in refused.value.findings), length


def damaged_lines(line: str) -> list[str]:
    """Returns the line of a CSV file with a column removed, added or misspelt, with quotes, or with a comment."""
    columns = [column.strip() for column in line.split(",")]
    found = [", ".join(columns[:n] + columns[n + 1 :]) for n in range(len(columns))]
    found += [", ".join([*columns[:n], "x", *columns[n:]]) for n in range(len(columns) + 1)]
    for n, column in enumerate(columns):
        for wrong in (column[:-1], column[1:], column + column[-1], column[::-1], column.upper(), f'"{column}"',
                      f"'{column}'", f"{column} # why", f"{column};", f"{column}\r", f"\ufeff{column}"):
            if wrong != column:
                found.append(", ".join([*columns[:n], wrong, *columns[n + 1 :]]))
    return [*found, line + ",", line.replace(",", ";"), line.replace(",", ""), f"{line} # why", f'"{line}"']


@pytest.mark.parametrize("name", sorted(set(WITH_INVARIANTS) - {"model.conf"}))
@pytest.mark.parametrize("share", [20, pytest.param(5, marks=pytest.mark.slow)])
def test_a_damaged_line_is_refused_or_opens_nothing(name: str, share: int) -> None:
    """Damages each line in every `share`th way, beginning with another way for each line."""
    baseline, lines = Baseline(name), WITH_INVARIANTS[name].decode().splitlines()
    for number, line in enumerate(lines):
        if line.startswith("#") or not line:
            continue
        for damaged in damaged_lines(line)[number % share :: share]:
            text = "\n".join([*lines[:number], damaged, *lines[number + 1 :], ""])
            assert baseline.is_safe_from(name, text.encode()), (name, number + 1, damaged)


def test_a_damaged_matcher_is_refused_or_opens_nothing() -> None:
    """Removes, doubles and shortens each line of model.conf, and removes every word of the matcher."""
    baseline, lines = Baseline("model.conf"), MODEL.splitlines()
    damaged = ["\n".join([*lines[:n], *lines[n + 1 :], ""]) for n in range(len(lines))]
    damaged += ["\n".join([*lines[: n + 1], *lines[n:], ""]) for n in range(len(lines))]
    damaged += ["\n".join([*lines[:n], lines[n][:-1], *lines[n + 1 :], ""]) for n in range(len(lines))]
    words = MATCHER.split(" ")
    for n in range(len(words)):
        damaged.append(MODEL.replace(MATCHER, " ".join([*words[:n], *words[n + 1 :]])))
    damaged += [
        MODEL.replace("'", '"', 1),
        MODEL.replace("|| \\", "|| \\ # or", 1),
        MODEL.replace("&&", "and", 1),
    ]
    for text in damaged:
        assert baseline.is_safe_from("model.conf", text.encode()), text

"""`gatepost policy adopt`: shipped policy files by name, and the shipped rules about new permissions."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import click

from blueprints.policy_changes.commands import add_to_database
from gatepost.commands import policy_files
from gatepost.commands.context import load_settings, show_path
from gatepost.commands.policy_output import AS_JSON, Unusable, compared, counted, print_json
from gatepost.commands.printing import echo, echo_lines
from gatepost.features import Installation
from policies import Policy, PolicyError
from policies.cases.cases import run
from policies.invariants.lines import INVARIANTS_FILE
from policies.loading.files import Unreadable, read_bytes
from policies.loading.loader import CASES_FILE, from_files, packaged
from policies.questions.additions import NotAddable, additions, extended, narrowed
from policies.questions.changes import NOTHING
from policies.wording.suggestions import did_you_mean
from settings.declared import DATABASE
from system.files import write

ADOPT_NEW = "gatepost policy adopt --new"
ADOPT_DOORS = "gatepost policy adopt invariants"


@click.command()
@click.argument("name", required=False)
@click.option("--new", is_flag=True, help="Add the shipped rules about permissions that came with an upgrade.")
@click.option("--yes", is_flag=True, help="Do not ask before writing; for --new.")
@AS_JSON
def adopt(name: str | None, new: bool, yes: bool, as_json: bool) -> None:
    """Add missing shipped files, or the new rules of an upgrade.

    NAME is a file of Gatepost or of a plugin; `tests` are the shipped cases. Nothing is replaced. --new adds the
    shipped rules about permissions that your files do not mention. It shows what they allow, and asks.

    \b
    Example: gatepost policy adopt --new
    """
    if (name is None) is not new or (yes and not new):
        raise click.UsageError("Name one file, or use --new (with --yes, it does not ask).")
    if new and as_json and not yes:
        raise click.UsageError("--json cannot ask. Add --yes.")
    if name is None:
        _adopt_new(policy_files.folder(), ask=not yes, as_json=as_json)
    else:
        _adopt_file(policy_files.folder(), name, as_json=as_json)


def news(_: Installation) -> Iterator[str]:
    """Yields the news of `gatepost migrate` about the policy: new permissions, and shipped rules that give less now."""
    folder = policy_files.folder()
    try:
        mine, shipped = policy_files.policy_in(folder), policy_files.shipped_policy()
    except click.ClickException:
        yield "The policy files cannot be used. See: gatepost policy check"
        return
    added = additions(mine, shipped, packaged(folder, policy_files.plugins(folder)))
    if permissions := [one for one in added.permissions if one not in added.fallbacks]:
        yield f"New permissions that your policy files do not mention: {', '.join(permissions)}"
        yield f"See the shipped rules about them, and add them: {ADOPT_NEW}"
    if added.fallbacks:
        decided = ", ".join(f"{one} (by {fallback})" for one, fallback in added.fallbacks.items())
        yield f"New permissions that another one decides until a rule names them: {decided}"
        yield f"Name them in your rules, which changes nothing: {ADOPT_NEW}"
    yield from narrowed(mine, shipped)
    if INVARIANTS_FILE not in mine.files:
        yield f"Your policy has no {INVARIANTS_FILE}, which lists what may never happen. Add it: {ADOPT_DOORS}"


def _adopt_file(folder: Path, name: str, *, as_json: bool) -> None:
    sources = {**policy_files.registry().plugin_policies, **policy_files.shipped()}
    files = (f"{name}{suffix}" for suffix in ("", ".csv", ".conf", ".yaml"))
    source = next((sources[file] for file in files if file in sources), None)
    if source is None:
        near = did_you_mean(Path(name).stem, {Path(file).stem for file in sources}) or "."
        raise click.ClickException(f"No file {name!r} is shipped{near} There are: {', '.join(sorted(sources))}")
    target, stored = folder / source.name, load_settings().policy_source == DATABASE
    # A plugin's file lies in a copy of the database, too, and may be adopted.
    if not stored and os.path.lexists(target):
        raise click.ClickException(
            f"{show_path(target)} is there already. Compare it with: gatepost policy diff shipped"
        )
    try:
        content = read_bytes(source)
    except Unreadable as error:
        raise click.ClickException(f"{source}: {error}") from None
    if source.name == INVARIANTS_FILE:
        _require_kept(folder, source, content)
    if stored:
        add_to_database({source.name: content}, f"adopt {source.name}", None)
    else:
        # A running service reads the folder, and must never find half a file.
        write(target, content, 0o666)
    if as_json:
        print_json({"written": [source.name]})
    elif stored:
        echo(f"{source.name} is adopted, on every node. See what is in force with: gatepost policy matrix")
    elif source.name == CASES_FILE:
        _say_of_cases(folder, target)
    elif source.name == INVARIANTS_FILE:
        echo(f"{show_path(target)} is adopted. Your rules keep it.")
    else:
        echo(f"{show_path(target)} is adopted. See what it grants with: gatepost policy matrix")


def _require_kept(folder: Path, source: Path, content: bytes) -> None:
    """Raises a sentence with each line of the instance that breaks one of these invariants."""
    mine = policy_files.policy_in(folder)
    try:
        from_files({**mine.files, source.name: content}, mine.vocabulary)
    except PolicyError as error:
        raise click.ClickException(
            f"Nothing is written: your rules do not keep {source.name} as it is shipped.\n{error}\n"
            f"Change these rules; or copy {source} to {show_path(folder)} without the lines that you do not want."
        ) from None


def _say_of_cases(folder: Path, target: Path) -> None:
    echo(f"{show_path(target)} is adopted. A running service runs these cases before it uses changed rules.")
    try:
        policy = policy_files.policy_in(folder, whole=True)
        wrong = len(run(policy, policy_files.suite(target, policy)).failures)
    except Unusable:
        echo("They cannot be run now. See: gatepost policy check")
        return
    if wrong:
        echo(f"Your rules give {counted(wrong, 'question')} another answer. Until you change the cases or the rules, a "
             "service keeps its current rules, and reports the folder as broken. See: gatepost policy test")


def _adopt_new(folder: Path, *, ask: bool, as_json: bool) -> None:
    mine, shipped = policy_files.policy_in(folder, whole=True), policy_files.shipped_policy()
    sentences = list(narrowed(mine, shipped))
    for sentence in sentences if not as_json else ():
        echo(sentence)
    added = additions(mine, shipped, packaged(folder, policy_files.plugins(folder)))
    files: Mapping[str, bytes] = {}
    after = mine
    if added.permissions:
        try:
            files, after = extended(mine, shipped, added)
        except NotAddable as error:
            raise click.ClickException(str(error)) from None
        _require_cases(folder, mine, after)
    changes = tuple(compared(mine, after)) if files else ()
    if as_json:
        _write(folder, mine, files)
        print_json({
            "written": list(files), "lines": {name: list(lines) for name, lines in added.lines.items()},
            "conditions": {name: condition.source for name, condition in added.conditions.items()},
            "changes": [change.as_json() for change in changes], "narrowed": sentences,
        })
        return
    if not added.permissions:
        echo("Nothing is new: your policy files mention every permission that came after 0.1.")
        return
    for name, condition in added.conditions.items():
        echo(f"model.conf: {name}: {condition.source}")
    for name, lines in added.lines.items():
        for line in lines:
            echo(f"{name}: {line}")
    echo("What changes:")
    echo_lines("\n".join(map(str, changes)) or NOTHING)
    if ask:
        click.confirm("Write these files?", abort=True)
    _write(folder, mine, files)
    place = "the database" if policy_files.is_stored(folder) else show_path(folder)
    echo(f"Written in {place}: {', '.join(files)}.")


def _require_cases(folder: Path, mine: Policy, after: Policy) -> None:
    """Raises a sentence where a case in the folder's tests.yaml passes now and would fail with the new lines, and where
    the cases cannot be tried."""
    path = folder / CASES_FILE
    if not os.path.lexists(path):
        return
    cases = policy_files.suite(path, mine)
    failing = {failure.identity for failure in run(mine, cases).failures}
    if broken := [str(failure.finding) for failure in run(after, cases).failures if failure.identity not in failing]:
        listed = "\n".join(broken)
        raise click.ClickException(f"Nothing is written: with the new rules, cases would fail.\n{listed}\n"
                                   "Change the cases first, or write the rules yourself.")


def _write(folder: Path, mine: Policy, files: Mapping[str, bytes]) -> None:
    """Writes each file as a whole. Raises a sentence if one was edited in the meantime or cannot be written."""
    if files and load_settings().policy_source == DATABASE:
        add_to_database(files, "adopt --new", mine)
        return
    written: list[str] = []
    for name, content in files.items():
        # What a link leads to is written, as it is what is read.
        target = (folder / name).resolve()
        try:
            if name not in mine.files:
                write(target, content, 0o666)
            elif read_bytes(target) == mine.files[name]:
                write(target, content, like=target.stat())
            else:
                raise click.ClickException(f"{show_path(target)} was changed meanwhile. {_how_far(written)}")
        except (Unreadable, OSError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise click.ClickException(
                f"{show_path(target)} cannot be written: {reason}. {_how_far(written)}"
            ) from None
        written.append(name)


def _how_far(written: list[str]) -> str:
    if not written:
        return "Nothing is written. Fix this, and run it again."
    return f"Written before: {', '.join(written)}. Run it again for the others."

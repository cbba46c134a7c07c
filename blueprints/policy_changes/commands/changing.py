"""Putting a policy in force: `gatepost policy apply | revert | accept`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import cast

import click

from blueprints.policy_changes.commands.history import VERSION, find
from gatepost.commands import policy_files
from gatepost.commands.context import load_settings, show_path
from gatepost.commands.instance import open_instance
from gatepost.commands.policy_output import Unusable, compared
from gatepost.commands.printing import echo, echo_lines
from gatepost.rules.change import STRAY, Candidate, Changing, InFiles, Overtaken, files_in
from models.tables.policy_version import ACCEPT, COMMAND, OPERATOR, REVERT
from policies import Policy, PolicyError
from policies.loading.loader import CASES_FILE, from_files
from settings.declared import DATABASE, FILES

_LONGEST = 500  # characters of a note


def _short(_: click.Context, __: click.Parameter, note: str | None) -> str | None:
    if note is not None and len(note) > _LONGEST:
        raise click.BadParameter(f"at most {_LONGEST} characters.")
    return note


NOTE = click.option("--note", metavar="TEXT", callback=_short, help="Why, for the ledger.")
YES = click.option("--yes", is_flag=True, help="Do not ask.")
_LATER = "A running service uses it within two seconds."


@click.command("apply")
@click.argument("directory", type=click.Path(path_type=Path), metavar="DIR")
@NOTE
@YES
def apply_command(directory: Path, note: str | None, yes: bool) -> None:
    """Put the policy files of a folder in force.

    They take the place of the present ones, after every check; a file that DIR lacks goes, but for tests.yaml. It shows
    what changes, and asks. Where the rules are in the database (policy_source), all nodes use them within two seconds.

    \b
    Example: gatepost policy apply trial --note "as agreed"
    """
    source = policy_files.folder(directory)
    try:
        files = files_in(source)
    except PolicyError as broken:
        raise Unusable(source, broken) from None
    _change(lambda changing: changing.instead(files), COMMAND, note, yes, source, keeps_cases=CASES_FILE not in files)


@click.command("revert")
@VERSION
@NOTE
@YES
def revert_command(version: str, note: str | None, yes: bool) -> None:
    """Put a policy in force that was so before.

    Its files take the place of the present ones, after every check; tests.yaml stays. VERSION may be shortened to its
    first eight characters; `shipped` are the rules that come with Gatepost. It shows what changes, and asks.

    \b
    Example: gatepost policy revert 0a1b2c3d --note "nobody could publish"
    """
    def before(changing: Changing) -> Candidate:
        if version == policy_files.SHIPPED_WORD:
            shipped = policy_files.policy_in(policy_files.shipped_folder())
            return changing.instead({name: text for name, text in shipped.files.items()
                                     if name not in policy_files.registry().plugin_policies})
        row = find(version)
        return changing.instead({name: text.encode() for name, text in row.files.items() if name not in row.packaged})

    _change(before, REVERT, note, yes, Path(f"policy {version}"), keeps_cases=True)


@click.command("accept")
@NOTE
@YES
def accept_command(note: str | None, yes: bool) -> None:
    """Put the files in force that are there, though a rule file is gone.

    A service keeps the last good policy where a file is gone without which not everybody may do what they may now. It
    shows what changes, and asks.

    \b
    Example: gatepost policy accept
    """
    if load_settings().policy_source == DATABASE:
        raise click.ClickException("The rules are in the database (policy_source): a file that is gone from the folder "
                                   "has no effect. To take rules out, leave them out of DIR: gatepost policy apply DIR")
    required = policy_files.registry().required_policies
    _change(lambda changing: changing.candidate({}, absent=required), ACCEPT, note, yes, load_settings().policies)


def _change(make: Callable[[Changing], Candidate], cause: str, note: str | None, yes: bool, source: Path, *,
            keeps_cases: bool = False) -> None:
    """Put a candidate in force. `source` is what its rules come from; `keeps_cases`: the present cases are asked."""
    # What a candidate in the database is made of, only the database says.
    place = policy_files.folder() if load_settings().policy_source == FILES else load_settings().policies
    with changes() as changing:
        stray = isinstance(changing, InFiles) and changing.is_stray
        if stray and cause != ACCEPT:
            raise click.ClickException(f"{STRAY[0].upper()}{STRAY[1:]}")
        try:
            candidate = make(changing)
        except PolicyError as broken:
            raise Unusable(source, _located(broken, place) if keeps_cases else broken) from None
        live = _live(changing, place, candidate.policy)
        echo_lines("\n".join(compared(live, candidate.policy).as_lines()))
        if stray:
            echo("The rules of this instance are in the database. From then on, those of each node are its files.")
        elif live.version == candidate.policy.version and not candidate.files:
            echo(f"Policy {live.version} is in force already.")
            return
        if not yes:
            click.confirm("Put it in force?", abort=True)
        if stray:
            cast(InFiles, changing).leave_database()
        _put_in_force(changing, candidate, cause, note)
    echo(f"Policy {candidate.policy.version} is in force. {_LATER}")


def _located(broken: PolicyError, place: Path) -> PolicyError:
    """The same findings; those about the cases name the folder `place` that they are in."""
    cases = show_path(place / CASES_FILE)
    return PolicyError([replace(one, file=cases) if one.file == CASES_FILE else one for one in broken.findings])


def add_to_database(files: Mapping[str, bytes], note: str, base: Policy | None) -> None:
    """Puts a policy in force that adds these files to those in the database.

    base  the policy that the files were made from; None: they are new and replace none

    Raises a sentence, or Unusable.
    """
    with changes() as changing:
        try:
            candidate = changing.candidate(files)
        except PolicyError as broken:
            raise Unusable(load_settings().policies, broken) from None
        if base is None and (there := sorted(files.keys() & candidate.before.keys())):
            raise click.ClickException(f"The policy in force has {there[0]} already. Compare it with: "
                                       "gatepost policy diff shipped")
        if base is not None and changing.in_force() != base.files:
            raise click.ClickException("Another policy was put in force meanwhile. Nothing is changed; run it again.")
        _put_in_force(changing, candidate, COMMAND, note)


def _put_in_force(changing: Changing, candidate: Candidate, cause: str, note: str | None) -> None:
    try:
        changing.put_in_force(candidate, cause, OPERATOR, note)
    except Overtaken as overtaken:
        raise click.ClickException(str(overtaken)) from None
    except OSError as error:
        raise click.ClickException(f"The files cannot be written: {error.strerror}") from error


def _live(changing: Changing, place: Path, candidate: Policy) -> Policy:
    """The policy that a service uses now; where that is not known, the files' own."""
    files = changing.in_force()
    try:
        if files is None:
            return policy_files.policy_in(place, closing=True)
        return from_files(files, candidate.vocabulary, closing=True)
    except (PolicyError, Unusable):
        # The policy is of another version, or broken: the changes are unknown.
        raise click.ClickException(
            "The policy in force cannot be loaded: a plugin that it needs is not installed, or it is of another "
            "version of Gatepost. So what would change cannot be shown. Mend the files in the policy folder instead."
        ) from None


@contextmanager
def changes() -> Iterator[Changing]:
    """Opens the instance and yields its `Changing`, which applies policies."""
    with open_instance() as instance:
        yield Changing.of(instance.settings, policy_files.registry(), instance.database, instance.tenant().id)

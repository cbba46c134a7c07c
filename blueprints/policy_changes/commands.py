"""`gatepost policy log`, `show`, `diff`, `apply`, `revert` and `accept`: versions of the policy, and their changes."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import cast

import click

from blueprints.policy_changes.affected_rows import RowChanges, Scope, compare_rows
from gatepost.commands import policy_files
from gatepost.commands.context import load_settings, show_path
from gatepost.commands.instance import open_instance
from gatepost.commands.policy_output import AS_JSON, Unusable, compared, print_json
from gatepost.commands.printing import echo, echo_lines
from gatepost.rules.change import STRAY, Candidate, Changing, InFiles, Overtaken, files_in
from models.records.times import DAY, later
from models.tables import policy_version
from models.tables.audit import told_since
from models.tables.policy_version import ACCEPT, COMMAND, OPERATOR, REVERT, SHORTEST, PolicyVersion
from models.tables.tenant import Tenant
from models.tables.user import User
from policies import SHIPPED, Policy, PolicyError
from policies.comparison.subjects import persons
from policies.loading.loader import CASES_FILE, from_files
from policies.questions.recorded import COLUMNS, Entry
from policies.questions.replay import Replay, replay
from settings.declared import DATABASE, FILES

_LONGEST = 500  # characters of a note
_WINDOW = re.compile(r"([1-9][0-9]{0,3})([dh])")
_SECONDS = {"d": DAY, "h": 60 * 60}
_LATER = "A running service uses it within two seconds."


def _short(_: click.Context, __: click.Parameter, note: str | None) -> str | None:
    if note is not None and len(note) > _LONGEST:
        raise click.BadParameter(f"at most {_LONGEST} characters.")
    return note


VERSION = click.argument("version", metavar="VERSION")
NOTE = click.option("--note", metavar="TEXT", callback=_short, help="The reason, for the policy history.")
YES = click.option("--yes", is_flag=True, help="Do not ask.")


@click.command("log")
@click.option("-n", "--number", type=click.IntRange(1, 10_000), default=20, show_default=True, metavar="N",
              help="The number of versions to show.")
@AS_JSON
def log_command(number: int, as_json: bool) -> None:
    """List the policy versions, and their changes.

    The newest is first.

    \b
    Example: gatepost policy log
    """
    with open_instance():
        rows = list(policy_version.listed().limit(number))
    if as_json:
        print_json([_as_json(row) for row in rows])
        return
    for row in rows:
        echo_lines("\n".join(_lines(row)))


@click.command("show")
@VERSION
@click.argument("file", required=False, metavar="[FILE]")
@AS_JSON
def show_command(version: str, file: str | None, as_json: bool) -> None:
    """Show the files of a policy version.

    VERSION may be shortened to its first eight characters. With FILE, it prints the content of that file.

    \b
    Example: gatepost policy show 0a1b2c3d articles.csv
    """
    with open_instance():
        row = find(version)
    if file is None:
        if as_json:
            print_json({**_as_json(row), "files": row.files})
            return
        echo_lines("\n".join(_lines(row)))
        for name, text in row.files.items():
            echo(f"    {name}  {len(text.encode())} bytes{'  (of a plugin)' if name in row.packaged else ''}")
        return
    if file not in row.files:
        raise click.ClickException(f"Policy {row.version} has no file {file}. It has: {', '.join(row.files)}")
    if as_json:
        print_json({"version": row.version, "file": file, "text": row.files[file]})
    else:
        echo_lines(row.files[file].removesuffix("\n"))


def find(version: str) -> PolicyVersion:
    """Returns the newest row of a version. Raises ClickException if there is none."""
    row = policy_version.named(version)
    if row is None:
        raise click.ClickException(
            f"No policy {version} was in force. See: gatepost policy log (at least {SHORTEST} characters name one)")
    return row


def _as_json(row: PolicyVersion) -> dict[str, object]:
    return {"version": row.version, "applied_at": row.applied_at, "cause": row.cause, "by": row.author,
            "note": row.note, "late": row.late, "changes": row.changes}


def _lines(row: PolicyVersion) -> Iterator[str]:
    late = ", recorded late" if row.late else ""
    yield f"{row.version}  since {row.applied_at}  {row.cause} by {row.author}{late}"
    if row.note:
        yield f"    {row.note}"
    for change in row.changes or ():
        yield f"    {line(change)}"
    if row.changes is None:
        yield "    the changes are not computed yet"


def line(change: dict[str, object]) -> str:
    """Returns a change in the policy history as one line."""
    if "permission" not in change:
        return str(change.get("line") or change.get("detail"))
    sign = {"more": "+", "less": "−", "other": "~"}.get(str(change["change"]), "?")
    who: list[str] = change["who"]  # type: ignore[assignment]
    return (f"{sign} {change['permission']}: {change['before'] or 'never'} → {change['after'] or 'never'}, "
            f"for {', '.join(who)}")


def _begun(_: click.Context, __: click.Parameter, window: str | None) -> str | None:
    """Returns the start of a window of days or hours, such as 7d. Raises BadParameter."""
    if window is None:
        return None
    match = _WINDOW.fullmatch(window)
    if match is None:
        raise click.BadParameter(f"{window!r} is no number of days or hours, such as 7d or 24h.")
    return later(-int(match[1]) * _SECONDS[match[2]])


@click.command("diff")
@click.argument("places", nargs=-1, required=True, metavar="[OLD] NEW")
@click.option("--instance", is_flag=True,
              help="Read the roles of users whom rules name from the database. Otherwise, each role is tried.")
@click.option("--rows", is_flag=True,
              help="Count the stored rows that would become visible or hidden.")
@click.option("--replay", "since", callback=_begun, metavar="WINDOW",
              help="Repeat the decisions of the audit log of the last days (7d) or hours (24h) with NEW.")
@AS_JSON
def diff_command(places: tuple[str, ...], instance: bool, rows: bool, since: str | None, as_json: bool) -> None:
    """Show the effects of a change of the rules, with examples.

    It lists what NEW allows and OLD does not, and the reverse. Each is a folder, or `shipped`. Without OLD, the files
    of the instance are compared. Each example was tried on both. The exit code is 1 if there is a difference, or if one
    could not be ruled out.

    With --replay, the recorded decisions of the audit log are repeated with both.

    \b
    Example: gatepost policy diff trial --replay 7d
    """
    *first, last = places
    if len(first) > 1:
        raise click.UsageError("Name one folder, or two.")
    new = policy_files.named(last)
    before = policy_files.policy_in(policy_files.named(first[0])) if first else policy_files.served()
    after = policy_files.policy_in(new)
    differences = compared(before, after, _roles_of(before, after) if instance else None)
    data, lines, flips = differences.as_json(), list(differences.as_lines()), False
    if since is not None:
        with open_instance():
            replayed = _replayed(before, after, since)
            data["replay"] = {"since": since, **replayed.as_json()}
            lines += ["", *replayed.as_lines(_name_of)]
            flips = bool(replayed)
    if rows:
        stored = _rows_of(before, after)
        data["rows"] = stored.as_json()
        lines += ["", "Stored rows:", *(f"  {line}" for line in stored.as_lines())]
    if as_json:
        print_json(data)
    else:
        echo_lines("\n".join(lines))
    sys.exit(int(bool(differences) or flips))


def _replayed(old: Policy, new: Policy, since: str) -> Replay:
    """Replays the recorded decisions of all tenants under both policies."""
    rows = (row for tenant in Tenant.all() for row in told_since(tenant.id, since, COLUMNS))
    return replay(old, new, (Entry(**row) for row in rows))


def _name_of(key: str) -> str:
    """Returns the e-mail address of the user with this key; for other keys the key itself."""
    user = User.by_id(key.removeprefix("user:")) if key.startswith("user:") else None
    return key if user is None else user.email


def _roles_of(*policies: Policy) -> dict[str, str]:
    """Returns the stored role of each user whom rules name, by key. Raises ClickException without a database."""
    ids = [key.removeprefix("user:") for key in persons(*policies)]
    with open_instance():
        return {f"user:{id}": role for id, role in User.roles(ids).items()}


def _rows_of(before: Policy, after: Policy) -> RowChanges:
    """Compares the rows of all tenants under both policies. Raises ClickException without a database."""
    with open_instance() as opened:
        return compare_rows(opened.database, policy_files.registry().collections.values(), before, after,
                            Scope(opened.tenant().id), datetime.now(opened.settings.zone))


@click.command("apply")
@click.argument("directory", type=click.Path(path_type=Path), metavar="DIR")
@NOTE
@YES
def apply_command(directory: Path, note: str | None, yes: bool) -> None:
    """Apply the policy files of a folder.

    They replace the current files after every check. Files that DIR lacks are removed, except tests.yaml. The command
    shows the changes, and asks. If the rules are in the database (policy_source), all nodes use them within two
    seconds.

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
    """Apply an earlier policy version again.

    Its files replace the current ones after every check; tests.yaml stays. VERSION may be shortened to its first eight
    characters; `shipped` are the rules that come with Gatepost. The command shows the changes, and asks.

    \b
    Example: gatepost policy revert 0a1b2c3d --note "nobody could publish"
    """
    def before(changing: Changing) -> Candidate:
        if version == policy_files.SHIPPED_WORD:
            shipped = policy_files.policy_in(SHIPPED)
            return changing.instead({name: text for name, text in shipped.files.items()
                                     if name not in policy_files.registry().plugin_policies})
        row = find(version)
        return changing.instead({name: text.encode() for name, text in row.files.items() if name not in row.packaged})

    _change(before, REVERT, note, yes, Path(f"policy {version}"), keeps_cases=True)


@click.command("accept")
@NOTE
@YES
def accept_command(note: str | None, yes: bool) -> None:
    """Accept the files as they are, although a rule file is missing.

    If a missing file would change what users may do, a service keeps the last good policy. This command shows the
    changes, asks, and applies them.

    \b
    Example: gatepost policy accept
    """
    if load_settings().policy_source == DATABASE:
        raise click.ClickException("The rules are in the database (policy_source): a missing file in the folder "
                                   "has no effect. To remove rules, leave them out of DIR: gatepost policy apply DIR")
    required = policy_files.registry().required_policies
    _change(lambda changing: changing.candidate({}, absent=required), ACCEPT, note, yes, load_settings().policies)


def _change(make: Callable[[Changing], Candidate], cause: str, note: str | None, yes: bool, source: Path, *,
            keeps_cases: bool = False) -> None:
    """Puts a candidate in force.

    source       the origin of its rules
    keeps_cases  the candidate is tested with the present cases
    """
    # Only the database has the files of a candidate in the database.
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
            echo("The rules of this instance are in the database. From then on, each node uses its own files.")
        elif live.version == candidate.policy.version and not candidate.files:
            echo(f"Policy {live.version} is already in force.")
            return
        if not yes:
            click.confirm("Apply it?", abort=True)
        if stray:
            cast(InFiles, changing).leave_database()
        _put_in_force(changing, candidate, cause, note)
    echo(f"Policy {candidate.policy.version} is in force. {_LATER}")


def _located(broken: PolicyError, place: Path) -> PolicyError:
    """Returns the same findings. Those about the cases name the folder `place` of the cases."""
    cases = show_path(place / CASES_FILE)
    return PolicyError([replace(finding, file=cases) if finding.file == CASES_FILE else finding
                        for finding in broken.findings])


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
    """Returns the policy that a service uses now; if that is unknown, the policy of the files."""
    files = changing.in_force()
    try:
        if files is None:
            return policy_files.policy_in(place, closing=True)
        return from_files(files, candidate.vocabulary, closing=True)
    except (PolicyError, Unusable):
        # The policy is of another version, or broken: the changes are unknown.
        raise click.ClickException(
            "The policy in force cannot be loaded: a plugin that it needs is not installed, or it is of another "
            "version of Gatepost. So the changes cannot be shown. Fix the files in the policy folder instead."
        ) from None


@contextmanager
def changes() -> Iterator[Changing]:
    """Opens the instance and yields its `Changing`, which applies policies."""
    with open_instance() as instance:
        yield Changing.of(instance.settings, policy_files.registry(), instance.database, instance.tenant().id)

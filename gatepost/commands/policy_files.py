"""The policy files that a command works on, and the vocabulary to load them with; without the app.

Where the rules are in the database (policy_source), those of the instance are a copy of what is in force, and never its
policy folder: that is an export, which may be edited or old.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gatepost.commands import context
from gatepost.commands.context import load_settings, show_path
from gatepost.commands.instance import database_of, open_instance
from gatepost.commands.lazy import importing
from gatepost.commands.policy_output import Unusable
from gatepost.commands.printing import echo
from gatepost.features import Installation
from gatepost.rules.exported import edited, is_policy_file, packaged_of, texts_of, unknown_file
from gatepost.rules.left_over import left_over
from models.engine.database import Database
from models.engine.errors import RowError
from models.migrate import obstacle
from models.scratch import scratch
from models.tables import policy_version
from models.tables.policy_version import PolicyVersion
from policies import SHIPPED, Finding, Policy, PolicyError, load
from policies.cases.case_file import read_suite
from policies.cases.cases import Suite
from policies.loading import snapshot
from policies.loading.files import Unreadable, read_text
from policies.loading.loader import CASES_FILE, Broken, digest, from_files, packaged, read_files
from policies.loading.outdated import UNTIL_CHANGED
from policies.questions.diff import decide_alike
from policies.syntax.model import MODEL_FILE
from policies.wording.suggestions import did_you_mean
from settings.declared import DATABASE

if TYPE_CHECKING:
    from gatepost.collections.registry import Registry

SHIPPED_WORD = "shipped"
_IN_FORCE = f"{__name__}.in_force"  # in the notes of click's context: the copy of what is in force
_STORED = Path("the policy in the database")  # as it is called in a message
_NO_EFFECT = ("this edit has no effect: the rules are in the database (policy_source). To put a folder of files in "
              "force: gatepost policy apply DIR")
_OUTDATED = f"These lines of the policy are no longer accepted. Change them; until then {UNTIL_CHANGED}:"
_CLOSED = (f"Some lines are no longer accepted, and count as they do in the service: {UNTIL_CHANGED}. gatepost policy "
           "check names them.")


def folder(directory: Path | None = None) -> Path:
    """The folder that was named, or the instance's; an instance stands for the folder of its rules. Raises
    ClickException when there is none."""
    found = directory or of_instance()
    if not found.is_dir():
        hint = "" if directory else " Name a folder, or run: gatepost init"
        raise click.ClickException(f"There is no folder {show_path(found)}.{hint}")
    within = found / load_settings().policies.name
    return within if within.is_dir() and not (found / MODEL_FILE).exists() else found


def around(file: Path) -> tuple[Path, Path]:
    """The folder to check a single file in, and the policy folder that it is made of: that of the file, or a copy of
    the instance's with this file in the place of its namesake. Raises ClickException."""
    if not (file.suffix == ".csv" or file.name in (MODEL_FILE, CASES_FILE)):
        raise click.ClickException(f"{show_path(file)} is no policy file: a .csv file, {MODEL_FILE} or {CASES_FILE}.")
    if (file.parent / MODEL_FILE).exists():
        return file.parent, file.parent
    base = folder()
    copy = click.get_current_context().with_resource(scratch())
    for place in (*(one for one in base.iterdir() if one.name != file.name), file):
        (copy / place.name).symlink_to(place.resolve())
    return copy, base


def of_instance() -> Path:
    """The folder of the instance's rules, which need not be there. Raises ClickException without their database."""
    settings = load_settings()
    copy = _in_force() if settings.policy_source == DATABASE else None
    return settings.policies if copy is None else copy


def _in_force() -> Path | None:
    """A copy of the policy in the database, which is gone when the command ends; None where there is none yet."""
    context = click.get_current_context()
    if _IN_FORCE not in context.meta:
        with open_instance():
            row = policy_version.newest()
        if row is None:
            return None
        copy = context.find_root().with_resource(scratch())
        for name, text in {**texts_of(row), **packaged_of(row)}.items():
            if not is_policy_file(name):
                raise Unusable(_STORED, PolicyError([unknown_file(name)]))
            (copy / name).write_bytes(text)
        context.meta[_IN_FORCE] = copy
    found: Path = context.meta[_IN_FORCE]
    return found


def is_stored(place: Path) -> bool:
    """Whether a folder is the copy of what is in the database; never outside of a command."""
    context = click.get_current_context(silent=True)
    return context is not None and place == context.meta.get(_IN_FORCE)


def plugins(place: Path) -> Mapping[str, Path]:
    """The rules that plugins ship, for the policy of a folder: those of a stored one are with it already."""
    return {} if is_stored(place) else registry().plugin_policies


def required(place: Path) -> Collection[str]:
    """The files that a folder must have. The instance's need not have those whose loss was accepted, and a service
    starts on a stored policy whatever it has."""
    if is_stored(place):
        return ()
    settings = load_settings()
    last = snapshot.kept(settings.instance / snapshot.LAST_GOOD)
    accepted = last.absent if last is not None and place.resolve() == settings.policies.resolve() else ()
    return [name for name in registry().required_policies if name not in accepted]


def gone(place: Path, policy: Policy) -> list[Finding]:
    """The rule files that the policy of a folder lacks though the last good one had them: of the instance's alone."""
    settings, installed = load_settings(), registry()
    last = snapshot.kept(settings.instance / snapshot.LAST_GOOD)
    if last is None or place.resolve() != settings.policies.resolve():
        return []
    try:
        before = from_files(last.files, installed.vocabulary, closing=True)
    except PolicyError:
        before = None
    return snapshot.gone(last, policy, packaged(place, installed.plugin_policies),
                         lambda: before is not None and decide_alike(before, policy))


def without_effect(directory: Path | None) -> list[Finding]:
    """A warning for each file of the instance that was edited though the rules are in the database. `directory` is what
    was asked about; None: the instance."""
    settings = load_settings()
    if settings.policy_source != DATABASE or (
            directory is not None and directory.resolve() != settings.policies.resolve()):
        return []
    return [Finding(name, 0, _NO_EFFECT, "warning") for name in edited(settings.policies)]


def named(word: str) -> Path:
    """A folder, or the one of the word `shipped`."""
    return SHIPPED if word == SHIPPED_WORD else folder(Path(word))


@cache
def registry() -> Registry:
    """Returns the registry, looked up once: the words that rules may use, and the rules that plugins ship."""
    with importing("gatepost.collections.plugins.discovery"):
        found = context.registry()
    return replace(found, gone=_gone(found))


def _gone(installed: Registry) -> Mapping[str, str]:
    """Permissions of plugins that were taken out; none is known where there is no instance whose database answers."""
    settings = load_settings()
    if not settings.secret_file.exists():
        return {}
    with suppress(RowError, click.ClickException), database_of(settings) as database, database.connected():
        if obstacle(database, installed.migrations) is None:
            return left_over(database, installed)
    return {}


def outdated_lines(database: Database) -> list[Finding]:
    """An error for each line of the instance's rules that only an older version accepted, or that breaks an invariant:
    an older version may not have seen that.

    The schema of the database may be older than the program. Raises `RowError`.
    """
    settings, installed = load_settings(), registry()
    files = _stored_files(database) if settings.policy_source == DATABASE else None
    try:
        if files is None:
            place = settings.policies
            load(place, installed.vocabulary, plugins=installed.plugin_policies, required=required(place))
        else:
            from_files(files, installed.vocabulary)
    except PolicyError as error:
        return [finding for finding in error.findings if finding.outdated or isinstance(error, Broken)]
    return []


def outdated(installation: Installation) -> list[str]:
    """What `gatepost migrate` says of lines that are no longer accepted: nothing, or a sentence and the lines."""
    found = outdated_lines(installation.database)
    return [_OUTDATED, *map(str, found)] if found else []


def _stored_files(database: Database) -> dict[str, bytes] | None:
    """The files of the policy in the database; None where there is none yet. It reads no column that is newer than the
    table."""
    with database.connected():
        row = policy_version.listed(PolicyVersion.files).first() if database.table_exists("policy_versions") else None
    return None if row is None else {name: text.encode() for name, text in row.files.items()}


def shipped() -> dict[str, Path]:
    """The shipped policy files, and the cases, by name."""
    return {path.name: path for path in sorted((*SHIPPED.glob("*.csv"), *SHIPPED.glob("*.conf"), SHIPPED / CASES_FILE))}


def shipped_policy() -> Policy:
    """The rules that Gatepost itself ships, without those of plugins. Raises ClickException."""
    try:
        return load(SHIPPED, registry().vocabulary)
    except PolicyError as error:
        raise Unusable(SHIPPED, error) from None


def served(directory: Path | None = None, *, whole: bool = False) -> Policy:
    """The policy of the folder that was named, or that of the instance as a service serves it: with lines that are no
    longer accepted, of which a sentence is printed. Raises as `folder` and `policy_in`."""
    place = folder(directory)
    try:
        return policy_in(place, whole=whole)
    except Unusable as refused:
        if directory is not None or not (PolicyError(refused.findings).outdated or _is_last_good(place)):
            raise
    found = policy_in(place, whole=whole, closing=True)
    echo(_CLOSED, err=True)
    return found


def _is_last_good(place: Path) -> bool:
    """True if the rules of a folder are in force in a service, or were, as they are now."""
    last = snapshot.kept(load_settings().instance / snapshot.LAST_GOOD)
    return is_stored(place) or (last is not None and last.version == digest(read_files(place, plugins(place), [])))


def policy_in(place: Path, *, whole: bool = False, closing: bool = False) -> Policy:
    """The policy of a folder; `whole` if no shipped file may be missing in it, as where a service starts on it. The
    shipped one has the rules of plugins, and what these add to model.conf.

    With `closing`, lines that only an older version accepted are closed, as a service does with them. Raises Unusable
    with every finding when it cannot be used.
    """
    try:
        return load(place, registry().vocabulary, plugins=plugins(place), required=required(place) if whole else (),
                    extended=place == SHIPPED, closing=closing)
    except PolicyError as error:
        raise Unusable(_STORED if is_stored(place) else place, error) from None


def refuse_unknown(permission: str, policy: Policy) -> None:
    """Raises ClickException for a permission that a policy does not know."""
    known = policy.vocabulary.by_permission
    if permission not in known:
        why = policy.patterns.gone(permission)
        near = f": {why}." if why else did_you_mean(permission, known) or "."
        raise click.ClickException(f"There is no permission {permission!r}{near} See: gatepost policy matrix")


def suite(path: Path, policy: Policy) -> Suite:
    """The cases in `path`, for that policy. Raises Unusable with every finding when they cannot be used."""
    # So a finding says that the line is not in a file of the operator's.
    name = f"{SHIPPED_WORD}/{path.name}" if path.parent == SHIPPED else path.name
    try:
        return read_suite(read_text(path), name, policy.vocabulary, policy.written_scopes, policy.roles.names,
                          zone=load_settings().zone)
    except Unreadable as error:
        raise Unusable(path, PolicyError([Finding(name, 0, str(error))])) from None
    except PolicyError as error:
        raise Unusable(path, error) from None

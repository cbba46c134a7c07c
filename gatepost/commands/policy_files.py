"""The policy files of a command, and the vocabulary to load them with; without the app.

If the rules are in the database (policy_source), a command gets a copy of the current policy version. It never gets the
policy folder of the instance, which is an export and may be edited or old.
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
_IN_FORCE = f"{__name__}.in_force"  # key in click's context: the copy of the current policy
_STORED = Path("the policy in the database")  # its name in messages
_NO_EFFECT = ("this edit has no effect: the rules are in the database (policy_source). To put a folder of files in "
              "force: gatepost policy apply DIR")
_OUTDATED = f"These rules are no longer accepted. Change them; until then {UNTIL_CHANGED}:"
_CLOSED = (f"Some rules are no longer accepted, and count as they do in the service: {UNTIL_CHANGED}. gatepost policy "
           "check names them.")


def folder(directory: Path | None = None) -> Path:
    """Returns the given policy folder; None: the instance's. An instance folder stands for its policy folder.

    Raises ClickException if the folder does not exist.
    """
    place = directory or of_instance()
    if not place.is_dir():
        hint = "" if directory else " Name a folder, or run: gatepost init"
        raise click.ClickException(f"There is no folder {show_path(place)}.{hint}")
    within = place / load_settings().policies.name
    return within if within.is_dir() and not (place / MODEL_FILE).exists() else place


def around(file: Path) -> tuple[Path, Path]:
    """Returns the folder to check a single file in, and the policy folder that it is based on.

    Both are the file's folder if it is a policy folder. Else the first is a copy of the instance's policy folder, in
    which the file replaces the one of the same name. Raises ClickException.
    """
    if not (file.suffix == ".csv" or file.name in (MODEL_FILE, CASES_FILE)):
        raise click.ClickException(f"{show_path(file)} is no policy file: a .csv file, {MODEL_FILE} or {CASES_FILE}.")
    if (file.parent / MODEL_FILE).exists():
        return file.parent, file.parent
    base = folder()
    copy = click.get_current_context().with_resource(scratch())
    for place in (*(file_in_base for file_in_base in base.iterdir() if file_in_base.name != file.name), file):
        (copy / place.name).symlink_to(place.resolve())
    return copy, base


def of_instance() -> Path:
    """Returns the instance's policy folder, which may not exist. Raises ClickException if the database fails."""
    settings = load_settings()
    copy = _in_force() if settings.policy_source == DATABASE else None
    return settings.policies if copy is None else copy


def _in_force() -> Path | None:
    """Copies the policy in the database to a temporary folder until the command ends; None if there is none yet."""
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
    copy_in_use: Path = context.meta[_IN_FORCE]
    return copy_in_use


def is_stored(place: Path) -> bool:
    """True if the folder is the copy of the policy in the database; False outside of a command."""
    context = click.get_current_context(silent=True)
    return context is not None and place == context.meta.get(_IN_FORCE)


def plugins(place: Path) -> Mapping[str, Path]:
    """Returns the rules of plugins for the policy in a folder; none for a stored policy, which includes them."""
    return {} if is_stored(place) else registry().plugin_policies


def required(place: Path) -> Collection[str]:
    """Returns the names of the files that a policy folder must have.

    The instance's folder may lack files whose loss was accepted. A stored policy must have none.
    """
    if is_stored(place):
        return ()
    settings = load_settings()
    last = snapshot.kept(settings.instance / snapshot.LAST_GOOD)
    accepted = last.absent if last is not None and place.resolve() == settings.policies.resolve() else ()
    return [name for name in registry().required_policies if name not in accepted]


def gone(place: Path, policy: Policy) -> list[Finding]:
    """Lists findings for rule files that the instance's folder has lost since the last good policy.

    Returns none for other folders.
    """
    settings, installed = load_settings(), registry()
    last = snapshot.kept(settings.instance / snapshot.LAST_GOOD)
    if last is None or place.resolve() != settings.policies.resolve():
        return []
    try:
        old = from_files(last.files, installed.vocabulary, closing=True)
    except PolicyError:
        old = None
    return snapshot.gone(last, policy, packaged(place, installed.plugin_policies),
                         lambda: old is not None and decide_alike(old, policy))


def without_effect(directory: Path | None) -> list[Finding]:
    """Returns a warning for each edited file in the instance's folder if the rules are in the database.

    `directory` is the folder that the command is about; None: the instance's.
    """
    settings = load_settings()
    if settings.policy_source != DATABASE or (
            directory is not None and directory.resolve() != settings.policies.resolve()):
        return []
    return [Finding(name, 0, _NO_EFFECT, "warning") for name in edited(settings.policies)]


def named(word: str) -> Path:
    """Returns the folder of that name, or the shipped one for the word `shipped`."""
    return SHIPPED if word == SHIPPED_WORD else folder(Path(word))


@cache
def registry() -> Registry:
    """Returns the registry, cached: the words that rules may use, and the rules that plugins ship."""
    with importing("gatepost.collections.plugins.discovery"):
        installed = context.registry()
    return replace(installed, gone=_gone(installed))


def _gone(installed: Registry) -> Mapping[str, str]:
    """Returns permission → reason for removed plugins; empty if there is no instance, or its database fails."""
    settings = load_settings()
    if not settings.secret_file.exists():
        return {}
    with suppress(RowError, click.ClickException), database_of(settings) as database, database.connected():
        if obstacle(database, installed.migrations) is None:
            return left_over(database, installed)
    return {}


def outdated_lines(database: Database) -> list[Finding]:
    """Lists the errors of the instance's rules that an older version did not report.

    They are rules that only an older version accepts, and violations of invariants. Works before the migrations. Raises
    `RowError`.
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
    """Returns the output of `gatepost migrate` about rules that are no longer accepted; [] if there are none."""
    findings = outdated_lines(installation.database)
    return [_OUTDATED, *map(str, findings)] if findings else []


def _stored_files(database: Database) -> dict[str, bytes] | None:
    """Returns the files of the policy in the database; None if there is none yet.

    It reads only columns that the table has had since its first version.
    """
    with database.connected():
        row = policy_version.listed(PolicyVersion.files).first() if database.table_exists("policy_versions") else None
    return None if row is None else {name: text.encode() for name, text in row.files.items()}


def shipped() -> dict[str, Path]:
    """Returns the shipped policy files and the cases, by name."""
    return {path.name: path for path in sorted((*SHIPPED.glob("*.csv"), *SHIPPED.glob("*.conf"), SHIPPED / CASES_FILE))}


def shipped_policy() -> Policy:
    """Loads the rules that Gatepost itself ships, without those of plugins. Raises ClickException."""
    try:
        return load(SHIPPED, registry().vocabulary)
    except PolicyError as error:
        raise Unusable(SHIPPED, error) from None


def served(directory: Path | None = None, *, whole: bool = False) -> Policy:
    """Loads the policy of the given folder; None: the instance's policy, as the service applies it.

    The service also applies rules that are no longer accepted, with limits. A sentence is printed about them. Raises
    the errors of `folder` and `policy_in`.
    """
    place = folder(directory)
    try:
        return policy_in(place, whole=whole)
    except Unusable as error:
        if directory is not None or not (PolicyError(error.findings).outdated or _is_last_good(place)):
            raise
    policy = policy_in(place, whole=whole, closing=True)
    echo(_CLOSED, err=True)
    return policy


def _is_last_good(place: Path) -> bool:
    """True if the rules of a folder equal the last good policy of the service, or are stored in the database."""
    last = snapshot.kept(load_settings().instance / snapshot.LAST_GOOD)
    return is_stored(place) or (last is not None and last.version == digest(read_files(place, plugins(place), [])))


def policy_in(place: Path, *, whole: bool = False, closing: bool = False) -> Policy:
    """Loads the policy of a folder. The shipped folder includes the rules of plugins, and their parts of model.conf.

    whole    refuse a folder that lacks a required file, as the service does when it starts
    closing  accept rules that only an older version accepts, restricted as the service does

    Raises Unusable with every finding.
    """
    try:
        return load(place, registry().vocabulary, plugins=plugins(place), required=required(place) if whole else (),
                    extended=place == SHIPPED, closing=closing)
    except PolicyError as error:
        raise Unusable(_STORED if is_stored(place) else place, error) from None


def refuse_unknown(permission: str, policy: Policy) -> None:
    """Raises ClickException for a permission that a policy does not know."""
    permissions = policy.vocabulary.by_permission
    if permission not in permissions:
        reason = policy.patterns.gone(permission)
        hint = f": {reason}." if reason else did_you_mean(permission, permissions) or "."
        raise click.ClickException(f"There is no permission {permission!r}{hint} See: gatepost policy matrix")


def suite(path: Path, policy: Policy) -> Suite:
    """Reads the cases in `path` for that policy. Raises Unusable with every finding."""
    # The prefix shows in a finding that the file is not one of the operator's.
    name = f"{SHIPPED_WORD}/{path.name}" if path.parent == SHIPPED else path.name
    try:
        return read_suite(read_text(path), name, policy.vocabulary, policy.written_scopes, policy.roles.names,
                          zone=load_settings().zone)
    except Unreadable as error:
        raise Unusable(path, PolicyError([Finding(name, 0, str(error))])) from None
    except PolicyError as error:
        raise Unusable(path, error) from None

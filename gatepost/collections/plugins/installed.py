"""Installed plugins, one by one: their contents, and the error of each that cannot be used.

`discover` stops at the first error. So this module calls it for each plugin together with those that work.
"""

from __future__ import annotations

from collections.abc import Collection as Group
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path

from flask import Blueprint

from settings import SettingError
from settings.plugins import name_of

from ...jobs.hooks import hooks_of
from ..collection import Collection
from ..routes import Routes
from .contents import PluginError, contents, migrations_of, modules_of
from .declarations import conditions_of, features_of, functions_of, settings_of
from .discovery import discover
from .entry_points import COLLECTIONS, COMMANDS, points_of
from .findings import findings


@dataclass(frozen=True)
class Installed:
    """One package that pip installed.

    wrong        why it cannot be used, as a sentence; then only its commands are listed
    collections  the served ones
    brings       kind of its contents, such as `hooks` → their names
    commands     the entry points of its commands, which are not imported
    migrations   name of a history → its folder
    findings     doubtful declarations, a sentence each
    """

    name: str
    version: str
    commands: tuple[EntryPoint, ...]
    wrong: str | None = None
    collections: tuple[Collection, ...] = ()
    brings: Mapping[str, tuple[str, ...]] | None = None
    migrations: Mapping[str, Path] | None = None
    findings: tuple[str, ...] = ()


def installed(without: Group[str] = ()) -> list[Installed]:
    """Lists the installed plugins by name; `without` as in `discover`.

    Raises `SettingError` for a name in `without` that cannot be left out, whichever plugins are installed.
    """
    discover(without=without, points=())
    plugins = _by_package((*points_of(COLLECTIONS), *points_of(COMMANDS)))
    serving = {name: [point for point in points if point.group == COLLECTIONS] for name, points in plugins.items()}
    wrong = _wrong(serving, without)
    used = discover(without=without, points=[point for name in serving if name not in wrong for point in serving[name]])
    return [_described(name, plugins[name], wrong.get(name), used.collections) for name in sorted(plugins)]


def _by_package(points: Iterable[EntryPoint]) -> dict[str, list[EntryPoint]]:
    packages: dict[str, list[EntryPoint]] = {}
    for point in points:
        name = point.dist.name if point.dist is not None else point.module.partition(".")[0]
        packages.setdefault(name, []).append(point)
    return packages


def _wrong(serving: Mapping[str, list[EntryPoint]], without: Group[str]) -> dict[str, str]:
    """Returns the error of each plugin that cannot be used beside the others; of two in conflict, the later has it."""
    usable: list[EntryPoint] = []
    wrong: dict[str, str] = {}
    waiting = list(serving)
    while waiting:
        wrong = {}
        for name in waiting:
            try:
                discover(without=without, points=[*usable, *serving[name]])
                usable += serving[name]
            except (PluginError, SettingError) as error:
                wrong[name] = str(error)
        # A hook may follow an event of another plugin, so try the rest again after each that works.
        if len(wrong) == len(waiting):
            break
        waiting = list(wrong)
    return wrong


def _described(name: str, points: Iterable[EntryPoint], wrong: str | None,
               by_name: Mapping[str, Collection]) -> Installed:
    points = list(points)
    version = next((point.dist.version for point in points if point.dist is not None), "")
    commands = tuple(point for point in points if point.group == COMMANDS)
    if wrong is not None:
        return Installed(name, version, commands, wrong)
    collections: list[Collection] = []
    routes: list[str] = []
    settings: list[str] = []
    hooks: list[str] = []
    checks: list[str] = []
    conditions: list[str] = []
    migrations: dict[str, Path] = {}
    doubtful: list[str] = []
    for point in points:
        if point.group == COMMANDS:
            continue
        plugin = point.load()
        for content in contents(plugin):
            if isinstance(content, Routes | Blueprint):
                routes.append(content.name)
            else:
                collections.append(by_name[content.name])
        doubtful += findings(plugin, [by_name[part.name] for part in contents(plugin) if part.name in by_name])
        modules = modules_of(plugin)
        settings += [f"{name_of(point.name)}.{declared.name}" for declared in settings_of(modules)]
        hooks += [hook.name for hook in hooks_of(modules)]
        checks += [name for feature in features_of(modules) for name in (*feature.checks, *feature.doctor)]
        conditions += [function.name for function in functions_of(modules)]
        conditions += [condition.word for condition in conditions_of(modules)]
        migrations |= migrations_of(name, plugin)
    kinds = {"collections": [declared.name for declared in collections], "routes": routes, "settings": settings,
             "hooks": hooks, "conditions": conditions, "checks": checks}
    return Installed(name, version, commands, None, tuple(collections),
                     {kind: tuple(dict.fromkeys(names)) for kind, names in kinds.items()}, migrations,
                     tuple(dict.fromkeys(doubtful)))

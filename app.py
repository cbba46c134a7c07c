"""Gatepost's whole assembly on one screen: `create_app()`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from flask import Flask
from werkzeug.middleware.proxy_fix import ProxyFix

import gatepost_start  # noqa: F401 - before the imports that it looks after
from gatepost.collections.plugins import tables
from gatepost.collections.plugins.contents import Plugin, named
from gatepost.collections.plugins.discovery import discover
from gatepost.collections.plugins.entry_points import not_imported
from gatepost.collections.plugins.leaving_out import ignored
from gatepost.collections.routes import answer_options, refuse_strays
from gatepost.health.gauges import Gauges
from gatepost.http.auditing.trail import Trail
from gatepost.http.operations import logs, metrics
from gatepost.http.operations.addresses import UnreadableAddresses
from gatepost.http.operations.background import Background, BackgroundTask
from gatepost.http.operations.counters import MINUTE
from gatepost.http.operations.deprecation import DeprecatedUses
from gatepost.http.operations.garbage import collection_paused
from gatepost.http.operations.housekeeping import delete_expired, end_retention
from gatepost.http.operations.limits import Limits
from gatepost.http.operations.ownership import Ownership
from gatepost.http.operations.pulse import Pulse
from gatepost.http.operations.slots import most_waiting, threads_of
from gatepost.http.pipeline import browsers, compression, errors, negotiation, uri
from gatepost.http.pipeline.application import Application, NotReady
from gatepost.http.protocol import versions
from gatepost.http.protocol.answer_headers import AnswerHeaders
from gatepost.http.protocol.messages import Translations
from gatepost.http.request.call import Services
from gatepost.http.security import known_keys
from gatepost.http.security.access_tokens import AccessTokens
from gatepost.http.security.cursors import Cursors
from gatepost.http.security.epoch import Epoch
from gatepost.http.security.keys import Keys
from gatepost.instance import leftovers
from gatepost.instance.journal import settle, settle_meanwhile
from gatepost.instance.presence import EVERY as PRESENT
from gatepost.instance.presence import Presence
from gatepost.jobs import transfers
from gatepost.jobs.hooks import Clock
from gatepost.jobs.runner import Runner
from gatepost.rules.ledger import Ledger
from gatepost.rules.left_over import left_over
from gatepost.rules.line_uses import EVERY, LineUses
from gatepost.rules.stored import source_of
from models.engine.connect import open_database
from models.engine.database import Database
from models.migrate import obstacle
from models.tables.load import undo_left
from models.tables.policy_version import START
from models.tables.tenant import Tenant
from models.tables.user import User
from policies import Policy
from policies.lint.warnings import find_early
from policies.loading.lost import LostRoles
from policies.loading.watch import Watcher
from settings import LiveSettings, Settings
from settings.declared import FILES


@collection_paused()
def create_app(config: Mapping[str, Any] | None = None, collections: Iterable[Plugin] = (), *,
               reads_copies: bool = False) -> Flask:
    """The WSGI application of one instance.

    `config` overrides settings by name; `collections`, or modules of them, are served besides those that are found.
    `reads_copies`: a database that cannot be written to is opened for reading, for a command that serves nothing.
    Raises `SettingError`, `KeyFileError`, `PluginError`, `FeatureError`, `PolicyError`, `UnderWay` and `NotReady`, each
    with a sentence for the operator.
    """
    plugins = tuple(collections)
    # Which settings plugins have, only they know; whether a setting leaves something out, they need not know.
    registry = discover(plugins, Settings.load(overrides=config, plugins=not_imported(map(named, plugins))).without)
    settings = Settings.load(overrides=config, plugins=registry.settings)
    registry = registry.served(settings)
    live = LiveSettings(settings, lambda: Settings.load(settings.instance, config, plugins=registry.settings))
    app = Application("gatepost", static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = settings.body_limit
    app.mount = settings.mount
    settle(settings)
    leftovers.remove(settings)
    keys = Keys.load(settings.secret_file)
    # One connection more, for the tasks; half of the threads for requests that need not wait.
    database = open_database(settings.database_url, pool_size=settings.pool_size + 1,
                             synchronous=settings.synchronous, group_commit=settings.group_commit,
                             statement_timeout=settings.statement_timeout, waiting=most_waiting(threads_of(settings)),
                             reads_copies=reads_copies)
    database.ignored = ignored(settings.without)
    try:
        with database.connected():
            if (said := obstacle(database, registry.migrations)) is not None:
                raise NotReady(said)
            known_keys.check(database, keys)
            tables.check(database, registry.collections.values())
            tenant = _default_tenant(settings)
            if gone := left_over(database, registry):
                registry = replace(registry, gone=gone)
        policy = Watcher(source_of(live, registry, database, tenant.id), keep=settings.instance)
    except BaseException:
        database.close_all()
        raise
    epoch = Epoch(database)
    cursors = Cursors(keys.secrets("cursor"), refresh=keys.refresh, epoch=epoch.value)
    keys.followers.append(lambda: cursors.renew(keys.secrets("cursor")))
    keys.guard = lambda ring: known_keys.guard(database, ring)
    trail, uses = Trail(database, keys), DeprecatedUses(database)
    ledger = Ledger(database, settings.instance, registry.vocabulary, tenant.id, registry.plugin_policies,
                    settings.policies)
    lines = LineUses(database, policy.current)
    if in_files := settings.policy_source == FILES:
        ledger.note(policy.current, START)

    def announce(new: Policy) -> None:
        lines.follow(new)
        if in_files:
            ledger.note(new)

    policy.announce = announce
    services = app.extensions["gatepost"] = Services(
        settings=settings, live=live, database=database, epoch=epoch, policy=policy, keys=keys, registry=registry,
        access_tokens=AccessTokens(app, settings, keys), limits=Limits(settings), guest_tenant=tenant.id,
        addresses=UnreadableAddresses(), ownership=Ownership(settings.owner_rows), cursors=cursors, trail=trail,
        deprecated_uses=uses, pulse=Pulse(database),
        translations=Translations(settings.language, registry.translations),
        background=_background(live, database, epoch, policy, keys, trail, uses, ledger, lines))
    try:
        for name, made in registry.features.made(services):
            services.made[name] = made
        services.background.add(*registry.features.background_tasks(services))
        departures = [*registry.features.departures(services)]
    except BaseException:
        database.close_all()
        raise
    live.followers.append(lambda new: _follow(app, services, new))
    epoch.followers.append(lambda: _drop_what_was_restored(services))
    hooks = registry.hooks.values()
    asked_for = transfers.kinds(app, ((one, one.listing, one.served) for one in registry.collections.values()))
    services.jobs = Runner(services, asked_for | {hook.name: hook.run for hook in hooks}, Clock(database, hooks))
    for blueprint in registry.blueprints():
        app.register_blueprint(blueprint)
    refuse_strays(app)
    answer_options(app)
    errors.install(app)
    app.arrivals = [services.addresses.look, errors.refuse_for_the_server, uri.refuse_unusable]
    app.departures = [browsers.telling(live), compression.compress, *departures, logs.request_lines(live)]
    if settings.metrics_token:
        services.metrics = metrics.Metrics(policy, services.limits, Gauges(live, database, keys, services.pulse,
                                                                             registry.features))
        services.addresses.metrics = services.metrics
        database.observe(services.metrics)
        app.departures.append(services.metrics.count)
    negotiation.refuse_unknown_versions(app)
    app.wsgi_app = versions.VersionPrefix(app.wsgi_app)  # type: ignore[method-assign]
    app.wsgi_app = AnswerHeaders(  # type: ignore[method-assign]
        app.wsgi_app, (("API-Version", versions.CURRENT), *browsers.PROTECTION))
    if deep := settings.trusted_proxies:
        app.wsgi_app = ProxyFix(app.wsgi_app, x_for=deep, x_proto=deep, x_host=deep)  # type: ignore[method-assign]
    return app


def _default_tenant(settings: Settings) -> Tenant:
    found = Tenant.by_name(settings.default_tenant)
    if found is None:
        raise NotReady(f"There is no tenant {settings.default_tenant}. Run: gatepost init")
    return found


def _follow(app: Application, services: Services, settings: Settings) -> None:
    """Go on with other values of live settings; who keeps none of them reads `services.settings` or `live.current`."""
    before, services.settings = services.settings, settings
    app.mount = settings.mount
    if settings.time_zone != before.time_zone:
        services.policy.look_soon()  # the cases of tests.yaml are of another zone
    services.limits.follow(settings)
    services.ownership.most = settings.owner_rows


def _drop_what_was_restored(services: Services) -> None:
    """Forget rows that a restore has replaced. Policies and keys are followed as files."""
    services.cursors.epoch = services.epoch.value
    services.ownership.forget_all()
    with services.database.connected():
        services.guest_tenant = _default_tenant(services.settings).id


def _held_roles(database: Database) -> frozenset[str]:
    with database.connected():
        return User.held_roles(database)


def _background(live: LiveSettings, database: Database, epoch: Epoch, policy: Watcher, keys: Keys, trail: Trail,
            uses: DeprecatedUses, ledger: Ledger, lines: LineUses) -> Background:
    """The background tasks, in the order in which those that are due are done."""
    lost = LostRoles(policy, lambda: _held_roles(database))
    presence = Presence(database, live.current.instance, policy, keys)
    return Background(
        BackgroundTask("watching the files of the database", 1, database.watch, at_once=True),
        BackgroundTask("telling that this process serves", PRESENT, presence.report, last=presence.leave, at_once=True),
        BackgroundTask("storing refusals", 1, trail.flush, last=lambda: trail.flush(early=True)),
        BackgroundTask("sealing the audit trail", 2, trail.seal, last=trail.seal),
        BackgroundTask("storing uses of what is deprecated", 1, uses.store, last=uses.store),
        BackgroundTask("storing uses of the policy's lines", EVERY, lines.store, last=lines.end),
        BackgroundTask("telling what the log left out", MINUTE, logs.repetitions.tell),
        BackgroundTask("following restores", 1, epoch.refresh),
        BackgroundTask("completing a restore that was broken off", 5, lambda: settle_meanwhile(live.current)),
        BackgroundTask("following the key file", 1, keys.refresh),
        BackgroundTask("following the policy files", 1, policy.prove_followed),
        BackgroundTask("looking for warnings about the policy", 5, lambda: find_early(policy.current)),
        BackgroundTask("writing down which policy is in force", 1, ledger.store, last=ledger.store),
        BackgroundTask("telling of roles that the policy has lost", 1, lost.tell),
        BackgroundTask("undoing imports that were broken off", 5, lambda: undo_left(database)),
        BackgroundTask("throwing away what has expired", MINUTE, lambda: delete_expired(database)),
        BackgroundTask("telling the planner how tables have grown", MINUTE, database.refresh_statistics),
        BackgroundTask("ending the retention of audit rows, messages and jobs", 60 * MINUTE,
              lambda: end_retention(live.current, database)),
    )

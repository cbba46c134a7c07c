"""Assembly of an app: settings, registry, services, background tasks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

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
from settings import LiveSettings, SettingError, Settings
from settings.declared import DATABASE, FILES

from .collections.plugins import tables
from .collections.plugins.contents import Plugin, named
from .collections.plugins.discovery import discover
from .collections.plugins.entry_points import not_imported
from .collections.plugins.leaving_out import ignored
from .collections.registry import Registry
from .health.gauges import Gauges
from .http.auditing.writer import AuditWriter
from .http.operations import logs, metrics
from .http.operations.addresses import UnreadableAddresses
from .http.operations.background import Background, BackgroundTask
from .http.operations.concurrency import most_waiting, threads_of
from .http.operations.counters import MINUTE
from .http.operations.deprecation import DeprecatedUses
from .http.operations.housekeeping import delete_expired, end_retention
from .http.operations.limits import Limits
from .http.operations.row_quota import RowQuota
from .http.operations.write_probe import WriteProbe
from .http.pipeline.application import Application, Departure, NotReady
from .http.protocol.messages import Translations
from .http.request.call import Services
from .http.security import known_keys
from .http.security.access_tokens import AccessTokens
from .http.security.cursors import Cursors
from .http.security.epoch import Epoch
from .http.security.keys import Keys
from .instance import leftovers
from .instance.journal import settle, settle_meanwhile
from .instance.presence import EVERY as PRESENT
from .instance.presence import Presence
from .jobs import transfers
from .jobs.hooks import Clock
from .jobs.runner import Runner
from .rules.history import HistoryWriter
from .rules.left_over import left_over
from .rules.line_uses import EVERY, LineUses
from .rules.stored import source_of


def load_registry(config: Mapping[str, Any] | None, plugins: tuple[Plugin, ...]) -> tuple[Registry, LiveSettings]:
    """Returns the registry, these plugins included, and the settings; `config` overrides settings by name.

    Raises `SettingError`, `PluginError`.
    """
    # The settings are read twice: the plugins declare further settings, but `without` must be known to load them.
    registry = discover(plugins, Settings.load(overrides=config, plugins=not_imported(map(named, plugins))).without)
    settings = Settings.load(overrides=config, plugins=registry.settings)
    if settings.policy_source == DATABASE and "policy_changes" in registry.absent:
        raise SettingError("without: policy_changes cannot be left out, because the rules are in the database "
                           "(policy_source), and nobody could change them")
    registry = registry.served(settings)
    return registry, LiveSettings(settings, lambda: Settings.load(settings.instance, config, plugins=registry.settings))


def assemble(app: Application, registry: Registry, live: LiveSettings, *, reads_copies: bool
             ) -> tuple[Services, list[Departure]]:
    """Returns the services of an app, those of features included, and the features' functions for responses.

    With `reads_copies`, a read-only database is opened for reading. Raises `KeyFileError`, `FeatureError`,
    `PluginError`, `PolicyError`, `UnderWay` and `NotReady`.
    """
    settings = live.current
    settle(settings)
    leftovers.remove(settings)
    keys = Keys.load(settings.secret_file)
    # One more connection than `pool_size`, for the background tasks. At most half of the threads may wait for one.
    database = open_database(settings.database_url, pool_size=settings.pool_size + 1,
                             synchronous=settings.synchronous, group_commit=settings.group_commit,
                             statement_timeout=settings.statement_timeout, waiting=most_waiting(threads_of(settings)),
                             reads_copies=reads_copies, ignored=ignored(settings.without))
    try:
        with database.connected():
            if (reason := obstacle(database, registry.migrations)) is not None:
                raise NotReady(reason)
            known_keys.check(database, keys)
            tables.check(database, registry.collections.values())
            tenant = _default_tenant(settings)
            if reasons := left_over(database, registry):
                registry = replace(registry, gone=reasons)
        policy = Watcher(source_of(live, registry, database, tenant.id), keep=settings.instance)
    except BaseException:
        database.close_all()
        raise
    epoch = Epoch(database)
    keys.guard = lambda ring: known_keys.guard(database, ring)
    audit_writer, uses = AuditWriter(database, keys), DeprecatedUses(database)
    history = HistoryWriter(database, settings.instance, registry.vocabulary, tenant.id, registry.plugin_policies,
                    settings.policies)
    lines = LineUses(database, policy.current)
    if in_files := settings.policy_source == FILES:
        history.note(policy.current, START)

    def announce(new: Policy) -> None:
        lines.follow(new)
        if in_files:
            history.note(new)

    policy.announce = announce
    services = app.extensions["gatepost"] = Services(
        settings=settings, live=live, database=database, epoch=epoch, policy=policy, keys=keys, registry=registry,
        access_tokens=AccessTokens(app, settings, keys), limits=Limits(settings), guest_tenant=tenant.id,
        addresses=UnreadableAddresses(), row_quota=RowQuota(settings.owner_rows), cursors=Cursors.of(keys, epoch),
        audit_writer=audit_writer, deprecated_uses=uses, write_probe=WriteProbe(database),
        translations=Translations(settings.language, registry.translations),
        caller=registry.features.caller(), next_steps=registry.features.next_steps(),
        bearers=registry.features.bearers(),
        droppers=registry.features.droppers(), facts=registry.features.facts(),
        background=_background(live, database, epoch, policy, keys, audit_writer, uses, history, lines))
    try:
        for name, service in registry.features.made(services):
            services.made[name] = service
        services.background.add(*registry.features.background_tasks(services))
        departures = [*registry.features.departures(services)]
    except BaseException:
        database.close_all()
        raise
    live.followers.append(lambda new: _follow(app, services, new))
    epoch.followers.append(lambda: _forget_replaced_rows(services))
    hooks = registry.hooks.values()
    kinds = transfers.kinds(app, ((collection, collection.listing, collection.served)
                                  for collection in registry.collections.values()))
    services.jobs = Runner(services, kinds | {hook.name: hook.run for hook in hooks}, Clock(database, hooks))
    if metrics.are_served(settings):
        services.metrics = metrics.Metrics(policy, services.limits, Gauges(live, database, keys, services.write_probe,
                                                                   registry.features))
        services.addresses.metrics = services.metrics
        database.observe(services.metrics)
    return services, departures


def _default_tenant(settings: Settings) -> Tenant:
    tenant = Tenant.by_name(settings.default_tenant)
    if tenant is None:
        raise NotReady(f"There is no tenant {settings.default_tenant}. Run: gatepost init")
    return tenant


def _follow(app: Application, services: Services, settings: Settings) -> None:
    """Applies new values of live settings to objects that copy them. Others read `services.settings` each time."""
    old, services.settings = services.settings, settings
    app.mount = settings.mount
    if settings.time_zone != old.time_zone:
        services.policy.look_soon()  # the cases in tests.yaml are checked again in the new zone
    services.limits.follow(settings)
    services.row_quota.most = settings.owner_rows


def _forget_replaced_rows(services: Services) -> None:
    """Clears cached values of rows that a restore has replaced. Policies and keys are reloaded from their files."""
    services.row_quota.forget_all()
    with services.database.connected():
        services.guest_tenant = _default_tenant(services.settings).id


def _roles_in_use(database: Database) -> frozenset[str]:
    with database.connected():
        return User.held_roles(database)


def _background(live: LiveSettings, database: Database, epoch: Epoch, policy: Watcher, keys: Keys,
                audit_writer: AuditWriter, uses: DeprecatedUses, history: HistoryWriter, lines: LineUses) -> Background:
    """Returns the background tasks, in the order in which due tasks run."""
    lost_roles = LostRoles(policy, lambda: _roles_in_use(database))
    presence = Presence(database, live.current.instance, policy, keys)
    return Background(
        BackgroundTask("watching the files of the database", 1, database.watch, at_once=True),
        BackgroundTask("sending the heartbeat", PRESENT, presence.report, last=presence.leave, at_once=True),
        BackgroundTask("storing refusals", 1, audit_writer.flush, last=lambda: audit_writer.flush(early=True)),
        BackgroundTask("sealing the audit log", 2, audit_writer.seal, last=audit_writer.seal),
        BackgroundTask("storing uses of deprecated fields", 1, uses.store, last=uses.store),
        BackgroundTask("storing uses of rules", EVERY, lines.store, last=lines.end),
        BackgroundTask("logging the number of suppressed messages", MINUTE, logs.repetitions.tell),
        BackgroundTask("following restores", 1, epoch.refresh),
        BackgroundTask("completing an interrupted restore", 5, lambda: settle_meanwhile(live.current)),
        BackgroundTask("following the key file", 1, keys.refresh),
        BackgroundTask("following the policy files", 1, policy.prove_followed),
        BackgroundTask("looking for warnings about the policy", 5, lambda: find_early(policy.current)),
        BackgroundTask("writing the policy history", 1, history.store, last=history.store),
        BackgroundTask("reporting roles that the policy has lost", 1, lost_roles.tell),
        BackgroundTask("undoing interrupted imports", 5, lambda: undo_left(database)),
        BackgroundTask("deleting expired rows", MINUTE, lambda: delete_expired(database)),
        BackgroundTask("refreshing the statistics of tables", MINUTE, database.refresh_statistics),
        BackgroundTask("deleting audit events, messages and jobs after their retention", 60 * MINUTE,
                       lambda: end_retention(live.current, database)),
    )

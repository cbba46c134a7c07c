"""Declarations of every setting: name, type, default, allowed values and purpose."""

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self
from zoneinfo import ZoneInfo

from marshmallow import fields

from settings.kinds import (
    base_url,
    by_role,
    choice,
    domain,
    known_origins,
    known_time_zone,
    mail_sender,
    names,
    seconds,
    smtp_url,
    switch,
    text,
    url_of,
    whole,
)
from settings.plugins import Plugins, PluginSettings, flattened, imported
from settings.providers import providers_field, read_providers
from settings.sources import PREFIX, Known, SettingError, environment_with, from_environment, merge, read_toml

FILES, DATABASE = "files", "database"  # where the rules are


def setting(default: Any, field: fields.Field[Any], help: str, *, secret: bool = False, live: bool = False) -> Any:
    """Declares one setting: its default, the marshmallow field that parses and checks it, and its help.

    The value of a `secret` setting is never shown. A running service takes over a new value of a `live` setting.
    """
    metadata = {"field": field, "help": help, "secret": secret, "live": live}
    if isinstance(default, dict):
        return dataclasses.field(default_factory=lambda: dict(default), metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def live(default: Any, field: fields.Field[Any], help: str) -> Any:
    """Declares a setting whose new value a running service takes over (`LiveSettings`). Code must read it each time."""
    return setting(default, field, help, live=True)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings:
    """The current values, immutable. `LiveSettings` replaces the whole object. Every number's help names its unit."""

    instance: Path = setting(Path("instance"), fields.String(), "the folder of secrets, policies and SQLite")

    # where the rows are
    database_url: str = setting("", url_of("sqlite", "postgresql"),
                                "sqlite:///path or postgresql://…; empty: the instance", secret=True)
    pool_size: int = setting(8, whole(4, 500), "database connections that one process keeps to Postgres")
    synchronous: str = setting("full", choice("full", "normal"),
                               "SQLite: full survives a power cut, normal a killed process only")
    group_commit: bool = setting(True, switch(), "SQLite: simultaneous writers share a transaction")
    statement_timeout: float = setting(10.0, seconds(0.1, 3600),
                                       "seconds after which a database statement is stopped; a silent Postgres: 1 more")
    redis_url: str = setting("", url_of("redis", "rediss", "unix"),
                             "limits that processes share; empty: in memory", secret=True)

    # where the service listens
    host: str = setting("127.0.0.1", text(r"\S+", "a host name or an address"), "address to listen on")
    port: int = setting(8000, whole(0, 65535), "port to listen on; 0 chooses a free one")
    threads: int = setting(8, whole(1, 500), "requests that one process handles at a time")
    one_core: bool = setting(True, switch(), "keep the requests of each process on one core (Linux): twice as quick")
    workers: int = setting(0, whole(0, 64), "processes of granian (extra `fast`); 0: one of waitress")
    trusted_proxies: int = setting(0, whole(0, 10), "proxies in front whose X-Forwarded-* headers count")
    public_url: str = live("", base_url(), "the URL that clients use; empty: http://host:port")
    drain_timeout: float = setting(30.0, seconds(0, 3600), "seconds that a stop waits for current requests")

    # who and where
    default_tenant: str = setting("default", text(r"[a-z0-9][a-z0-9_-]{0,62}", "lower-case letters, digits, - and _"),
                                  "the tenant of callers without credentials")
    policy_source: str = setting(FILES, choice(FILES, DATABASE),
                                 "where the rules are: files of the instance, or the database, for several nodes")
    policy_edit: bool = live(False, switch(), "let administrators put a policy in force over HTTP")
    explain_refusals: str = live("off", choice("off", "self"), "self: a 403 of the policy gives its caller the reason")
    without: tuple[str, ...] = setting((), names(), "collections and features to leave out, such as comments authzen")
    time_zone: str = live("UTC", fields.String(validate=known_time_zone), "the zone of hour, weekday and date")
    language: str = setting("en", text(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*", "a language tag such as en or pt-BR"),
                            "the language of texts when the caller names none")

    # sessions
    issuer: str = setting("gatepost", text(r"\S+", "text without spaces"), "iss and aud of access tokens")
    token_algorithm: str = setting("HS256", choice("HS256", "ES256", "EdDSA"),
                                   "signature algorithm of access tokens; ES256 and EdDSA publish a JWKS")
    access_token_minutes: int = setting(15, whole(1, 1440), "minutes that an access token is valid")
    refresh_idle_days: int = live(7, whole(1, 365), "days after which an unused session ends")
    refresh_absolute_days: int = live(30, whole(1, 3650), "days after which every session ends")
    user_sessions: int = live(100, whole(1, 10**6), "most live sessions of a user; one more ends the least used")
    console: bool = setting(True, switch(), "serve the pages for administrators at /console")
    console_idle_minutes: int = live(60, whole(1, 1440), "minutes after which an unused login on the console ends")
    console_hours: int = live(12, whole(1, 168), "hours after which every login on the console ends")
    password_link_hours: int = live(24, whole(1, 168), "hours that a link to choose a password is valid")
    token_max_days: int = live(365, whole(1, 3650), "most days that a service token made over HTTP is valid")

    # limits
    rate_limits: bool = live(True, switch(), "count requests and answer 429; off only to measure")
    principal_units: int = live(600, whole(1, 10**9), "cost units a minute for one principal")
    role_units: Mapping[str, int] = live(
        {}, by_role("units", 10**9), "units a minute of one role, or of service tokens, instead of principal_units")
    address_units: int = live(6000, whole(1, 10**9), "cost units a minute for one address")
    login_attempts: int = live(10, whole(1, 10**6), "failed logins a minute from a network; tenfold for an account")
    body_limit: int = setting(2**20, whole(1024, 2**30), "most bytes of a request body (1048576 are 1 MiB)")
    import_limit: int = setting(32 * 2**20, whole(1024, 2**30), "most bytes of an import (33554432 are 32 MiB)")
    import_changes: int = live(10_000, whole(0, 10**9), "most lines of one import that change existing rows")
    owner_rows: int = live(100_000, whole(0, 10**9),
                           "row quota: rows of one collection that a user without its manage may own; 0: no quota")

    # work outside of requests
    run_jobs: bool = setting(True, switch(), "run jobs in the serving processes; off: only `gatepost worker` runs them")
    job_quota: int = live(256 * 2**20, whole(0, 2**40), "most bytes of a user's job files (268435456 are 256 MiB)")

    # backups
    backup_hours: int = live(0, whole(0, 8784), "hours between two scheduled backups; 0: none are scheduled")
    backup_folder: str = live("", fields.String(), "the folder of backups; empty: backups, in the instance")
    backup_recipient: str = live(
        "", text(r"(age1[a-z0-9]+|ssh-(ed25519|rsa) \S+( .*)?)?", "a recipient of age: age1… or ssh-ed25519 …"),
        "recipient of age to whom backups are encrypted (extra `backup`); empty: they are not")
    backup_command: str = live("", fields.String(),
                               "command that gets the path of each new backup, to copy it elsewhere")
    backup_prove: bool = live(True, switch(), "prove each scheduled backup by a restore into a temporary folder")

    # passkeys
    rp_id: str = setting("", domain(), "domain of passkeys: the host of public_url, or a domain above; empty: none")

    # mail
    smtp_url: str = setting("", smtp_url(), "mail server, such as smtps://user:password@host; empty: no mail is sent",
                            secret=True)
    mail_from: str = setting("", mail_sender(), "the sender of mail: an address, or Name <address>")
    mail_notices: bool = setting(True, switch(), "mail users about a new password, address, or network of a login")

    # logins with an identity provider
    oidc: Mapping[str, Any] = setting({}, providers_field(),
                                      "identity providers for logins (OpenID Connect), each a table: [oidc.keycloak]",
                                      secret=True)

    # what is kept for how long
    audit_days: int = live(365, whole(0, 36500), "days that audit events are kept; 0: forever")
    job_days: int = live(30, whole(0, 36500), "days that ended jobs are kept; 0: forever")
    contact_days: int = live(365, whole(0, 36500), "days that contact messages are kept; 0: forever")

    # answers
    page_size: int = live(20, whole(1, 1000), "rows on a page when the caller names no size")
    max_page_size: int = live(100, whole(1, 1000), "most rows on a page")
    page_sizes: Mapping[str, int] = live(
        {"admin": 200, "owner": 200, "support": 200, "developer": 200, "service": 200}, by_role("size", 1000),
        "most rows on a page for one role, or for service tokens")
    require_if_match: bool = live(False, switch(), "refuse PUT, PATCH and DELETE without If-Match (428)")
    server_timing: bool = live(False, switch(), "send Server-Timing; the times may reveal that a hidden row exists")
    docs: bool = live(True, switch(), "serve /docs and /api/openapi.json")
    metrics_token: str = setting("", text(r"(\S{16,})?", "at least 16 characters, without spaces"),
                                 "token of /metrics; empty: off", secret=True)
    cors_origins: str = live("", fields.String(validate=known_origins),
                             "origins whose pages may call the API, or *; empty: none (no CORS)")
    cors_headers: str = live("", text(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+( +|$))*", "names of headers, separated by spaces"),
                             "custom headers that such pages may send and read, separated by spaces")
    hsts_seconds: int = live(0, whole(0, 10**9),
                             "seconds that browsers must use HTTPS only (Strict-Transport-Security); 0: not sent")

    # the log
    log_level: str = live("info", choice("debug", "info", "warning", "error"), "least severity logged")
    log_requests: bool = live(False, switch(), "log one line for every request")

    # what plugins declare
    of_plugins: PluginSettings = dataclasses.field(default_factory=PluginSettings)

    @classmethod
    def load(
        cls,
        instance: str | Path | None = None,
        overrides: Mapping[str, Any] | None = None,
        environ: Mapping[str, str] = os.environ,
        plugins: Plugins | None = None,
    ) -> Self:
        """Reads all sources and checks every value.

        `instance` overrides ``GATEPOST_INSTANCE``; the folder need not exist. `plugins` declare further settings.
        Raises `SettingError` with all errors of the first source that has some.
        """
        environment = dict(from_environment(environ))
        explicit = dict(overrides or {})
        chosen = instance or explicit.get("instance") or environment.get("instance") or "instance"
        folder = Path(chosen).expanduser().absolute()
        file = folder / "settings.toml"

        plugins = plugins or {}
        theirs = PluginSettings.of(plugins)
        in_tables = {**_own_settings(), **{name: Known(name, declared.field, declared.secret)
                                           for name, declared in theirs.declared.items()}}
        as_variables = {name.replace(".", "_"): setting for name, setting in in_tables.items()}
        values: dict[str, Any] = {}
        merge(values, imported(flattened(read_toml(file), plugins), plugins, ".", in_tables), str(file), in_tables)
        merge(values, imported(environment, plugins, "_", as_variables), "the environment", as_variables, prefix=PREFIX)
        merge(values, imported(flattened(explicit, plugins), plugins, ".", in_tables),
              "the command line or configuration", in_tables)
        try:
            read_providers(values.get("oidc", {}))
        except ValueError as error:
            raise SettingError(str(error)) from None
        values["instance"] = folder
        values["database_url"] = values.get("database_url") or f"sqlite:///{folder / 'gatepost.db'}"
        of_plugins = {name: values.pop(name) for name in theirs.declared.keys() & values.keys()}
        return cls(**values, of_plugins=theirs.with_values(of_plugins))

    @property
    def own(self) -> Self:
        """A copy without settings of plugins, which can be passed to another process."""
        return dataclasses.replace(self, of_plugins=PluginSettings())

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables for a process that works on the same instance and database."""
        return environment_with({"instance": str(self.instance), "database_url": self.database_url})

    @property
    def secret_file(self) -> Path:
        """The file of the key ring. The key of each purpose is derived from it."""
        return self.instance / "secret.key"

    @property
    def policies(self) -> Path:
        """The folder of the policy files."""
        return self.instance / "policies"

    @property
    def backups(self) -> Path:
        """The folder of backups."""
        return self.instance / (self.backup_folder or "backups")

    @property
    def url(self) -> str:
        """The base URL that clients use, without a final slash."""
        if self.public_url:
            return self.public_url.rstrip("/")
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    @property
    def mount(self) -> str:
        """The path of `public_url` without a final slash. The proxy removes it from requests. Usually empty."""
        _, slash, path = self.public_url.partition("://")[2].rstrip("/").partition("/")
        return slash + path

    @property
    def zone(self) -> ZoneInfo:
        """The time zone of ``r.env``."""
        return ZoneInfo(self.time_zone)


DECLARED = {field.name: field for field in dataclasses.fields(Settings) if "field" in field.metadata}


def _own_settings() -> dict[str, Known]:
    """Returns Gatepost's own settings, by name."""
    return {name: Known(name, field.metadata["field"], field.metadata["secret"],
                        field.default_factory() if field.default_factory is not dataclasses.MISSING else None)
            for name, field in DECLARED.items()}

"""Every setting of Gatepost, once: name, type, default, what is allowed and what it is for.

This is the only module that reads the environment. Sources, each overriding the one before:

1. the defaults below;
2. ``<instance>/settings.toml``;
3. environment variables ``GATEPOST_<NAME>`` (``GATEPOST_PAGE_SIZES__EDITOR=200`` sets one entry of a table);
4. explicit overrides: command-line options, ``create_app(config=…)``.

A name that is not declared here and a value that is not allowed raise `SettingError`.
"""

import dataclasses
import difflib
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self
from zoneinfo import ZoneInfo, available_timezones

from marshmallow import ValidationError, fields, validate

PREFIX = "GATEPOST_"
_ORIGIN = re.compile(r"https?://[a-z0-9.-]+(:\d{1,5})?|https?://\[[0-9a-f:.]+\](:\d{1,5})?")
REDACTED = "********"


class SettingError(ValueError):
    """A setting is unknown or has a value that is not allowed; the text names it, its source and what is."""


class Whole(fields.Integer):
    """A whole number: TOML's ``true`` and ``1.5`` are not, though Python would convert them."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> int:
        if isinstance(value, bool | float):
            raise self.make_error("invalid", input=value)
        return super()._deserialize(value, attr, data, **kwargs)


def _whole(low: int, high: int) -> fields.Field[Any]:
    allowed = f"a whole number from {low} to {high}"
    return Whole(validate=validate.Range(low, high, error=allowed), error_messages={"invalid": allowed})


def _choice(*choices: str) -> fields.Field[Any]:
    return fields.String(validate=validate.OneOf(choices, error=f"one of {', '.join(choices)}"))


def _text(pattern: str, allowed: str) -> fields.Field[Any]:
    shape = validate.Regexp(rf"(?:{pattern})\Z", error=allowed)
    return fields.String(validate=shape, error_messages={"invalid": allowed})


def _switch() -> fields.Field[Any]:
    on, off = {"on", "true", "1", True}, {"off", "false", "0", False}
    return fields.Boolean(truthy=on, falsy=off, error_messages={"invalid": "on or off"})


def _seconds(low: float, high: float) -> fields.Field[Any]:
    allowed = f"seconds from {low:g} to {high:g}"
    within = validate.Range(low, high, error=allowed)
    return fields.Float(validate=within, error_messages={"invalid": allowed, "special": allowed})


def _url(*schemes: str) -> fields.Field[Any]:
    allowed = "a URL that starts with " + " or ".join(f"{scheme}://" for scheme in schemes)

    def check(value: str) -> None:
        scheme, separator, rest = value.partition("://")
        if value and not (separator and rest and scheme in schemes):
            raise ValidationError(allowed)

    return fields.String(validate=check)


def _time_zone(value: str) -> None:
    if value not in available_timezones():
        raise ValidationError("a name of the IANA time zone database, such as Europe/Berlin")


def _by_role(what: str, high: int) -> fields.Field[Any]:
    wrong = f"a table of role = {what}"
    return fields.Dict(keys=fields.String(), values=_whole(1, high), error_messages={"invalid": wrong})


def _origins(value: str) -> None:
    """Origins as browsers send them (RFC 6454 section 6.2): scheme, host, port, and nothing else."""
    for origin in value.split():
        if origin != "*" and not _ORIGIN.fullmatch(origin):
            raise ValidationError("origins such as https://app.example.org, separated by spaces, or *")


def setting(default: Any, field: fields.Field[Any], help: str, *, secret: bool = False) -> Any:
    """Declare one setting: its default, the marshmallow field that parses and checks it, and its help."""
    metadata = {"field": field, "help": help, "secret": secret}
    if isinstance(default, dict):
        return dataclasses.field(default_factory=lambda: dict(default), metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings:
    """The values in force. Immutable: a change needs a restart. Every number's help names its unit."""

    instance: Path = setting(Path("instance"), fields.String(), "the folder of secrets, policies and SQLite")

    # where the rows are
    database_url: str = setting("", _url("sqlite", "postgresql"),
                                "sqlite:///path or postgresql://…; empty: the instance", secret=True)
    pool_size: int = setting(8, _whole(4, 500), "database connections that one process keeps to Postgres")
    synchronous: str = setting("full", _choice("full", "normal"),
                               "SQLite: full survives a power cut, normal a killed process only")
    group_commit: bool = setting(True, _switch(), "SQLite: writers at one time share a transaction; off: none does")
    statement_timeout: float = setting(10.0, _seconds(0.1, 3600),
                                       "seconds after which a database statement is stopped; a silent Postgres: 1 more")
    redis_url: str = setting("", _url("redis", "rediss", "unix"),
                             "limits that processes share; empty: in memory", secret=True)

    # where the service listens
    host: str = setting("127.0.0.1", _text(r"\S+", "a host name or an address"), "address to listen on")
    port: int = setting(8000, _whole(0, 65535), "port to listen on; 0 chooses a free one")
    threads: int = setting(8, _whole(1, 500), "requests that one process handles at a time")
    one_core: bool = setting(True, _switch(), "keep the requests of each process on one core (Linux): twice as quick")
    workers: int = setting(0, _whole(0, 64), "processes of granian (extra `fast`); 0: one of waitress")
    trusted_proxies: int = setting(0, _whole(0, 10), "proxies in front whose X-Forwarded-* headers count")
    public_url: str = setting("", _url("http", "https"), "the URL that clients use; empty: http://host:port")
    drain_timeout: float = setting(30.0, _seconds(0, 3600), "seconds that a stop waits for requests under way")

    # who and where
    default_tenant: str = setting("default", _text(r"[a-z0-9][a-z0-9_-]{0,62}", "lower-case letters, digits, - and _"),
                                  "the tenant of callers without credentials")
    policy_edit: bool = setting(False, _switch(), "let administrators put a policy in force over HTTP")
    explain_refusals: str = setting("off", _choice("off", "self"), "self: a 403 of the policy tells its caller why")
    time_zone: str = setting("UTC", fields.String(validate=_time_zone), "the zone of hour, weekday and date")
    language: str = setting("en", _text(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*", "a language tag such as en or pt-BR"),
                            "the language of texts when the caller names none")

    # sessions
    issuer: str = setting("gatepost", _text(r"\S+", "text without spaces"), "iss and aud of access tokens")
    token_algorithm: str = setting("HS256", _choice("HS256", "ES256", "EdDSA"),
                                   "what signs access tokens; ES256 and EdDSA publish a JWKS")
    access_token_minutes: int = setting(15, _whole(1, 1440), "minutes that an access token is valid")
    refresh_idle_days: int = setting(7, _whole(1, 365), "days after which an unused session ends")
    refresh_absolute_days: int = setting(30, _whole(1, 3650), "days after which every session ends")
    user_sessions: int = setting(100, _whole(1, 10**6), "most live sessions of a user; one more ends the least used")
    token_max_days: int = setting(365, _whole(1, 3650), "most days that a service token made over HTTP is valid")

    # limits
    rate_limits: bool = setting(True, _switch(), "count requests and answer 429; off only to measure")
    principal_units: int = setting(600, _whole(1, 10**9), "cost units a minute for one principal")
    role_units: Mapping[str, int] = setting(
        {}, _by_role("units", 10**9), "units a minute of one role, or of service tokens, instead of principal_units")
    address_units: int = setting(6000, _whole(1, 10**9), "cost units a minute for one address")
    login_attempts: int = setting(10, _whole(1, 10**6), "failed logins a minute from a network; tenfold for an account")
    body_limit: int = setting(2**20, _whole(1024, 2**30), "most bytes of a request body (1048576 are 1 MiB)")
    import_limit: int = setting(32 * 2**20, _whole(1024, 2**30), "most bytes of an import (33554432 are 32 MiB)")
    import_changes: int = setting(10_000, _whole(0, 10**9), "lines of one import that may change rows that are there")
    owner_rows: int = setting(100_000, _whole(0, 10**9),
                              "rows of one collection that a user may own, without its manage; 0: any number")

    # work outside of requests
    run_jobs: bool = setting(True, _switch(), "run jobs in the processes that serve; off: `gatepost worker` alone does")
    job_quota: int = setting(256 * 2**20, _whole(0, 2**40), "most bytes of a user's job files (268435456 are 256 MiB)")

    # what is kept for how long
    audit_days: int = setting(365, _whole(0, 36500), "days that audit rows are kept; 0: for ever")
    job_days: int = setting(30, _whole(0, 36500), "days that jobs are kept once they have ended; 0: for ever")
    contact_days: int = setting(365, _whole(0, 36500), "days that contact messages are kept; 0: for ever")

    # answers
    page_size: int = setting(20, _whole(1, 1000), "rows on a page when the caller names no size")
    max_page_size: int = setting(100, _whole(1, 1000), "most rows on a page")
    page_sizes: Mapping[str, int] = setting(
        {"admin": 200, "owner": 200, "support": 200, "developer": 200, "service": 200}, _by_role("size", 1000),
        "most rows on a page for one role, or for service tokens")
    require_if_match: bool = setting(False, _switch(), "refuse PUT, PATCH and DELETE without If-Match (428)")
    server_timing: bool = setting(False, _switch(), "send Server-Timing; tells hidden rows from absent ones")
    docs: bool = setting(True, _switch(), "serve /docs and /api/openapi.json")
    metrics_token: str = setting("", _text(r"(\S{16,})?", "at least 16 characters, without spaces"),
                                 "token of /metrics; empty: off", secret=True)
    cors_origins: str = setting("", fields.String(validate=_origins),
                                "origins whose pages may call the API, or *; empty: none (no CORS)")
    hsts_seconds: int = setting(0, _whole(0, 10**9),
                                "seconds that browsers must use HTTPS only (Strict-Transport-Security); 0: not said")

    # the log
    log_level: str = setting("info", _choice("debug", "info", "warning", "error"), "least severity logged")
    log_requests: bool = setting(False, _switch(), "log one line for every request")

    @classmethod
    def load(
        cls,
        instance: str | Path | None = None,
        overrides: Mapping[str, Any] | None = None,
        environ: Mapping[str, str] = os.environ,
    ) -> Self:
        """Read all sources and check every value.

        `instance` wins over ``GATEPOST_INSTANCE``; it need not exist yet.
        Raises `SettingError` at the first source that has something wrong, with all that is wrong in it.
        """
        environment = dict(_from_environment(environ))
        explicit = dict(overrides or {})
        chosen = instance or explicit.get("instance") or environment.get("instance") or "instance"
        folder = Path(chosen).expanduser().absolute()
        file = folder / "settings.toml"

        values: dict[str, Any] = {}
        _merge(values, _read_toml(file), str(file))
        _merge(values, environment, "the environment", prefix=PREFIX)
        _merge(values, explicit, "the command line or configuration")
        values["instance"] = folder
        values["database_url"] = values.get("database_url") or f"sqlite:///{folder / 'gatepost.db'}"
        return cls(**values)

    @property
    def secret_file(self) -> Path:
        """The key ring from which the key of each purpose is derived."""
        return self.instance / "secret.key"

    @property
    def policies(self) -> Path:
        """The folder of policy files in force."""
        return self.instance / "policies"

    @property
    def url(self) -> str:
        """The base URL that clients use, without a final slash."""
        if self.public_url:
            return self.public_url.rstrip("/")
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    @property
    def zone(self) -> ZoneInfo:
        """The time zone of ``r.env``."""
        return ZoneInfo(self.time_zone)


DECLARED = {field.name: field for field in dataclasses.fields(Settings)}


def _from_environment(environ: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    """``GATEPOST_A=x`` as (a, x) and ``GATEPOST_A__B=x`` as (a, {b: x}), as Flask's from_prefixed_env has it.

    Values stay text: a password of digits must not become a number.
    """
    tables: dict[str, dict[str, str]] = {}
    for variable, text in environ.items():
        if not variable.startswith(PREFIX):
            continue
        name, _, entry = variable.removeprefix(PREFIX).lower().partition("__")
        if entry:
            tables.setdefault(name, {})[entry] = text
        else:
            yield name, text
    yield from tables.items()


def _read_toml(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingError(f"{file}: cannot be read: {error}") from error


def _merge(values: dict[str, Any], source: Mapping[str, Any], where: str, prefix: str = "") -> None:
    """Check what one source says and lay it over `values`; a table is completed, not replaced."""
    wrong = []
    for name, raw in source.items():
        shown = prefix + name.upper() if prefix else name
        if name not in DECLARED:
            near = difflib.get_close_matches(name, DECLARED, n=1)
            meant = f"; did you mean {prefix + near[0].upper() if prefix else near[0]}?" if near else ""
            wrong.append(f"{shown} ({where}): there is no such setting{meant}")
            continue
        declared = DECLARED[name]
        try:
            value = declared.metadata["field"].deserialize(str(raw) if isinstance(raw, Path) else raw)
        except ValidationError as error:
            given = REDACTED if declared.metadata["secret"] else repr(raw)
            wrong.append(f"{shown} ({where}): {given} is not allowed: {_allowed(error.messages)}")
            continue
        if isinstance(value, dict) and declared.default_factory is not dataclasses.MISSING:
            value = values.get(name, declared.default_factory()) | value
        values[name] = value
    if wrong:
        raise SettingError("\n".join(wrong))


def _allowed(messages: Any) -> str:
    """Marshmallow's messages, which nest where the value is a table, as one line."""
    if isinstance(messages, dict):
        return "; ".join(_allowed(inner) for inner in messages.values())
    return "; ".join(map(str, messages))

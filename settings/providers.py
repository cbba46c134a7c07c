"""Identity providers (OpenID Connect): the tables `[oidc.<name>]` of settings.toml."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any
from urllib.parse import urlsplit

from marshmallow import ValidationError
from marshmallow import fields as schema

from settings.kinds import names, seconds, switch, text, whole

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_LONGEST_NAME = 32
_WRONG_NAME = f"its name must be small letters, digits and single underscores, {_LONGEST_NAME} characters at most"


class _Algorithms(schema.Field[tuple[str, ...]]):
    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> tuple[str, ...]:
        chosen: tuple[str, ...] = names().deserialize(value)
        if not chosen or not set(chosen) <= set(ALGORITHMS):
            raise ValidationError(f"some of {', '.join(ALGORITHMS)}")
        return chosen


class _Scopes(schema.Field[tuple[str, ...]]):
    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> tuple[str, ...]:
        chosen: tuple[str, ...] = names().deserialize(value)
        if "openid" not in chosen or not all(re.fullmatch(r"[\x21\x23-\x5b\x5d-\x7e]+", scope) for scope in chosen):
            raise ValidationError("scopes, among them openid")
        return chosen


def _issuer() -> schema.Field[Any]:
    allowed = "the URL of the issuer, such as https://login.example.org/realms/team"

    def check(value: str) -> None:
        try:
            parts = urlsplit(value)
            is_url = parts.scheme in ("https", "http") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            is_url = False
        if not is_url or parts.query or parts.fragment or parts.username is not None or not re.fullmatch(
                r"[\x21-\x7e]{1,500}", value):
            raise ValidationError(allowed)

    return schema.String(validate=check, error_messages={"invalid": allowed})


def _entry(field_of_it: schema.Field[Any], help: str, default: Any = ...) -> Any:
    metadata = {"field": field_of_it, "help": help}
    return field(metadata=metadata) if default is ... else field(default=default, metadata=metadata)


@dataclass(frozen=True, kw_only=True)
class Provider:
    """One identity provider. Every entry of its table is a field; the number of a help names its unit."""

    name: str = field(metadata={})
    issuer: str = _entry(_issuer(), "the issuer's URL, exactly as its discovery document has it")
    client_id: str = _entry(text(r"[\x20-\x7e]{1,500}", "text in ASCII"), "the id that the provider gave Gatepost")
    client_secret: str = _entry(text(r"[\x20-\x7e]{0,1000}", "text in ASCII"),
                                "the secret that belongs to it; empty: a public client", "")
    label: str = _entry(text(r"[^\x00-\x1f\x7f]{0,60}", "at most 60 characters"),
                        "the name on the button; empty: the name of the table", "")
    scopes: tuple[str, ...] = _entry(_Scopes(), "what is requested; openid is needed", ("openid", "profile", "email"))
    algorithms: tuple[str, ...] = _entry(_Algorithms(), "signature algorithms that are accepted",
                                         ("RS256", "ES256", "PS256", "EdDSA"))
    create_users: bool = _entry(switch(), "create an account at the first login of an unknown identity", False)
    role: str = _entry(text(r"[a-z][a-z0-9_-]*", "a role of the policy"), "the role of accounts that are created",
                       "user")
    domains: tuple[str, ...] = _entry(names(), "domains of their e-mail addresses; none: any domain", ())
    trust_email: bool = _entry(switch(), "treat addresses as verified although the provider does not say so", False)
    session_hours: int = _entry(whole(1, 168), "hours after which a login ends, if console_hours is not less", 12)
    mfa_acr: tuple[str, ...] = _entry(names(), "values of acr that mean a second factor, besides mfa in amr", ())
    groups_claim: str = _entry(text(r"[\x21-\x7e]{0,200}", "the name of a claim, or a path such as realm_access.roles"),
                               "the claim with the user's groups, or its path: realm_access.roles; empty: none", "")
    audience: str = _entry(text(r"[\x20-\x7e]{0,500}", "text in ASCII"),
                           "the aud of access tokens for the API; empty: its tokens are not accepted", "")
    private: bool = _entry(switch(), "the provider may have a private address, and may use http", False)
    timeout: float = _entry(seconds(0.1, 30), "seconds to wait for one answer of the provider", 5.0)

    def __repr__(self) -> str:
        return f"Provider({self.name!r})"  # not the secret

    @property
    def title(self) -> str:
        """The name on the button."""
        return self.label or self.name


_ENTRIES = {entry.name: entry for entry in fields(Provider) if entry.metadata}
SECRET = "client_secret"


class _Providers(schema.Field[dict[str, Any]]):
    """Tables by the name of the provider; in the environment, GATEPOST_OIDC__<PROVIDER>__<ENTRY>.

    The value has one level, `keycloak.client_id`, so that each source may set single entries.
    """

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise ValidationError("tables such as [oidc.keycloak]")
        loaded, wrong = dict[str, Any](), dict[str, list[str]]()
        for place, raw in _flat(value).items():
            name, _, entry = place.partition(".")
            try:
                if not _NAME.fullmatch(name) or len(name) > _LONGEST_NAME:
                    raise ValidationError(_WRONG_NAME)
                if entry not in _ENTRIES:
                    raise ValidationError(f"there is no such entry; there are {', '.join(_ENTRIES)}")
                loaded[place] = _ENTRIES[entry].metadata["field"].deserialize(raw)
            except ValidationError as error:
                wrong[place] = [f"oidc.{place}: {' '.join(map(str, error.messages))}"]
        if wrong:
            raise ValidationError({place: texts for place, texts in wrong.items()})
        return loaded


def _flat(value: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, raw in value.items():
        if isinstance(raw, Mapping):
            flat |= {f"{name}.{entry}": inner for entry, inner in raw.items()}
        else:
            flat[str(name).replace("__", ".", 1)] = raw
    return flat


def providers_field() -> schema.Field[Any]:
    """Returns a field for the tables of providers."""
    return _Providers()


def read_providers(values: Mapping[str, Any]) -> dict[str, Provider]:
    """Returns the providers by name, from the value of the setting. Raises ValueError for an incomplete table."""
    tables: dict[str, dict[str, Any]] = {}
    with_audience: dict[str, str] = {}
    for place, value in sorted(values.items()):
        name, _, entry = place.partition(".")
        tables.setdefault(name, {})[entry] = value
    for name, table in tables.items():
        for entry in ("issuer", "client_id"):
            if entry not in table:
                raise ValueError(f"oidc.{name}.{entry} is missing")
        if table["issuer"].startswith("http:") and not table.get("private"):
            raise ValueError(f"oidc.{name}.issuer must begin with https://, unless oidc.{name}.private is on")
        if table.get("audience"):
            if table["audience"] == table["client_id"]:
                raise ValueError(f"oidc.{name}.audience must differ from oidc.{name}.client_id, which is the audience "
                                 "of ID tokens")
            if (other := with_audience.setdefault(table["issuer"], name)) != name:
                raise ValueError(f"oidc.{name} has the issuer of oidc.{other}: only one of them can have an audience")
    return {name: Provider(name=name, **table) for name, table in sorted(tables.items())}


def shown(values: Mapping[str, Any], redacted: str) -> dict[str, Any]:
    """Returns the value of the setting without secrets."""
    return {place: redacted if place.endswith(f".{SECRET}") and value else value for place, value in values.items()}

"""Settings of identity providers: tables of settings.toml and variables, each of which may set one entry."""

from __future__ import annotations

import re

import pytest

from gatepost.commands.settings import describe
from settings import SettingError, Settings
from settings.providers import _ENTRIES, read_providers
from tests.running import ROOT

TABLE = '[oidc.team]\nissuer = "https://login.example.org"\nclient_id = "gate"\n'


def load(tmp_path, toml=TABLE, **environ):
    (tmp_path / "settings.toml").write_text(toml, encoding="utf-8")
    return Settings.load(tmp_path, None, environ)


def test_a_table_is_completed_by_variables(tmp_path):
    settings = load(tmp_path, GATEPOST_OIDC__TEAM__CLIENT_SECRET="s3cret", GATEPOST_OIDC__TEAM__SCOPES="openid email",
                    GATEPOST_OIDC__TEAM__CREATE_USERS="on", GATEPOST_OIDC__OTHER_ONE__ISSUER="https://o.example.org",
                    GATEPOST_OIDC__OTHER_ONE__CLIENT_ID="42")
    providers = read_providers(settings.oidc)
    team = providers["team"]
    assert (team.issuer, team.client_secret, team.scopes, team.create_users, team.title) == (
        "https://login.example.org", "s3cret", ("openid", "email"), True, "team")
    assert providers["other_one"].client_id == "42"
    assert "s3cret" not in repr(team)


def test_the_secret_is_not_shown(tmp_path):
    settings = load(tmp_path, GATEPOST_OIDC__TEAM__CLIENT_SECRET="s3cret")
    [shown] = [value for name, value, _ in describe(settings) if name == "oidc"]
    assert "s3cret" not in shown
    assert "team.client_secret=********" in shown
    assert "team.issuer=https://login.example.org" in shown


@pytest.mark.parametrize(("entry", "said"), [
    ('issuer = "login.example.org"', "oidc.team.issuer: the URL of the issuer"),
    ('issuer = "https://a/?b=c"', "oidc.team.issuer"), ('issuer = "https://a/#b"', "oidc.team.issuer"),
    ('issuer = "https://u:p@a"', "oidc.team.issuer"), ('issuer = "https://[::1"', "oidc.team.issuer"),
    ("issuer = 5", "oidc.team.issuer"), ('algorithms = ["none"]', "oidc.team.algorithms: some of RS256"),
    ('algorithms = ["HS256"]', "oidc.team.algorithms"), ("algorithms = []", "oidc.team.algorithms"),
    ('scopes = ["profile"]', "oidc.team.scopes: scopes, among them openid"),
    ('scopes = ["openid", "a b"]', "oidc.team.scopes"), ("session_hours = 0", "oidc.team.session_hours"),
    ("session_hours = 200", "from 1 to 168"), ("timeout = 600", "oidc.team.timeout"),
    ('role = "Big Boss"', "oidc.team.role"), ("create_users = 5", "oidc.team.create_users: on or off"),
    ('label = "a\\nb"', "oidc.team.label"), ('secret = "s3cret"', "there are issuer, client_id"),
    ('client_secret = "s3cretä"', "oidc.team.client_secret: text in ASCII")])
def test_an_error_names_the_entry_and_shows_no_value(tmp_path, entry, said):
    name = entry.partition(" ")[0]
    table = "\n".join(line for line in TABLE.splitlines() if not line.startswith(f"{name} "))
    with pytest.raises(SettingError) as raised:
        load(tmp_path, f"{table}\n{entry}\n")
    assert said in str(raised.value)
    assert "s3cret" not in str(raised.value)


@pytest.mark.parametrize(("toml", "said"), [
    ("oidc = 5", "tables such as"), ("[oidc]\nteam = 5", "there is no such entry"),
    ('[oidc.Team]\nissuer = "https://a"', "small letters"), (f'[oidc.{"x" * 40}]\nissuer = "https://a"', "32"),
    ('[oidc.team]\nissuer = "https://a"', "oidc.team.client_id is missing"),
    ('[oidc.team]\nclient_id = "a"', "oidc.team.issuer is missing"),
    ('[oidc.team]\nclient_id = "a"\nissuer = "http://a"', "unless oidc.team.private is on")])
def test_a_table_is_whole(tmp_path, toml, said):
    with pytest.raises(SettingError, match=re.escape(said)):
        load(tmp_path, toml)


def test_a_private_provider_may_use_http(tmp_path):
    assert read_providers(load(tmp_path, TABLE.replace("https", "http") + "private = true").oidc)["team"].private


def test_the_page_has_every_entry():
    text = (ROOT / "docs/running/single-sign-on.md").read_text(encoding="utf-8")
    rows = {name: (default.strip(), meaning) for name, default, meaning in re.findall(
        r"^\| `([a-z_]+)` \|([^|]*)\| (.*) \|$", text, re.MULTILINE)}
    assert list(rows) == list(_ENTRIES)
    for name, entry in _ENTRIES.items():
        assert rows[name][1] == entry.metadata["help"]

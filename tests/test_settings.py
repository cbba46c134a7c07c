"""The sources of settings, and the errors for wrong ones."""

import re
from pathlib import Path

import pytest

from gatepost.commands.settings import describe
from settings import DECLARED, SettingError, Settings


def load(tmp_path: Path, toml: str = "", overrides=None, **environ: str) -> Settings:
    (tmp_path / "settings.toml").write_text(toml, encoding="utf-8")
    return Settings.load(tmp_path, overrides, environ)


def test_without_any_source_the_defaults_hold(tmp_path):
    settings = Settings.load(tmp_path / "absent", environ={})
    assert (settings.host, settings.port, settings.synchronous, settings.rate_limits) == (
        "127.0.0.1",
        8000,
        "full",
        True,
    )
    assert settings.database_url == f"sqlite:///{tmp_path / 'absent' / 'gatepost.db'}"
    assert settings.url == "http://127.0.0.1:8000"


def test_each_source_overrides_the_one_before(tmp_path):
    assert load(tmp_path, "port = 1111").port == 1111
    assert load(tmp_path, "port = 1111", GATEPOST_PORT="2222").port == 2222
    assert load(tmp_path, "port = 1111", {"port": 3333}, GATEPOST_PORT="2222").port == 3333


def test_the_instance_is_the_argument_then_the_environment_then_a_folder_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert Settings.load("named", environ={"GATEPOST_INSTANCE": "other"}).instance == tmp_path / "named"
    assert Settings.load(environ={"GATEPOST_INSTANCE": "other"}).instance == tmp_path / "other"
    assert Settings.load(environ={}).instance == tmp_path / "instance"


def test_a_table_is_completed_entry_by_entry(tmp_path):
    settings = load(tmp_path, "[page_sizes]\neditor = 150", GATEPOST_PAGE_SIZES__SUPPORT="90")
    assert settings.page_sizes == {
        "admin": 200, "owner": 200, "support": 90, "developer": 200, "service": 200, "editor": 150,
    }
    assert load(tmp_path).page_sizes["support"] == 200, "one load must not change the defaults of the next"


@pytest.mark.parametrize(
    ("variable", "text", "allowed"),
    [
        ("GATEPOST_PORT", "70000", "a whole number from 0 to 65535"),
        ("GATEPOST_PORT", "eighty", "a whole number from 0 to 65535"),
        ("GATEPOST_PORT", "", "a whole number from 0 to 65535"),
        ("GATEPOST_SYNCHRONOUS", "sometimes", "one of full, normal"),
        ("GATEPOST_DATABASE_URL", "mysql://localhost/gatepost", "sqlite:// or postgresql://"),
        ("GATEPOST_DATABASE_URL", "postgresql:/localhost", "sqlite:// or postgresql://"),
        ("GATEPOST_REDIS_URL", "localhost:6379", "redis:// or rediss:// or unix://"),
        ("GATEPOST_RATE_LIMITS", "maybe", "on or off"),
        ("GATEPOST_STATEMENT_TIMEOUT", "soon", "seconds from 0.1 to 3600"),
        ("GATEPOST_STATEMENT_TIMEOUT", "nan", "seconds from 0.1 to 3600"),
        ("GATEPOST_TIME_ZONE", "Mars/Olympus", "IANA"),
        ("GATEPOST_LANGUAGE", "English please", "a language tag"),
        ("GATEPOST_DEFAULT_TENANT", "Über", "lower-case letters"),
        ("GATEPOST_PAGE_SIZES", "200", "a table of role = size"),
        ("GATEPOST_PAGE_SIZES__EDITOR", "0", "a whole number from 1 to 1000"),
        ("GATEPOST_METRICS_TOKEN", "short", "at least 16 characters"),
        *(("GATEPOST_PUBLIC_URL", url, "a URL such as https://example.org/gate") for url in (
            "example.org", "ftp://example.org", "https://", "https:///gate", "https://example.org/g%C3%A4te",
            "https://example.org/gäte", "https://example.org/a;b", "https://example.org/a//b",
            "https://example.org/a/../b", "https://example.org/.", "https://example.org/?a", "https://example.org/#a",
            "https://user@example.org", "https://example.org\\gate", "https://example.org/gate\n")),
    ],
)
def test_a_wrong_value_names_the_setting_its_source_and_what_is_allowed(tmp_path, variable, text, allowed):
    with pytest.raises(SettingError) as raised:
        load(tmp_path, **{variable: text})
    message = str(raised.value)
    assert variable.split("__")[0] in message
    assert "the environment" in message
    assert allowed in message


@pytest.mark.parametrize("toml", ["port = 1.5", "port = true", 'port = "x"', "rate_limits = 2", "host = 5"])
def test_toml_values_of_another_type_are_refused_and_name_the_file(tmp_path, toml):
    with pytest.raises(SettingError, match="settings.toml"):
        load(tmp_path, toml)


@pytest.mark.parametrize(("public_url", "url", "mount"), [
    ("", "http://127.0.0.1:8000", ""), ("https://example.org", "https://example.org", ""),
    ("https://example.org/", "https://example.org", ""), ("http://[x/gate", "http://[x/gate", "/gate"),
    ("http://[::1]:8080/", "http://[::1]:8080", ""),
    ("https://example.org/gate", "https://example.org/gate", "/gate"),
    ("https://example.org/a-b_c/~d.e/..f//", "https://example.org/a-b_c/~d.e/..f", "/a-b_c/~d.e/..f")])
def test_the_public_url_may_have_a_path(tmp_path, public_url, url, mount):
    settings = load(tmp_path, GATEPOST_PUBLIC_URL=public_url)
    assert (settings.url, settings.mount) == (url, mount)


def test_an_unknown_name_is_refused_with_the_nearest_known_one(tmp_path):
    with pytest.raises(SettingError, match="GATEPOST_THREDS .*did you mean GATEPOST_THREADS"):
        load(tmp_path, GATEPOST_THREDS="4")
    with pytest.raises(SettingError, match="thredz .*no such setting"):
        load(tmp_path, "thredz = 4")


def test_everything_wrong_in_one_source_is_reported_at_once(tmp_path):
    with pytest.raises(SettingError) as raised:
        load(tmp_path, GATEPOST_PORT="x", GATEPOST_THREADS="y")
    assert "GATEPOST_PORT" in str(raised.value)
    assert "GATEPOST_THREADS" in str(raised.value)


def test_a_broken_settings_file_is_an_error_not_an_absent_one(tmp_path):
    with pytest.raises(SettingError, match="settings.toml"):
        load(tmp_path, "port = = 1")


def test_other_variables_are_none_of_our_business(tmp_path):
    assert load(tmp_path, PORT="1", GATEPOSTER_PORT="2").port == 8000


def test_text_settings_made_of_digits_stay_text(tmp_path):
    assert load(tmp_path, GATEPOST_DEFAULT_TENANT="42").default_tenant == "42"


def test_secrets_are_shown_neither_in_errors_nor_in_the_description(tmp_path):
    settings = load(
        tmp_path,
        GATEPOST_DATABASE_URL="postgresql://gate:s3cret@db/gate",
        GATEPOST_METRICS_TOKEN="s3cret" * 4,
    )
    shown = "\n".join(" ".join(row) for row in describe(settings))
    assert "s3cret" not in shown
    assert "@db/gate" in shown
    with pytest.raises(SettingError) as raised:
        load(tmp_path, GATEPOST_DATABASE_URL="mysql://gate:s3cret@db")
    assert "s3cret" not in str(raised.value)


@pytest.mark.parametrize(("url", "shown"), [
    ("postgresql://gate:s3cret@a:1,[::1]:2/gate?connect_timeout=2",
     "postgresql://gate:********@a:1,[::1]:2/gate?connect_timeout=2"),
    ("postgresql:///gate?host=a,b&password=s3cret&sslpassword=s3cret&port=1,2",
     "postgresql:///gate?host=a,b&password=********&sslpassword=********&port=1,2"),
    ("postgresql://gate@a,b/gate?target_session_attrs=read-write",
     "postgresql://gate@a,b/gate?target_session_attrs=read-write"),
    ("sqlite:////srv/gate:1@x.db", "sqlite:////srv/gate:1@x.db"),
])
def test_a_url_is_shown_without_its_passwords_wherever_they_stand(tmp_path, url, shown):
    values = {name: value for name, value, _ in describe(load(tmp_path, GATEPOST_DATABASE_URL=url))}
    assert values["database_url"] == shown


def test_every_setting_is_described(tmp_path):
    described = {name: help for name, _, help in describe(load(tmp_path))}
    assert set(described) == set(DECLARED)
    assert all(described.values())


UNITS = re.compile(r"\b(seconds|minutes|hours|days|bytes|rows|units a minute|logins a minute|database connections|"
                   r"sessions|requests|processes|proxies|port)\b")


def test_the_help_of_a_number_names_its_unit():
    numbers = {name: declared for name, declared in DECLARED.items() if declared.type in (int, float)}
    assert [name for name, declared in numbers.items() if not UNITS.search(declared.metadata["help"])] == []


def test_settings_do_not_change_once_loaded(tmp_path):
    with pytest.raises(AttributeError):
        load(tmp_path).port = 1

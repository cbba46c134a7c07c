"""deploy/Dockerfile and deploy/compose.yaml, tested without a container."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
import yaml

from gatepost.servers.activation import GRACE
from settings import DECLARED, PREFIX, Settings
from tests.incidents.proxies import DEPLOY, newer_caddy, program
from tests.running import GATEPOST, PASSWORD, ROOT, Instance, Served
from tests.test_wheel import PACKAGES, SOURCES

COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
RUNNING = sorted(set(SERVICES) - {"init"})
SECONDS = re.compile(r"(\d+)s")


def instructions() -> list[tuple[str, str]]:
    """Returns the instructions of the Dockerfile, each with its arguments, with continuation lines joined."""
    text = re.sub(r"^#.*\n", "", (DEPLOY / "Dockerfile").read_text("utf-8"), flags=re.MULTILINE)
    lines = re.sub(r"\s*\\\n\s*", " ", text).splitlines()
    return [(line.split(" ", 1)[0], line.split(" ", 1)[1]) for line in lines if line.strip()]


DOCKERFILE = instructions()
FINAL = DOCKERFILE[max(number for number, (name, _) in enumerate(DOCKERFILE) if name == "FROM"):]


def said(name: str) -> list[str]:
    return [text for instruction, text in FINAL if instruction == name]


def image_environment() -> dict[str, str]:
    return dict(re.findall(r"(\w+)=(\S+)", " ".join(said("ENV"))))


# The image

def test_the_image_has_all_that_the_wheel_is_made_of():
    copied = {source.rstrip("/") for name, text in DOCKERFILE if name == "COPY" and "--from" not in text
              for source in text.split()[:-1]}
    assert copied == {*PACKAGES, *SOURCES, "requirements/build.txt", "requirements/image.txt"}
    assert [name for name in sorted(copied) if not (ROOT / name).exists()] == []
    let_through = {line[1:] for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines()
                   if line.startswith("!")}
    assert let_through == copied


def test_the_builder_gets_nothing_that_is_ignored():
    rules = [line for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if line and line[0] not in "#!"]
    assert rules[0] == "*"
    for name in ("blueprints/__pycache__", "models/engine/__pycache__", "a.sqlite3"):
        assert any(fnmatch(name, rule) or fnmatch(f"/{name}", rule) for rule in rules[1:]), name


def test_libraries_come_by_their_hashes_and_the_wheel_from_the_sources():
    installs = [text for name, text in DOCKERFILE if name == "RUN" and "pip install" in text]
    for command in re.findall(r"pip install [^&]*", " && ".join(installs)):
        assert "--require-hashes" in command or "--no-deps --no-index /dist/" in command, command


def test_the_image_is_run_by_a_user_who_is_not_root_and_finds_the_command():
    assert said("USER") == ["10001:10001"]
    assert f"--uid {said('USER')[0].partition(':')[0]} " in said("RUN")[0]
    assert json.loads(said("ENTRYPOINT")[0]) == ["gatepost"] and json.loads(said("CMD")[0]) == ["serve"]
    assert image_environment()["PATH"].startswith("/opt/gatepost/bin:")
    assert said("COPY") == ["--from=build /opt/gatepost /opt/gatepost"]
    assert said("VOLUME") == said("WORKDIR") == [image_environment()["GATEPOST_INSTANCE"]]


@pytest.mark.parametrize("where", ["the image", *SERVICES])
def test_every_setting_that_is_named_is_one_and_has_a_value_that_is_allowed(where, tmp_path):
    named = image_environment() if where == "the image" else SERVICES[where].get("environment", {})
    mine = {name: value.replace("${SITE:?the name of the service, such as api.example.org}", "api.example.org")
            for name, value in named.items() if name.startswith(PREFIX)}
    assert {name.removeprefix(PREFIX).lower() for name in mine} <= set(DECLARED)
    Settings.load(tmp_path, environ=mine)


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Instance:
    return Instance(tmp_path_factory.mktemp("made") / "instance").made()


@pytest.fixture(scope="module")
def service(instance: Instance) -> Iterator[Served]:
    with instance.served() as service:
        yield service


def health(port: str) -> subprocess.CompletedProcess[bytes]:
    """The check of the image, of a service on another port."""
    _, _, command = said("HEALTHCHECK")[0].partition("CMD ")
    arguments = [each.replace(":8000/", f":{port}/") for each in json.loads(command)]
    assert arguments != json.loads(command) and arguments[0] == "python3"
    return subprocess.run([sys.executable, *arguments[1:]], capture_output=True, timeout=60, check=False)


@pytest.mark.slow
def test_the_health_check_is_answered_by_a_service_and_fails_without_one(service):
    assert health(service.url.rpartition(":")[2]).returncode == 0
    assert health("1").returncode != 0


@pytest.mark.slow
def test_hadolint_has_nothing_to_say():
    done = subprocess.run([program("hadolint"), DEPLOY / "Dockerfile"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


# A root filesystem that cannot be written to

@pytest.mark.slow
def test_an_instance_is_made_and_served_where_nothing_else_can_be_written(tmp_path):
    """Follows compose.yaml: the instance is a volume, /tmp is in memory."""
    places = [ROOT, Path(sys.prefix), Path(sys.base_prefix)]
    folder = tmp_path / "instance"
    folder.mkdir(mode=0o700)
    within = [program("bwrap"), "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp",
              *(str(each) for place in places for each in ("--ro-bind", place, place)),
              "--bind", str(folder), str(folder), "--chdir", str(folder), "--die-with-parent"]
    if subprocess.run([*within, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("NOT TESTED: bwrap may not make a name space here")
    environ = Instance(folder).environ() | {"PYTHONDONTWRITEBYTECODE": "1"}
    writes = f"open({str(ROOT / 'written')!r}, 'w')"
    done = subprocess.run([*within, sys.executable, "-c", writes], env=environ, capture_output=True, text=True,
                          check=False)
    assert "Read-only file system" in done.stderr
    made = subprocess.run([*within, *GATEPOST, "init", "--no-demo", "--admin-password-file", "-"], env=environ,
                          input=PASSWORD, capture_output=True, text=True, check=False, timeout=120)
    assert made.returncode == 0, made.stderr
    process = subprocess.Popen([*within, *GATEPOST, "serve", "--port", "0", "--workers", "2"], env=environ, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        line = process.stdout.readline() and process.stdout.readline()  # the first line names the console
        found = re.search(r"http://\S+", line)
        assert found, line + process.stderr.read()
        service = Served(found.group(), process)
        token = service.log_in()
        lines = "\n".join(json.dumps({"title": "T", "slug": f"s-{n}", "body": "x" * 1000}) for n in range(2000))
        status, answer = service.call("POST", "/api/articles", {"title": "T", "slug": "one", "body": "x"}, token)
        assert status == 201, answer
        status, answer = _import(service, token, lines.encode())
        assert (status, answer["imported"]) == (200, 2000)
        assert service.call("GET", "/api/health")[1]["status"] == "ok"
    finally:
        process.terminate()
        process.communicate(timeout=60)


def _import(service: Served, token: str, lines: bytes) -> tuple[int, Any]:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/x-ndjson"}
    with urlopen(Request(f"{service.url}/api/articles/import", lines, headers), timeout=60) as answer:
        return answer.status, json.loads(answer.read())


# The services of compose.yaml

@pytest.mark.parametrize("name", SERVICES)
def test_each_service_has_no_rights_that_it_does_not_need(name):
    one = SERVICES[name]
    assert (one["read_only"], one["cap_drop"], one["security_opt"]) == (True, ["ALL"], ["no-new-privileges:true"])
    assert one.get("cap_add", []) == (["NET_BIND_SERVICE"] if name == "caddy" else [])
    assert "privileged" not in one and "network_mode" not in one and "pid" not in one
    if name != "caddy":
        assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", one["user"])


@pytest.mark.parametrize("name", RUNNING)
def test_each_service_starts_again_and_has_its_limits(name):
    one = SERVICES[name]
    assert one["restart"] == "unless-stopped"
    assert set(one["deploy"]["resources"]["limits"]) == {"cpus", "memory", "pids"}


def test_only_caddy_can_be_reached_and_the_database_not_even_by_caddy():
    assert {name for name, one in SERVICES.items() if "ports" in one} == {"caddy"}
    networks = {name: set(one["networks"]) for name, one in SERVICES.items()}
    assert networks == {"init": {"data"}, "gatepost": {"data", "front"}, "postgres": {"data"}, "redis": {"data"},
                        "caddy": {"front"}}
    assert COMPOSE["networks"]["data"] == {"internal": True}


def test_no_secret_stands_in_the_file_or_in_an_environment():
    text = (DEPLOY / "compose.yaml").read_text("utf-8")
    assert not re.search(r"://[^/\s:@]+:[^/\s@]+@", text), "a URL with a password"
    for name, one in SERVICES.items():
        for variable in one.get("environment", {}):
            assert "PASSWORD" not in variable or variable.endswith("_FILE"), (name, variable)
    used = {secret for one in SERVICES.values() for secret in one.get("secrets", [])}
    assert used == set(COMPOSE["secrets"])
    assert all(each["file"].startswith("./secrets/") for each in COMPOSE["secrets"].values())
    assert "/deploy/secrets/" in (ROOT / ".gitignore").read_text("utf-8").splitlines()


def test_every_volume_is_declared_and_every_file_that_is_mounted_is_there():
    mounted = [volume.split(":")[0] for one in SERVICES.values() for volume in one.get("volumes", [])]
    assert {name for name in mounted if not name.startswith(".")} == set(COMPOSE["volumes"])
    assert [name for name in mounted if name.startswith(".") and not (DEPLOY / name).is_file()] == []


@pytest.mark.slow
def test_caddy_takes_the_name_and_the_place_of_the_service_from_its_environment():
    environment = SERVICES["caddy"]["environment"]
    assert set(environment) == {"SITE", "UPSTREAM"} and environment["SITE"].startswith("${SITE:?")
    done = subprocess.run([newer_caddy(), "adapt", "--adapter", "caddyfile", "--config", DEPLOY / "Caddyfile"],
                          env=environment | {"SITE": "shop.example.org"}, capture_output=True, text=True, check=True)
    assert '"gatepost:8000"' in done.stdout and '"shop.example.org"' in done.stdout
    assert "api.example.org" not in done.stdout and "127.0.0.1:8000" not in done.stdout


def test_a_stop_waits_for_longer_than_the_service_needs():
    wait = SECONDS.fullmatch(SERVICES["gatepost"]["stop_grace_period"])
    drain = float(SERVICES["gatepost"]["environment"].get("GATEPOST_DRAIN_TIMEOUT", DECLARED["drain_timeout"].default))
    assert int(wait[1]) > drain + GRACE + 1


def test_a_service_waits_for_what_it_needs():
    waits = {name: {other: each["condition"] for other, each in one.get("depends_on", {}).items()}
             for name, one in SERVICES.items()}
    assert waits == {"init": {"postgres": "service_healthy"},
                     "gatepost": {"init": "service_completed_successfully", "redis": "service_healthy"},
                     "postgres": {}, "redis": {}, "caddy": {"gatepost": "service_healthy"}}
    for name in ("postgres", "redis"):
        assert SERVICES[name]["healthcheck"]["test"][0] == "CMD"
    assert said("HEALTHCHECK")


@pytest.mark.slow
def test_the_first_start_makes_an_instance_and_the_next_one_changes_nothing(tmp_path):
    password = tmp_path / "admin_password"
    password.write_text(PASSWORD + "\n", "utf-8")
    command = [each.replace("${ADMIN_EMAIL:-admin@example.org}", "me@example.org")
               .replace("/run/secrets/admin_password", str(password)) for each in SERVICES["init"]["command"]]
    made = Instance(tmp_path / "instance")
    first, second = made.run(*command), made.run(*command)
    assert first.returncode == second.returncode == 0, first.stderr + second.stderr
    assert "me@example.org" in first.stdout and "nothing was changed" in second.stdout
    with made.served() as service:
        assert service.log_in("me@example.org", PASSWORD)


def test_the_pinned_version_of_the_image_is_that_of_the_package():
    version = re.search(r"^version = (\S+)$", (ROOT / "setup.cfg").read_text("utf-8"), re.MULTILINE)
    assert SERVICES["gatepost"]["image"] == f"gatepost:{version[1]}"
    assert "entrypoint" not in SERVICES["gatepost"] and "command" not in SERVICES["gatepost"]
    assert shlex.join(json.loads(said("ENTRYPOINT")[0]) + json.loads(said("CMD")[0])) == "gatepost serve"

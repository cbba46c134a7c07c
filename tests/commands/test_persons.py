"""`gatepost user export` and `user erase`: the data of a user is exported, and erased from every stored byte."""

from __future__ import annotations

import gzip
import json
import logging
import subprocess
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from io import BytesIO, StringIO
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from gatepost.http.operations.logs import JsonFormatter
from models.base import Rows, now
from models.engine.errors import Erased
from models.tables import audit, erasure, job_chunk
from models.tables.article import Article
from models.tables.audit import Audit
from models.tables.comment import Comment
from models.tables.idempotency import IdempotencyKey
from models.tables.job import DONE, Job
from models.tables.order import Order
from models.tables.session import Session
from models.tables.share import Share
from models.tables.user import User
from tests.databases import new_database
from tests.running import PASSWORD, Instance, Service, wait_until

NAME, EMAIL, ADDRESS = "Zephyrine Quillfeather", "zephyrine@sentinel.example", "203.0.113.77"
NOTE, TOKEN, MESSAGE = "leave it with xylographer", "quinquereme token", "please call vexillologist"
# In lower case, because the search compares lower case. No other user's data has these words.
SENTINELS = [word.encode() for word in (
    "zephyrine", "quillfeather", "sentinel.example", ADDRESS, "xylographer", "quinquereme", "vexillologist",
    "brobdingnag")]
AGENT = "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0"


@dataclass
class Life:
    """An instance with data of a user and others in every table and file, and the ids of the data."""

    instance: Instance
    person: str
    heir: str
    article: str
    comment: str
    order: str
    others_comment: str
    log: str = ""


@pytest.fixture
def instance(dialect, request, tmp_path) -> Instance:
    """A new instance for each test, which erases a user of it."""
    return made(dialect, request, tmp_path / "instance")


def made(dialect, request, folder: Path) -> Instance:
    return Instance(folder, environment(dialect, request)).made()


def environment(dialect, request) -> dict[str, str]:
    url = {} if dialect == "sqlite" else {"GATEPOST_DATABASE_URL": new_database(dialect, request, migrated=False)}
    return {**url, "GATEPOST_TRUSTED_PROXIES": "1", "GATEPOST_LOG_REQUESTS": "on"}


def add(instance: Instance, email: str, *options: str) -> None:
    done = instance.run("user", "add", email, "--password-file", "-", *options, input=PASSWORD)
    assert done.returncode == 0, done.stderr


def erase(instance: Instance, *arguments: str) -> str:
    done = instance.run("user", "erase", *arguments, "--yes")
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def lived(dialect, request, tmp_path_factory) -> Life:
    """An instance that no test changes."""
    instance = made(dialect, request, tmp_path_factory.mktemp("lived") / "instance")
    add(instance, "heir@example.org", "--role", "editor", "--name", "Heir")
    with logged() as log, instance.answering() as service:
        life = live(instance, service)
    return replace(life, log=log.getvalue())


@pytest.fixture
def life(lived: Life, tmp_path: Path) -> Life:
    """A copy for one test, which erases the user."""
    return replace(lived, instance=lived.instance.copied(tmp_path / "instance"))


@contextmanager
def logged() -> Iterator[StringIO]:
    """The log lines of a server that runs at the same time."""
    lines, root = StringIO(), logging.getLogger()
    handler, level = logging.StreamHandler(lines), root.level
    handler.setFormatter(JsonFormatter())
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    try:
        yield lines
    finally:
        root.removeHandler(handler)
        root.setLevel(level)


def live(instance: Instance, served: Service) -> Life:
    """Creates the data of a user, over HTTP where possible."""
    admin, there = served.log_in(), {"X-Forwarded-For": ADDRESS, "User-Agent": AGENT}

    def did(expected: int, method: str, path: str, body=None, token=None, **headers: str):
        status, answer = served.call(method, path, body, token, {**there, **headers})
        assert status == expected, (method, path, answer)
        return answer

    person = did(201, "POST", "/api/users", {"name": NAME, "email": EMAIL, "password": PASSWORD, "role": "editor",
                                            "department": "press"},
                 admin, **{"Idempotency-Key": "administrators-key", "X-Forwarded-For": "192.0.2.1"})["id"]
    did(401, "POST", "/api/login", {"email": EMAIL, "password": "wrong"})
    token = did(200, "POST", "/api/login", {"email": EMAIL, "password": PASSWORD})["access_token"]
    article = did(201, "POST", "/api/articles", {"title": "On rivers", "slug": "on-rivers", "body": "They run."},
                  token)["id"]
    did(200, "POST", f"/api/articles/{article}/publish", {}, token)
    comment = did(201, "POST", "/api/comments", {"article_id": article, "body": f"Call me, {NAME}, {EMAIL}"},
                  token)["id"]
    product = did(201, "POST", "/api/products", {"name": "Pen", "sku": "pen", "price": 100, "currency": "EUR",
                                                "stock": 9}, admin, **{"X-Forwarded-For": "192.0.2.1"})["id"]
    did(200, "POST", f"/api/products/{product}/publish", {}, admin, **{"X-Forwarded-For": "192.0.2.1"})
    order = did(201, "POST", "/api/orders", {"items": [{"product_id": product, "quantity": 2}], "note": NOTE}, token,
                **{"Idempotency-Key": "persons-key"})["id"]
    did(201, "POST", "/api/tokens", {"name": TOKEN, "scopes": ["read:articles"]}, token)
    did(202, "POST", "/api/contact", {"name": NAME, "email": EMAIL.upper(), "subject": "Hello", "body": MESSAGE})
    did(403, "GET", "/api/audit", None, token)
    did(200, "GET", f"/api/users?email={EMAIL}", None, admin, **{"X-Forwarded-For": "192.0.2.1"})
    heir = served.call("GET", "/api/users?email=heir@example.org", token=admin)[1]["items"][0]["id"]
    other = served.log_in("heir@example.org")
    others = served.call("POST", "/api/comments", {"article_id": article, "body": "Well said."}, other)[1]["id"]
    did(200, "PUT", f"/api/articles/{article}/shares", {"grantee": f"user:{heir}", "right": "write"}, token)
    own = served.call("POST", "/api/articles", {"title": "Mine", "slug": "mine", "body": "M."}, other)[1]["id"]
    assert served.call("PUT", f"/api/articles/{own}/shares", {"grantee": f"user:{person}", "right": "manage"},
                       other)[0] == 200
    did(200, "PUT", f"/api/articles/{own}/shares", {"grantee": "user:" + served_id(served, admin), "right": "read"},
        token)
    with instance.database() as database:
        found = User.by_id(person)
        store_jobs(database, found, heir)
    return Life(instance, person, heir, article, comment, order, others)


def served_id(served: Service, token: str) -> str:
    return served.call("GET", "/api/profile", token=token)[1]["id"]


def store_jobs(database, person: User, other: str) -> None:
    """Stores a file of the user, and one of another user that names the first one across two chunks."""
    def work() -> None:
        for owner, parts in ((person.id, [b"brobdingnag"]), (other, [b'{"email":"zephyrine@sen', b'tinel.example"}'])):
            job = Rows(Job, person.tenant_id).insert(Job(owner_id=owner, kind="users.export", payload="{}", state=DONE,
                                                         done_at=now(), expires_at="2999-01-01T00:00:00.000000Z"))
            for number, data in enumerate(parts):
                job_chunk.add(person.tenant_id, job.id, owner, number, data, files=True)
        body = Rows(Job, person.tenant_id).insert(Job(owner_id=person.id, kind="x.y", payload='{"q": "brobdingnag"}'))
        job_chunk.add(person.tenant_id, body.id, person.id, 0, b"brobdingnag")

    job_chunk.make_files(database)
    database.files.transact(lambda: database.transact(work))


def found_in(blobs: dict[str, bytes]) -> dict[str, list[bytes]]:
    """Returns the sentinels in each place."""
    named = {place: [one for one in SENTINELS if one in data.lower()] for place, data in blobs.items()}
    return {place: some for place, some in named.items() if some}


def bytes_of(instance: Instance, request) -> dict[str, bytes]:
    """Returns every file of the instance, and of its database on a server."""
    blobs = {str(file): file.read_bytes() for file in instance.folder.rglob("*") if file.is_file()}
    url = instance.environment.get("GATEPOST_DATABASE_URL")
    if url is not None:
        server, name = request.getfixturevalue("postgres_server"), urlsplit(url).path[1:]
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CHECKPOINT")
            number, = connection.execute("SELECT oid FROM pg_database WHERE datname = %s", (name,)).fetchone()
        blobs |= {str(file): file.read_bytes() for file in (server.directory / "data/base" / str(number)).iterdir()
                  if file.is_file()}
        dump = subprocess.run([str(server.programs / "pg_dump"), url], capture_output=True, check=True)
        blobs["pg_dump"] = dump.stdout
    return blobs


def bytes_in(archive: Path, request) -> dict[str, bytes]:
    """Returns the parts of a backup; a dump of Postgres as text."""
    parts = {}
    with tarfile.open(fileobj=BytesIO(gzip.decompress(archive.read_bytes()))) as tar:
        for member in tar:
            parts[member.name] = tar.extractfile(member).read()
    if parts["database"].startswith(b"PGDMP"):
        server = request.getfixturevalue("postgres_server")
        parts["as text"] = subprocess.run([str(server.programs / "pg_restore"), "-f", "-"], input=parts["database"],
                                          capture_output=True, check=True).stdout
    return parts


@pytest.mark.parametrize("where", ["answering", pytest.param("served", marks=pytest.mark.slow)])
def test_a_person_is_found_before_and_nowhere_after(life, request, tmp_path, where):
    """Also while the instance is served, by this process or by another."""
    before = found_in(bytes_of(life.instance, request))
    assert {one for some in before.values() for one in some} == set(SENTINELS)
    with getattr(life.instance, where)() as served:
        served.call("POST", "/api/login", {"email": EMAIL, "password": "wrong again"},
                    headers={"X-Forwarded-For": ADDRESS})
        wait = served.log_in(EMAIL)
        assert served.call("GET", "/api/profile", token=wait)[0] == 200
        said = erase(life.instance, EMAIL, "--to", "heir@example.org")
        assert "overwritten" in said
        assert served.call("GET", "/api/profile", token=wait)[0] == 401
        assert found_in(bytes_of(life.instance, request)) == {}
    assert found_in(bytes_of(life.instance, request)) == {}
    archive = tmp_path / "after.tar.gz"
    assert life.instance.run("backup", str(archive)).returncode == 0
    assert found_in(bytes_in(archive, request)) == {}
    done = life.instance.run("audit", "verify")
    assert done.returncode == 0, done.stdout + done.stderr
    assert life.instance.run("doctor").returncode == 0


def test_no_line_of_the_log_holds_a_name_or_an_address_of_mail(lived):
    assert "/api/orders" in lived.log
    assert set(*found_in({"log": lived.log.encode()}).values()) <= {ADDRESS.encode()}


def test_what_others_refer_to_stays_whole(life):
    erase(life.instance, EMAIL, "--to", "heir@example.org")
    with life.instance.database():
        article, comment, order = (model.get_by_id(id) for model, id in (
            (Article, life.article), (Comment, life.comment), (Order, life.order)))
        assert (article.title, article.body, article.owner_id) == ("On rivers", "They run.", life.heir)
        assert (comment.body, comment.owner_id, comment.version) == ("[deleted]", life.person, 2)
        assert (order.note, order.owner_id, order.total) == (None, life.person, 200)
        assert Comment.get_by_id(life.others_comment).body == "Well said."
        assert [one.grantee for one in Share.select()] == [f"user:{life.heir}"]
        assert not list(Session.select().where(Session.owner_id == life.person))
        kept, = IdempotencyKey.select()
        assert kept.principal != f"user:{life.person}" and kept.status == 201 and kept.body is None
        trail = Audit.select().where(Audit.resource == "user", Audit.resource_id == life.person).order_by(Audit.seq)
        assert [row.action for row in trail][-2:] == ["disable", "erase"]


def test_without_an_heir_rows_belong_to_a_tombstone(life):
    assert "1 articles stay" in erase(life.instance, EMAIL)
    with life.instance.database():
        assert Article.get_by_id(life.article).owner_id == life.person
        tombstone = User.by_id(life.person)
        assert (tombstone.name, tombstone.email) == ("deleted user", f"{life.person}@invalid")
        assert (tombstone.active, tombstone.role, tombstone.department, tombstone.groups) == (False, "user", None, [])


def test_a_tombstone_is_seen_nowhere(life, tmp_path):
    erase(life.instance, EMAIL)
    with life.instance.answering() as served:
        admin = served.log_in()

        def asked(path, body=None, method="GET"):
            return served.call(method, path, body, admin)

        assert [user["name"] for user in asked("/api/users")[1]["items"]] == ["Administrator", "Heir"]
        assert asked("/api/users?page=1")[1]["total"] == 2
        assert asked(f"/api/users/{life.person}")[0] == 404
        assert asked(f"/api/users/{life.person}/enable", {}, "POST")[0] == 404
        assert asked(f"/api/users/{life.person}", {"name": "Back"}, "PATCH")[0] == 404
        assert asked(f"/api/articles/{life.article}?expand=owner")[1]["owner"] is None
        assert asked("/api/articles?expand=owner")[1]["items"][-1]["owner"] is None
        right = {"grantee": f"user:{life.person}", "right": "read"}
        share = asked(f"/api/articles/{life.article}/shares", right, "PUT")
        assert (share[0], share[1]["errors"][0]["code"]) == (400, "invalid_reference")
        own = asked("/api/articles", {"title": "T", "slug": "t", "body": "B", "owner_id": life.person}, "POST")
        assert (own[0], own[1]["errors"][0]["code"]) == (400, "invalid_reference")
        holders = asked("/api/admin/policy/who?permission=article.create")[1]["items"]
        assert life.person not in json.dumps(holders)
        found = served.call("POST", "/access/v1/search/subject", {
            "subject": {"type": "user"}, "action": {"name": "create"},
            "resource": {"type": "article", "id": "x"}}, admin)
        assert found[0] == 200 and life.person not in json.dumps(found[1])
        evaluation = {"subject": {"type": "user", "id": life.person}, "action": {"name": "view"},
                      "resource": {"type": "article", "id": life.article}}
        assert served.call("POST", "/access/v1/evaluation", evaluation, admin)[1]["decision"] is False
        assert served.call("POST", "/api/login", {"email": f"{life.person}@invalid", "password": "!"})[0] in (400, 401)
        assert asked(f"/api/admin/policy/explain?as={life.person}&permission=article.view")[0] == 404
        assert asked("/api/admin/stats")[1]["collections"]["users"]["total"] == 2
    assert life.person not in life.instance.run("user", "list").stdout
    assert life.instance.run("user", "enable", f"{life.person}@invalid").returncode == 1
    review = tmp_path / "review.csv"
    assert life.instance.run("policy", "review", "--csv", str(review)).returncode == 0
    assert life.person not in review.read_text()
    row = tmp_path / "users.ndjson"
    row.write_text(json.dumps({"id": life.person, "name": "Back again"}) + "\n")
    assert life.instance.run("import", "users", str(row)).returncode == 1
    with life.instance.database():
        assert User.by_id(life.person).name == "deleted user"


def test_the_address_registers_anew_and_is_somebody_else(life):
    erase(life.instance, EMAIL)
    add(life.instance, EMAIL, "--name", "Somebody")
    with life.instance.answering() as served:
        token = served.log_in(EMAIL)
        assert served_id(served, token) != life.person
        assert served.call("GET", "/api/orders", token=token)[1]["items"] == []


def test_rows_of_other_people_and_tenants_are_untouched(life):
    assert life.instance.run("tenant", "add", "acme").returncode == 0
    add(life.instance, "there@example.org", "--tenant", "acme", "--name", NAME)
    life.instance.run("user", "erase", "there@example.org", "--yes")
    with life.instance.database():
        assert User.by_email(EMAIL).name == NAME
        assert Comment.get_by_id(life.comment).owner_id == life.person and "Call me" in Comment.get_by_id(
            life.comment).body
        assert Order.get_by_id(life.order).note == NOTE


def test_first_it_says_what_there_is_and_asks(life):
    rules = life.instance.folder / "policies/articles.csv"
    text = rules.read_text()
    rules.write_text(text.replace("# end", f"p, user:{life.person}, article.export, always, allow\n# end"))
    done = life.instance.run("user", "erase", EMAIL, "--to", "heir@example.org", input="n\n")
    assert done.returncode == 1
    for said in ("1 articles are handed over to heir@example.org", "1 comments are anonymised", "1 contact are deleted",
                 "1 orders are anonymised", "1 tokens are deleted", "articles.csv:"):
        assert said in done.stdout, done.stdout
    with life.instance.database():
        assert User.by_email(EMAIL).active
    erase(life.instance, EMAIL)


def test_an_operator_exports_everything_but_secrets(life, tmp_path):
    file = tmp_path / "zephyrine.ndjson"
    done = life.instance.run("user", "export", EMAIL, str(file))
    assert done.returncode == 0, done.stderr
    assert file.stat().st_mode & 0o777 == 0o600
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert lines[-1] == {"about": "end", "rows": len(lines) - 1}
    kinds = {line["about"] for line in lines}
    assert kinds == {"users", "articles", "comments", "orders", "tokens", "sessions", "jobs", "contact", "audit",
                     "shares with me", "shares that I granted", "idempotency keys", "files of jobs", "end"}
    assert all(word.decode() in file.read_text().lower() for word in SENTINELS if word != b"brobdingnag")
    order, = (line["row"] for line in lines if line["about"] == "orders")
    assert order["items"][0]["quantity"] == 2
    assert "hash" not in file.read_text() and "argon2" not in file.read_text()
    assert life.instance.run("user", "export", EMAIL, str(file)).returncode == 1


def test_an_older_backup_that_replaces_repeats_the_erasure(life, request, tmp_path):
    archive = tmp_path / "before.tar.gz"
    assert life.instance.run("backup", str(archive)).returncode == 0
    assert found_in(bytes_in(archive, request))
    erase(life.instance, EMAIL, "--to", "heir@example.org")
    done = life.instance.run("restore", "--replace", "--yes", str(archive))
    assert done.returncode == 0, done.stderr
    assert "1 users who were erased since that backup are erased again" in done.stdout
    assert found_in(bytes_of(life.instance, request)) == {}
    with life.instance.database() as database:
        assert Article.get_by_id(life.article).owner_id == life.heir
        assert [one.user_id for one in erasure.erasures(database)] == [life.person]
    assert life.instance.run("audit", "verify").returncode == 0
    assert life.instance.run("restore", "--verify", str(archive)).returncode == 0
    # Again: now the instance knows it from the restored rows.
    assert life.instance.run("restore", "--replace", "--yes", str(archive)).returncode == 0
    assert found_in(bytes_of(life.instance, request)) == {}


def test_a_new_instance_is_told_by_a_list(life, dialect, request, tmp_path):
    archive, known = tmp_path / "before.tar.gz", tmp_path / "erasures.ndjson"
    assert life.instance.run("backup", str(archive)).returncode == 0
    erase(life.instance, EMAIL)
    assert life.instance.run("user", "erasures", str(known)).returncode == 0
    assert found_in({"list": known.read_bytes()}) == {} and life.person in known.read_text()
    other = Instance(tmp_path / "other", environment(dialect, request))
    done = other.run("restore", str(archive), "--erasures", str(known))
    assert done.returncode == 0, done.stderr
    assert found_in(bytes_of(other, request)) == {}
    third = Instance(tmp_path / "third", environment(dialect, request))
    done = third.run("restore", str(archive))
    assert done.returncode == 0 and "are not known here" in done.stderr
    assert found_in(bytes_of(third, request))


@pytest.mark.parametrize("line", ["", "{}", "[]", '{"user_id": "x", "begun_at": "now", "heir_id": null}',
                                  '{"user_id": null, "begun_at": null, "heir_id": null}', "[" * 100_000, "\xff"])
def test_a_list_of_another_form_is_refused(instance, tmp_path, line):
    known, archive = tmp_path / "list", tmp_path / "a.tar.gz"
    known.write_text(line + "\n", encoding="latin-1")
    assert instance.run("backup", str(archive)).returncode == 0
    done = instance.run("restore", "--replace", "--yes", str(archive), "--erasures", str(known))
    assert done.returncode == 1 and "is no line of" in done.stderr


def test_nobody_is_erased_who_must_stay_or_for_an_heir_who_cannot_be_one(instance):
    assert instance.run("tenant", "add", "acme").returncode == 0
    add(instance, "ada@example.org")
    add(instance, "far@example.org", "--tenant", "acme")
    add(instance, "off@example.org")
    add(instance, "gone@example.org")
    assert instance.run("user", "disable", "off@example.org").returncode == 0
    with instance.database():
        gone = User.by_email("gone@example.org").id
    erase(instance, "gone@example.org")
    for arguments, sentence in (
            (["admin@example.org"], "the last active administrator"),
            (["nobody@example.org"], "There is no user nobody@example.org"),
            (["01930000-0000-7000-8000-000000000000"], "There is no user"),
            (["ada@example.org", "--to", "nobody@example.org"], "There is no user nobody@example.org"),
            (["ada@example.org", "--to", "ada@example.org"], "to the person who is erased"),
            (["ada@example.org", "--to", "far@example.org"], "another tenant"),
            (["ada@example.org", "--to", "off@example.org"], "disabled"),
            (["ada@example.org", "--to", f"{gone}@invalid"], "There is no user"),
            (["\ud800"], "Error"),
    ):
        done = instance.run("user", "erase", *arguments, "--yes")
        assert done.returncode == 1 and sentence in done.stderr, (arguments, done.stderr)
    with instance.database() as database:
        assert User.by_email("ada@example.org").active
        assert [one.user_id for one in erasure.erasures(database)] == [gone]


@pytest.mark.parametrize("step", ["erase_rows", "clean_up"])
def test_an_erasure_that_was_broken_off_is_completed_by_the_next_run(life, request, monkeypatch, step):
    from gatepost.collections import erasing

    class Killed(BaseException):
        pass

    def die(*_, **__):
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(erasing, step, die)
        with pytest.raises(Killed):
            life.instance.run("user", "erase", EMAIL, "--yes")
    found = life.instance.run("doctor").stdout
    assert (f"gatepost user erase {life.person}" in found) is (step == "erase_rows")
    with life.instance.answering() as served:
        assert served.call("POST", "/api/login", {"email": EMAIL, "password": PASSWORD})[0] == 401
    erase(life.instance, EMAIL if step == "erase_rows" else life.person)
    # That login was attempted after the erasure: its event is not erased, but reported.
    with life.instance.database() as database:
        later = [row for row in Audit.select() if row.facts and EMAIL in json.dumps(row.facts)]
        assert len(later) == (0 if step == "erase_rows" else 1)
        assert erasure.erasures(database)[0].erased_at is not None


@pytest.mark.both_databases
def test_a_write_under_way_is_refused_once_its_author_is_erased(life, request):
    """The request is admitted before the erasure, and its transaction writes after it."""
    begun, go, refused = threading.Event(), threading.Event(), []
    with life.instance.database() as database:
        person = User.by_id(life.person)

        def work() -> None:
            begun.set()
            if database.dialect == "postgres":
                assert go.wait(60)
            write_comment(life, person)

        writer = threading.Thread(target=lambda: _caught(database, work, refused))
        if database.dialect == "postgres":
            writer.start()
            assert begun.wait(60)
            erase(life.instance, EMAIL)
        else:  # only one writer at a time: a waiting write begins afterwards
            erase(life.instance, EMAIL)
            writer.start()
        go.set()
        writer.join(60)
    assert [type(error) for error in refused] == [Erased]
    erase(life.instance, life.person)
    assert found_in(bytes_of(life.instance, request)) == {}


@pytest.mark.both_databases
@pytest.mark.parametrize("dialect", ["postgres"], indirect=True)
def test_an_erasure_waits_for_what_its_person_has_begun_to_write(life, request):
    begun, go, refused = threading.Event(), threading.Event(), []
    with life.instance.database() as database:
        person = User.by_id(life.person)

        def work() -> None:
            write_comment(life, person)
            begun.set()
            assert go.wait(60)

        def waits() -> bool:
            return database.query("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
                                  "AND wait_event_type = 'Lock'")[0][0] > 0

        writer = threading.Thread(target=lambda: _caught(database, work, refused))
        writer.start()
        assert begun.wait(60)
        erasing = threading.Thread(target=erase, args=(life.instance, EMAIL))
        erasing.start()
        wait_until(waits)
        go.set()
        writer.join(60)
        erasing.join(60)
        assert refused == []
        assert {one.body for one in Comment.select().where(Comment.owner_id == life.person)} == {"[deleted]"}
    assert found_in(bytes_of(life.instance, request)) == {}


def write_comment(life: Life, person: User) -> None:
    """Writes as a request does: a row, and its audit event."""
    Rows(Comment, person.tenant_id).insert(Comment(owner_id=person.id, article_id=life.article, body=f"by {NAME}"))
    audit.add(tenant_id=person.tenant_id, principal=f"user:{person.id}", role="editor", resource="comment",
              action="create", resource_id=None, result="allowed", address=ADDRESS)


def _caught(database, work, errors: list) -> None:
    try:
        with database.connected():
            database.transact(work)
    except Exception as error:
        errors.append(error)

"""clients/python on both servers, also with cut connections: no effect twice, and no row skipped or repeated."""

from __future__ import annotations

import re
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from random import Random
from threading import Barrier, Thread

import jwt
import pytest
from gatepost_client import Gatepost, Unauthenticated

from gatepost.http.security.keys import Keys
from tests.clients import python_story
from tests.clients.cutting import CuttingProxy, cutting_proxy
from tests.running import PASSWORD, Instance, Served

METRICS = "let-the-tests-count-0123456789"
SEEDS = (1, 2)


@pytest.fixture(scope="module")
def unlimited(tmp_path_factory) -> Instance:
    """An instance that refuses no caller for the number of requests, and counts them."""
    settings = {"GATEPOST_RATE_LIMITS": "off", "GATEPOST_METRICS_TOKEN": METRICS}
    return Instance(tmp_path_factory.mktemp("unlimited") / "instance", settings).made()


@pytest.fixture(scope="module", params=["waitress", "granian"])
def busy(unlimited, request) -> Iterator[Served]:
    with unlimited.served(*(("--workers", "2") if request.param == "granian" else ())) as served:
        yield served


@pytest.fixture
def admin(busy) -> Iterator[Gatepost]:
    with Gatepost(busy.url) as client:
        client.login("admin@example.org", PASSWORD)
        yield client


@pytest.fixture(params=SEEDS)
def proxy(busy, request) -> Iterator[CuttingProxy]:
    with cutting_proxy(busy.url, request.param) as proxy:
        yield proxy


@pytest.fixture
def unlucky(proxy) -> Iterator[Gatepost]:
    """A client whose connections are cut after its login. It makes more attempts than others, so that no test fails."""
    with Gatepost(proxy.url, attempts=15) as client:
        client.login("admin@example.org", PASSWORD)
        proxy.cutting = True
        yield client


def unique(word: str) -> str:
    return f"{word}-{time.monotonic_ns()}"


def refreshes(busy: Served) -> int:
    """Counts the refreshes that all processes of the service have answered."""
    request = urllib.request.Request(f"{busy.url}/metrics", headers={"Authorization": f"Bearer {METRICS}"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        text = answer.read().decode()
    counted = re.findall(r'^gatepost_requests_total\{(.*?)\} (\S+)$', text, re.MULTILINE)
    return int(sum(float(number) for labels, number in counted if 'route="/api/token/refresh"' in labels))


def aged(client: Gatepost, *, due: bool, ended: bool) -> None:
    """Moves the times at which the client's access token is due, and at which it ends, to the past."""
    session, past = client._session, time.monotonic() - 1
    session._tokens = session._tokens._replace(**{name: past for name, is_so in {"due": due, "end": ended}.items()
                                                  if is_so})


def expired(instance: Instance, client: Gatepost) -> None:
    """Replaces the client's access token by an expired one, of which the client's clock does not know."""
    access = client._session._tokens.access
    kid, secret = Keys.load(instance.folder / "secret.key").ring("access token")[0]
    claims = {**jwt.decode(access, options={"verify_signature": False}), "exp": int(time.time()) - 60}
    forged = jwt.encode(claims, secret, "HS256", headers={"typ": "at+jwt", "kid": kid})
    client._session._tokens = client._session._tokens._replace(access=forged)


def at_once(threads: int, work: Callable[[], object]) -> list[object]:
    """Runs `work` in threads that start together. Returns the result of each."""
    start = Barrier(threads)

    def begin() -> object:
        start.wait()
        return work()

    with ThreadPoolExecutor(threads) as pool:
        return [future.result() for future in [pool.submit(begin) for _ in range(threads)]]


def test_the_story_is_told(busy, admin):
    name = unique("story")
    python_story.tell(admin, busy.url, name)
    python_story.a_file_is_made_and_fetched(admin, f"{name}-first")
    python_story.an_object_is_shared(admin, admin.articles.create({"title": "A", "slug": f"{name}-s", "body": "B."}))
    python_story.a_program_has_a_token(admin, busy.url, name)
    admin.logout()
    with pytest.raises(Unauthenticated):
        admin.me()


def test_the_story_is_told_below_a_path(below):
    with Gatepost(below) as client:
        client.login("admin@example.org", PASSWORD)
        name = unique("below")
        python_story.tell(client, below, name)
        python_story.a_file_is_made_and_fetched(client, f"{name}-first")


def test_the_story_is_told_while_connections_are_cut(busy, proxy, unlucky):
    python_story.tell(unlucky, busy.url, unique("cut"))
    assert proxy.cut_requests and proxy.cut_answers


def test_no_write_has_its_effect_twice(busy, proxy, unlucky, admin):
    slug = unique("once")
    article = admin.articles.publish(admin.articles.create({"title": "Once", "slug": slug, "body": "Words."}))
    wanted = [f"{slug} {number}" for number in range(30)]
    made = [unlucky.comments.create({"article_id": article.id, "body": body}) for body in wanted]
    found = [row["body"] for row in admin.comments.list(article_id=article.id, limit=100)]
    assert sorted(found) == sorted(wanted)
    assert {each.id for each in made} == {row["id"] for row in admin.comments.list(article_id=article.id, limit=100)}

    for number in range(20):
        article = unlucky.articles.update(article, {"title": f"Title {number}"})
    assert admin.articles.get(article.id).row["version"] == article.row["version"] == 22
    for comment in made[:10]:
        unlucky.comments.approve(comment)
    assert Counter(row["status"] for row in admin.comments.list(article_id=article.id)) == {
        "approved": 10, "pending": 20}
    for comment in made[10:20]:
        unlucky.comments.delete(admin.comments.get(comment.id))
    assert len(list(admin.comments.list(article_id=article.id))) == 20
    rows = [{"name": "Once", "slug": f"{slug}-{number}"} for number in range(40)]
    assert unlucky.categories.import_(rows)["imported"] == 40
    job = unlucky.categories.import_later([{"name": "Later", "slug": f"{slug}-later"}])
    assert unlucky.jobs.wait(job)["result"]["imported"] == 1
    assert proxy.cut_requests and proxy.cut_answers and proxy.cut_requests + proxy.cut_answers > 10


def test_no_row_is_skipped_or_given_twice_while_others_come(busy, proxy, unlucky, admin):
    word, random = unique("walk"), Random(7)

    def add(number: int) -> None:
        admin.categories.create({"name": f"{word} {random.random()}", "slug": f"{word}-{number}"})

    for number in range(60):
        add(number)
    before = {row["id"] for row in admin.categories.list(limit=100) if row["slug"].startswith(word)}
    # Only for a while: a list that grows faster than it is read has no end.
    thread = Thread(target=lambda: [add(number) for number in range(60, 160)])
    thread.start()
    try:
        rounds = [[row["id"] for row in unlucky.categories.list(sort="name", name__startswith=word, limit=7)]
                  for _ in range(3)]
    finally:
        thread.join()
    assert [ids for ids in rounds if len(set(ids)) < len(ids) or not before <= set(ids)] == []
    assert len(rounds[-1]) > 60 and proxy.cut_requests + proxy.cut_answers > 5


def test_an_export_as_a_job_comes_whole_through_cut_connections(proxy, unlucky, admin):
    word = unique("file")
    admin.categories.import_([{"name": word, "slug": f"{word}-{number}"} for number in range(30)])
    job = unlucky.jobs.wait(admin.categories.export_later(name=word))
    for _ in range(200):
        assert {row["slug"] for row in unlucky.jobs.rows(job)} == {f"{word}-{number}" for number in range(30)}
        if proxy.cut_answers >= 3:
            return
    pytest.fail("no answer was cut")


@pytest.mark.parametrize("ended", [True, False], ids=["over", "due"])
def test_one_of_many_threads_renews_a_token_before_it_ends(busy, admin, ended):
    before = refreshes(busy)
    aged(admin, due=True, ended=ended)
    assert {account["email"] for account in at_once(16, admin.me)} == {"admin@example.org"}
    assert refreshes(busy) == before + 1


def test_one_of_many_threads_renews_a_token_that_the_service_calls_expired(busy, unlimited, admin):
    before = refreshes(busy)
    expired(unlimited, admin)
    assert {account["email"] for account in at_once(16, admin.me)} == {"admin@example.org"}
    assert refreshes(busy) == before + 1


def test_a_session_outlives_refreshes_whose_answers_are_lost(proxy, unlucky):
    for _ in range(25):
        aged(unlucky, due=True, ended=True)
        assert unlucky.me()["email"] == "admin@example.org"
    assert proxy.cut_requests + proxy.cut_answers > 3


def test_a_write_with_an_expired_token_is_done_once_and_keeps_its_key(unlimited, proxy, unlucky, admin):
    slug = unique("renewed")
    for number in range(10):
        expired(unlimited, unlucky)
        unlucky.categories.create({"name": slug, "slug": f"{slug}-{number}"})
    assert sorted(row["slug"] for row in admin.categories.list(name=slug)) == [f"{slug}-{n}" for n in range(10)]


def test_a_session_that_has_ended_is_not_continued_as_a_guest(busy, admin):
    with Gatepost(busy.url) as other:
        other.login("admin@example.org", PASSWORD)
        admin.logout(everywhere=True)
        for _ in range(2):
            aged(other, due=True, ended=True)
            with pytest.raises(Unauthenticated, match="Log in again"):
                next(other.articles.list())
        other.logout()
        assert other.call("GET", "/api/health")["status"] in ("ok", "degraded")



"""Hidden versions: no answer reveals the version of a row to a caller who may not see it. Preconditions still work.

The caller here has the role support. A rule allows them to change, disable and delete users.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from gatepost.http.pipeline.conditional import hidden_version
from gatepost.http.security.keys import Keys, new_master, rotate
from models.tables.user import User
from tests.samples import sampled

RULES = "".join(f"p, support, user.{verb}, always, allow\n"
                for verb in ("update", "delete", "disable", "enable", "export"))
HIDDEN = re.compile(r'"h[0-9a-f]{32}(-[0-9a-f]{16})?"')


@pytest.fixture(scope="module")
def open_handed(under):
    return under("", {"users.csv": RULES})


@pytest.fixture
def stranger(open_handed, as_user):
    """A caller who may change users, and sees only their id, name and role."""
    caller = as_user("support")
    caller.client = open_handed.test_client()
    return caller


@pytest.fixture
def at_version(given) -> Callable[..., User]:
    """A user whose row has this version, with the same id each time."""
    def made(version: int, **values: Any) -> User:
        user = given.user("user", name="Ada", **values)
        set_version(given, user, version)
        return user

    return made


def set_version(given, user: User, version: int, **values: Any) -> None:
    given.database.transact(lambda: User.update(version=version, **values).where(User.id == user.id).execute())


def path(user: User, rest: str = "") -> str:
    return f"/api/users/{user.id}{rest}"


# What guards a write

def test_the_tag_that_a_stranger_reads_guards_every_kind_of_write(stranger, at_version):
    user = at_version(5)
    for method, rest, body in (("PATCH", "", {"name": "Ada"}), ("PUT", "", {"name": "Ada L."}),
                               ("POST", "/disable", {}), ("POST", "/enable", {}), ("DELETE", "", None)):
        tag = stranger.get(path(user)).headers["ETag"]
        assert HIDDEN.fullmatch(tag)
        sent = [] if body is None else [body]
        assert stranger.call(method, path(user, rest), *sent, headers={"If-Match": '"h' + 32 * "0" + '"'}
                             ).status_code == 412
        answer = stranger.call(method, path(user, rest), *sent, headers={"If-Match": tag})
        assert answer.status_code in (200, 204), answer.text


def test_the_tag_of_an_older_version_is_refused(stranger, given, at_version):
    user = at_version(5)
    tag = stranger.get(path(user)).headers["ETag"]
    set_version(given, user, 6)
    assert stranger.patch(path(user), {"name": "X"}, headers={"If-Match": tag}).status_code == 412


def test_the_tag_of_another_row_at_the_same_version_is_refused(stranger, at_version):
    one, other = at_version(5), at_version(5)
    tag = stranger.get(path(one)).headers["ETag"]
    assert tag != stranger.get(path(other)).headers["ETag"]
    assert stranger.patch(path(other), {"name": "X"}, headers={"If-Match": tag}).status_code == 412


@pytest.mark.parametrize("guess", ['"4"', '"5"', '"5-0123456789abcdef"', 'W/"5"', '"6"', '"3", "4", "5", "6"'])
def test_a_plain_version_never_fits_and_the_refusal_tells_none(stranger, at_version, guess):
    user = at_version(5)
    for method, rest, body in (("PATCH", "", {"name": "X"}), ("PUT", "", {"name": "X"}), ("DELETE", "", None),
                               ("POST", "/disable", {}), ("GET", "", None)):
        answer = stranger.call(method, path(user, rest), *([] if body is None else [body]), headers={"If-Match": guess})
        assert (answer.status_code, answer.get_json()["code"]) == (412, "version_conflict")
        assert HIDDEN.fullmatch(answer.headers["ETag"])
        assert not re.search(r"\d", answer.get_json()["detail"])


def test_any_version_is_fine_for_a_star(stranger, at_version):
    assert stranger.patch(path(at_version(5)), {"name": "X"}, headers={"If-Match": "*"}).status_code == 200


def test_a_write_that_wants_no_such_version_is_refused_only_by_the_hash_of_it(stranger, at_version):
    user = at_version(5)
    tag = stranger.get(path(user)).headers["ETag"]
    assert stranger.patch(path(user), {}, headers={"If-None-Match": tag}).status_code == 412
    assert stranger.patch(path(user), {}, headers={"If-None-Match": '"5"'}).status_code == 200


def test_a_read_is_saved_by_the_tag_and_not_by_the_number(stranger, at_version):
    user = at_version(5)
    tag = stranger.get(path(user)).headers["ETag"]
    assert stranger.get(path(user), headers={"If-None-Match": tag}).status_code == 304
    assert stranger.get(path(user), headers={"If-None-Match": '"5"'}).status_code == 200
    assert stranger.get(path(user), headers={"If-Match": tag}).status_code == 200


def test_one_who_sees_the_version_goes_by_its_number(as_user, as_role, at_version):
    user = at_version(5)
    for caller in (as_role("owner"), as_role("admin"), as_user(user)):
        assert caller.get(path(user)).headers["ETag"] == '"5"'
        assert re.fullmatch(r'"5-[0-9a-f]{16}"', caller.get(path(user, "?fields=name")).headers["ETag"])
        refused = caller.patch(path(user), {"name": "X"}, headers={"If-Match": '"4"'})
        assert (refused.status_code, refused.headers["ETag"]) == (412, '"5"')
        assert "5" in refused.get_json()["detail"]


def test_a_tag_of_a_replaced_key_still_fits_and_one_of_a_forgotten_key_does_not(
        open_handed, stranger, given, at_version):
    user, keys = at_version(5), open_handed.extensions["gatepost"].keys
    old = stranger.get(path(user)).headers["ETag"]
    rotate(keys._file)
    keys.refresh()
    assert stranger.patch(path(user), {}, headers={"If-Match": old}).status_code == 200
    new = stranger.get(path(user)).headers["ETag"]
    assert new != old
    assert stranger.patch(path(user), {}, headers={"If-Match": new}).status_code == 200
    version = given.found(User, user.id).version
    for ring, status in ((Keys([new_master()]), 412), (keys, 200)):
        tag = f'"{hidden_version(ring, user.id, version)}"'
        assert stranger.patch(path(user), {}, headers={"If-Match": tag}).status_code == status


# Nothing tells it

@dataclass(frozen=True)
class Try:
    method: str
    rest: str = ""
    body: Any = None
    header: str = ""
    value: str = ""


TRIES = (
    *(Try("GET", f"?fields={fields}") for fields in ("id,name", "version", "id,version", "allowed_actions")),
    Try("GET"), Try("HEAD"), Try("PATCH", body={}), Try("PATCH", body={"name": "Eve"}),
    Try("PUT", body={"name": "Eve"}),
    *(Try(method, rest, body, header, f'"{version}"')
      for method, rest, body in (("GET", "", None), ("PATCH", "", {}), ("PUT", "", {"name": "Eve"}),
                                 ("DELETE", "", None), ("POST", "/disable", {}))
      for header in ("If-Match", "If-None-Match") for version in (7, 8)
      if (method, header) not in (("DELETE", "If-None-Match"), ("POST", "If-None-Match"))),
    *(Try("PATCH", body={"version": version}) for version in (7, 8, 9)),
    *(Try("PUT", body={"name": "Eve", "version": version}) for version in (7, 8, None)),
)


@pytest.mark.parametrize(
    "one", sampled(TRIES, 3), ids=lambda one: f"{one.method} {one.rest} {one.body} {one.header} {one.value}")
def test_answers_for_one_version_and_the_next_differ_in_the_keyed_hash_alone(stranger, given, at_version, one):
    user, answers = at_version(7, active=True), []
    for version in (7, 8):
        set_version(given, user, version, name="Ada")
        sent = [] if one.body is None else [one.body]
        answer = stranger.call(one.method, path(user, one.rest), *sent,
                               headers={one.header: one.value} if one.header else {})
        headers = {name: HIDDEN.sub("a keyed hash", value) for name, value in answer.headers.items()
                   if name not in ("Date", "X-Request-ID")}
        answers.append((answer.status_code, headers, re.sub(r'"request_id":"[^"]*"', "", answer.text)))
    assert answers[0] == answers[1]
    assert answers[0][0] in (200, 400, 412), answers[0]

"""*People*: accounts, their sessions and tokens, and their permissions, as pages and forms."""

from __future__ import annotations

import pytest

from models.base import Rows, later
from models.tables.audit import Audit
from models.tables.service_token import ServiceToken
from models.tables.session import CONSOLE, Session
from models.tables.user import User
from tests.apps import NO_ROW, PASSWORD, ROLES
from tests.http.console.pages import ORIGIN, Seen, visit

PEOPLE = "/console/people"
HOSTILE = '"><script>alert(1)</script>\N{RIGHT-TO-LEFT OVERRIDE}'


@pytest.fixture
def admin(app):
    return visit(app, "admin")


def seen(visitor, path=PEOPLE, **query):
    answer = visitor.get(path, query_string=query or None)
    assert answer.status_code == 200, answer.text
    return Seen.of(answer)


def person(visitor, user):
    return seen(visitor, f"{PEOPLE}/{user.id}")


def people(page):
    return {link.rpartition("/")[2] for link in page.links
            if link.startswith(f"{PEOPLE}/") and len(link.rpartition("/")[2]) == 36}


def actions(page):
    return {form.action.removeprefix(f"{PEOPLE}/").partition("/")[2] for form in page.forms
            if form.action.startswith(f"{PEOPLE}/") and form.method == "post"}


def send(visitor, page, action, **changes):
    """Sends the form whose action ends with this text, with its own values and these changes."""
    form = next(one for one in page.forms if one.action.endswith(f"/{action}"))
    # A browser sends the selected role. Without it the role does not change.
    fields = {name: text for name, text in form.fields.items() if (name, text) != ("role", "")}
    return visitor.post(form.action, {**fields, **changes})


def noted(given, user, action):
    with given.database.connected():
        return Audit.select().where(Audit.resource_id == user.id, Audit.action == action).count()


def recorded(app, person):
    """Returns a user's audit events, including those that waited to be stored."""
    services = app.extensions["gatepost"]
    services.audit_writer.flush(early=True)
    with services.database.connected():
        rows = Audit.select().where(Audit.principal == person)
        return {(row.id, row.action, row.resource, row.reason) for row in rows}


# Who there is

def test_people_are_found_by_name_address_role_and_state(admin, given):
    dora = given.user("editor", name="Dora Dean", email="dora.dean@example.org", department="news", groups=["press"])
    ernst = given.user("support", name="Ernst Dean", active=False)
    assert people(seen(admin, q="dean")) == {dora.id, ernst.id}
    assert people(seen(admin, q="dora.dean@")) == {dora.id}
    assert people(seen(admin, q="dean", role="support")) == {ernst.id}
    assert people(seen(admin, q="dean", active="false")) == {ernst.id}
    page = seen(admin, q="Dora Dean")
    assert all(text in page.text for text in ("dora.dean@example.org", "editor", "news", "press", "active"))
    assert "No matching users." in seen(admin, q="xyzzyxyzzy").text


def test_pages_go_on_by_cursor(admin, given):
    made = {given.user(name=f"Crowd {number:02}").id for number in range(55)}
    first = seen(admin, q="Crowd")
    [more] = [link for link in first.links if "cursor=" in link]
    second = seen(admin, more)
    assert people(first) | people(second) == made and not people(first) & people(second)
    assert [link for link in second.links if "before=" in link]


@pytest.mark.parametrize("query", [{"active": "maybe"}, {"role": "x" * 200}, {"cursor": "made-up"}])
def test_what_cannot_be_asked_is_said_in_words(query, admin):
    page = seen(admin, **query)
    assert people(page) == set()


def test_roles_say_how_many_have_them(admin, given):
    before = seen(admin, f"{PEOPLE}/roles").text
    given.user("moderator")
    after = seen(admin, f"{PEOPLE}/roles")
    assert before != after.text and f"{PEOPLE}?role=moderator" in after.links


def test_people_are_found_by_group(admin, given):
    inside = given.user(name="Pia", groups=["presses", "night shift"])
    given.user(name="Pip", groups=["press"])
    assert people(seen(admin, group="presses")) == {inside.id}
    for page in (seen(admin, group="presses"), person(admin, inside)):
        assert f"{PEOPLE}?group=night+shift" in page.links or f"{PEOPLE}?group=night%20shift" in page.links


def test_groups_that_the_rules_name_say_how_many_are_in_them(under, given):
    app = under("    p.when == 'of_atlas' && inGroup(r.sub, 'atlas') || \\\n",
                {"articles.csv": "p, user, article.view, of_atlas, allow"})
    given.user(groups=["atlas", "zeus"])
    page = seen(visit(app, "admin"), f"{PEOPLE}/roles")
    assert f"{PEOPLE}?group=atlas" in page.links and f"{PEOPLE}?group=zeus" not in page.links
    assert "Groups used in rules" in page.text and "atlas1" in page.text
    assert "atlas" not in seen(visit(app, "editor"), f"{PEOPLE}/roles").text, "who may not see the rules"
    assert "atlas" not in seen(visit(app, "developer"), f"{PEOPLE}/roles").text, "who sees the groups of nobody else"


# Who sees what

@pytest.mark.parametrize("role", ROLES)
def test_people_are_for_members_and_the_rules_for_readers_of_the_rules(role, app, given):
    visitor, user = visit(app, role), given.user()
    members = 303 if role == "guest" else 200
    readers = {"guest": 303, "developer": 200, "owner": 200, "admin": 200}.get(role, 403)
    for path, status in ((PEOPLE, members), (f"{PEOPLE}/{user.id}", members), (f"{PEOPLE}/roles", members),
                         (f"{PEOPLE}/who?permission=article.view", readers)):
        assert visitor.get(path).status_code == status, path


def test_a_page_asks_for_a_login_though_guests_may_see_people(under):
    app = under(lines={"users.csv": "p, guest, user.view, always, allow"})
    assert visit(app).get(PEOPLE).status_code == 303


def test_who_may_not_view_people_is_refused(under, given):
    app = under(lines={"roles.csv": "g, hermit, guest", "users.csv": "p, hermit, profile.view, always, allow"})
    hermit = visit(app, given.user("hermit"))
    for path in (PEOPLE, f"{PEOPLE}/roles", f"{PEOPLE}/{given.user().id}"):
        assert hermit.get(path).status_code == 403
    assert PEOPLE not in Seen.of(hermit.get("/console", follow_redirects=True)).links


@pytest.mark.parametrize("role", ["user", "support", "editor", "developer"])
def test_guarded_fields_sessions_and_tokens_of_others_are_not_shown(role, app, given):
    dora = given.user(name="Dora Dull", department="secret service", groups=["spies"])
    given.session(dora)
    given.service_token(dora, name="Exploding pen")
    visitor = visit(app, role)
    pages = [person(visitor, dora), seen(visitor, q="Dora Dull")]
    for page in pages:
        assert "Dora Dull" in page.text and not any(
            secret in page.text for secret in (dora.email, "secret service", "spies", "Exploding pen"))
        assert actions(page) == set()
    assert people(seen(visitor, q=dora.email[:-4])) == set()


@pytest.mark.parametrize("path", ["", "/change", "/disable", "/enable"])
@pytest.mark.parametrize("whose", ["foreign", "absent"])
def test_people_of_another_tenant_are_as_absent_as_those_who_are_not_there(path, whose, admin, elsewhere):
    id = elsewhere.user(name="Zed Elsewhere").id if whose == "foreign" else NO_ROW
    sent = {"name": "Mine"} if path == "/change" else {}
    answer = admin.post(f"{PEOPLE}/{id}{path}", sent) if path else admin.get(f"{PEOPLE}/{id}")
    assert answer.status_code == 404
    assert "Zed" not in answer.text and people(seen(admin, q="Zed Elsewhere")) == set()


def test_sessions_and_tokens_of_another_tenant_cannot_be_ended(admin, elsewhere, given):
    zed, dora = elsewhere.user(), given.user()
    session, token = elsewhere.session(zed), elsewhere.service_token(zed)
    for kind, row in (("sessions", session), ("tokens", token)):
        assert admin.post(f"{PEOPLE}/{dora.id}/{kind}/{row.id}/end").status_code == 404
    assert elsewhere.found(Session, session.id).revoked_at is None
    assert elsewhere.found(ServiceToken, token.id) is not None


# One user

def test_a_person_is_shown_with_the_ways_to_what_they_may_and_did(admin, given):
    dora = given.user("editor", name="Dora Dean", department="news", groups=["press", "desk"])
    page = person(admin, dora)
    assert all(text in page.text for text in ("Dora Dean", dora.email, "editor", "news", "press, desk"))
    assert {f"/console/why?as={dora.id}", f"/console/rules?person={dora.id}", f"/console/audit?who={dora.id}",
            f"/console/audit?id={dora.id}"} <= set(page.links)
    assert actions(page) == {"change", "disable"}
    assert actions(person(admin, given.user(active=False))) == {"change", "enable"}


def test_an_account_is_disabled_and_enabled_once_each(admin, given):
    dora = given.user()
    session, page = given.session(dora), person(admin, dora)
    answer = send(admin, page, "disable")
    assert (answer.status_code, answer.headers["Location"]) == (303, f"{PEOPLE}/{dora.id}")
    assert not given.found(User, dora.id).active and given.found(Session, session.id).revoked_at is not None
    assert send(admin, page, "disable").status_code == 303  # the same page, sent twice
    assert noted(given, dora, "disable") == 1
    assert send(admin, person(admin, dora), "enable").status_code == 303
    assert given.found(User, dora.id).active


def test_a_change_is_one_run_of_the_api(admin, given):
    dora = given.user(name="Dora", department="news", groups=["press"])
    page = person(admin, dora)
    answer = send(admin, page, "change", name="Dora Doe", role="editor", department="", groups="desk, night shift")
    assert answer.status_code == 303, answer.text
    now = given.found(User, dora.id)
    assert (now.name, now.role, now.department, now.groups, now.email) == (
        "Dora Doe", "editor", None, ["desk", "night shift"], dora.email)
    assert noted(given, dora, "update") == 1


@pytest.mark.parametrize("groups", [["night, or day", "desk"], ['"quoted"', 'a "b', ","], ['a"', '",", "b'], []])
def test_groups_with_commas_and_quotes_stay_when_something_else_changes(admin, given, groups):
    dora = given.user(groups=groups)
    assert send(admin, person(admin, dora), "change", name="Dora").status_code == 303
    assert (given.found(User, dora.id).name, given.found(User, dora.id).groups) == ("Dora", groups)


@pytest.mark.parametrize(("typed", "groups"), [
    ('a,b , "c, d"', ["a", "b", "c, d"]), ('"a, b', ['"a', "b"]), ('"a"b, c', ['"a"b', "c"]), (" , ,a,", ["a"]),
    ('"a" ,"""b"""', ["a", '"b"']),
])
def test_groups_are_typed_with_commas_between_them(admin, given, typed, groups):
    dora = given.user()
    assert send(admin, person(admin, dora), "change", groups=typed).status_code == 303
    assert given.found(User, dora.id).groups == groups


def test_a_change_of_what_has_changed_meanwhile_is_drawn_again_and_can_be_sent_then(admin, given):
    dora = given.user(name="Dora")
    page = person(admin, dora)
    given.database.transact(lambda: Rows(User, given.tenant_id).save(_renamed(given, dora, "Other")))
    answer = send(admin, page, "change", name="Mine")
    again = Seen.of(answer)
    assert answer.status_code == 412 and "is at version" in again.text and given.found(User, dora.id).name == "Other"
    form = again.form(f"{PEOPLE}/{dora.id}/change")
    assert form.fields["name"] == "Mine"
    assert send(admin, again, "change").status_code == 303 and given.found(User, dora.id).name == "Mine"


def _renamed(given, user, name):
    row = Rows(User, given.tenant_id).find(user.id)
    row.name = name
    return row


def test_what_is_wrong_stands_beside_its_entry_with_what_was_typed(admin, given):
    dora, other = given.user(), given.user()
    answer = send(admin, person(admin, dora), "change", name="", email="no address", role="emperor")
    page = Seen.of(answer)
    assert answer.status_code == 400
    assert {"name-fault", "email-fault"} <= set(page.ids) and "current_password-fault" not in page.ids
    assert page.form(f"{PEOPLE}/{dora.id}/change").fields["email"] == "no address"
    answer = send(admin, person(admin, dora), "change", email=other.email)
    assert answer.status_code == 409 and given.found(User, dora.id).email == dora.email


def test_roles_are_offered_up_to_the_reader_s_own(app, given):
    owner, dora = visit(app, "owner"), given.user()
    page = person(owner, dora)
    assert send(owner, page, "change", role="admin").status_code == 403
    assert given.found(User, dora.id).role == "user"
    chief = given.user("admin")
    page = person(owner, chief)
    assert actions(page) == set()
    for action, sent in (("disable", {}), ("change", {"name": "Mine"})):
        assert owner.post(f"{PEOPLE}/{chief.id}/{action}", sent).status_code == 403
    assert given.found(User, chief.id).active and given.found(User, chief.id).name == chief.name


@pytest.mark.parametrize("role", ["user", "support", "developer"])
def test_what_is_refused_is_not_drawn_and_does_nothing(role, app, given):
    visitor, dora = visit(app, role), given.user()
    session, token = given.session(dora), given.service_token(dora)
    assert actions(person(visitor, dora)) == set()
    for action in ("change", "disable", "enable", f"sessions/{session.id}/end", f"tokens/{token.id}/end"):
        sent = {"name": "Mine"} if action == "change" else {}
        assert visitor.post(f"{PEOPLE}/{dora.id}/{action}", sent).status_code in (403, 404), action
    now = given.found(User, dora.id)
    assert (now.name, now.active, now.version) == (dora.name, True, dora.version)
    assert given.found(Session, session.id).revoked_at is None and given.found(ServiceToken, token.id) is not None


def test_a_reader_changes_the_own_name_and_not_the_own_role(app, given):
    visitor = visit(app, given.user("user"))
    page = person(visitor, visitor.user)
    form = page.form(f"{PEOPLE}/{visitor.user.id}/change")
    assert "name" in form.fields and "email" in form.fields and not {"role", "department", "groups"} & set(form.fields)
    assert send(visitor, page, "change", name="A better name").status_code == 303
    assert visitor.post(f"{PEOPLE}/{visitor.user.id}/change", {"role": "admin"}).status_code == 400
    now = given.found(User, visitor.user.id)
    assert (now.name, now.role) == ("A better name", "user")


def test_another_address_of_one_s_own_asks_for_the_password(app, given):
    visitor = visit(app, given.user("admin", password=PASSWORD))
    given.database.transact(lambda: Session.update(created_at=later(-3600)).where(
        Session.owner_id == visitor.user.id).execute())
    page = person(visitor, visitor.user)
    for password, status in (("", 403), ("a short walk", 403), (PASSWORD, 303)):
        answer = send(visitor, page, "change", email="new.address@example.org", current_password=password)
        assert answer.status_code == status, answer.text
        if status == 403:
            again = Seen.of(answer)
            assert "current_password-fault" in again.ids and PASSWORD not in answer.text
            assert again.form(f"{PEOPLE}/{visitor.user.id}/change").fields["current_password"] == ""
            page = again
    assert given.found(User, visitor.user.id).email == "new.address@example.org"
    other = given.user()
    assert "current_password" not in person(visitor, other).form(f"{PEOPLE}/{other.id}/change").fields


# Sessions and tokens

def test_sessions_are_shown_and_ended(admin, given):
    dora = given.user()
    session = given.row(Session(owner_id=dora.id, family=NO_ROW, token_hash="-", expires_at=later(3600), kind=CONSOLE,
                                absolute_expires_at=later(3600), address="192.0.2.7", device="tablet"))
    page = person(admin, dora)
    assert "192.0.2.7" in page.text and "tablet" in page.text and "Console" in page.text
    answer = send(admin, page, f"sessions/{session.id}/end")
    assert (answer.status_code, answer.headers["Location"]) == (303, f"{PEOPLE}/{dora.id}")
    assert given.found(Session, session.id).revoked_at is not None
    assert "No active sessions." in person(admin, dora).text
    assert send(admin, page, f"sessions/{session.id}/end").status_code == 404


def test_ending_one_s_own_session_logs_out(admin, given):
    page = person(admin, admin.user)
    assert "You will be logged out" in page.text
    with given.database.connected():
        mine = Session.select().where(Session.owner_id == admin.user.id, Session.kind == CONSOLE).get()
    answer = send(admin, page, f"sessions/{mine.id}/end")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/console/login")
    assert "Max-Age=0" in answer.headers["Set-Cookie"] and answer.headers["Clear-Site-Data"] == '"cache"'
    assert admin.get(PEOPLE).status_code == 303


def test_tokens_are_shown_and_taken_back(admin, given):
    dora, ernst = given.user(), given.user()
    token, other = given.service_token(dora, name="Backup of roses"), given.service_token(ernst, name="Weeds")
    page = person(admin, dora)
    assert "Backup of roses" in page.text and "read:articles" in page.text and "Weeds" not in page.text
    assert send(admin, page, f"tokens/{token.id}/end").status_code == 303
    assert given.found(ServiceToken, token.id) is None and given.found(ServiceToken, other.id) is not None
    assert "No service tokens." in person(admin, dora).text


def test_the_sessions_of_somebody_who_ranks_above_cannot_be_ended(app, given):
    owner, chief = visit(app, "owner"), given.user("admin")
    session = given.session(chief)
    assert actions(person(owner, chief)) == set()
    assert owner.post(f"{PEOPLE}/{chief.id}/sessions/{session.id}/end").status_code == 403
    assert given.found(Session, session.id).revoked_at is None


def test_a_form_of_another_origin_does_nothing(admin, given):
    dora = given.user()
    for headers in ({"Origin": "https://evil.example"}, {"Origin": "null"}):
        assert admin.post(f"{PEOPLE}/{dora.id}/disable", headers=headers).status_code == 403
    assert admin.client.post(f"{PEOPLE}/{dora.id}/disable").status_code == 403 and ORIGIN
    assert given.found(User, dora.id).active


def test_to_look_changes_nothing(admin, given, app):
    dora = given.user()
    session, token = given.session(dora), given.service_token(dora)
    for path in ("change", "disable", "enable", f"sessions/{session.id}/end", f"tokens/{token.id}/end"):
        assert admin.get(f"{PEOPLE}/{dora.id}/{path}").status_code == 404
    before = recorded(app, f"user:{admin.user.id}")
    for path in (PEOPLE, f"{PEOPLE}/{dora.id}", f"{PEOPLE}/roles", f"{PEOPLE}/who?permission=article.view"):
        seen(admin, path)
    assert recorded(app, f"user:{admin.user.id}") == before
    assert given.found(User, dora.id).version == dora.version


# Who can do this

def test_who_may_do_something_is_listed_with_the_line(admin, given):
    dora = given.user(name="Dora Dean")
    article = given.article("draft", owner_id=dora.id, title="A gate for two")
    page = seen(admin, f"{PEOPLE}/who", permission="article.update", id=article.id)
    assert dora.id in people(page) and "articles.csv:" in page.text and "A gate for two" in page.text
    found = seen(admin, f"{PEOPLE}/who", permission="article.update", id="A gate for two")
    assert any(article.id in link for link in found.links)
    guests = seen(admin, f"{PEOPLE}/who", permission="article.view").text
    assert "everyone, without login" in guests


@pytest.mark.parametrize(("query", "said"), [
    ({"permission": "article.burn"}, "There is no such permission"),
    ({"permission": "article.view", "id": "xyzzyxyzzy"}, "There is no such object"),
    ({"permission": "article.view", "id": NO_ROW}, ""),
    ({"permission": "article.view", "cursor": "made-up"}, ""),
])
def test_what_cannot_be_asked_of_who_is_said(query, said, admin):
    page = seen(admin, f"{PEOPLE}/who", **query)
    assert said in page.text and [tag for tag, attributes in page.tags if attributes.get("role") == "alert"]


def test_hostile_texts_are_texts(admin, given):
    dora = given.user(name=(HOSTILE * 20)[:200], department=HOSTILE, groups=[HOSTILE])
    given.row(Session(owner_id=dora.id, family=NO_ROW, token_hash="--", expires_at=later(3600), address=HOSTILE,
                      absolute_expires_at=later(3600), device=HOSTILE))
    given.service_token(dora, name=HOSTILE * 5, scopes=[HOSTILE])
    article = given.article("draft", owner_id=dora.id, title=HOSTILE)
    for path in (PEOPLE, f"{PEOPLE}/{dora.id}", f"{PEOPLE}/who?permission=article.update&id={article.id}"):
        text = admin.get(path).text
        assert "<script>alert" not in text and "\\u202e" in text
    for path, name in ((PEOPLE, "q"), (PEOPLE, "role"), (PEOPLE, "active"), (f"{PEOPLE}/who", "permission"),
                       (f"{PEOPLE}/who", "id")):
        answer = admin.get(path, query_string={"permission": "article.view"} | {name: HOSTILE}
                           if path != PEOPLE else {name: HOSTILE})
        assert answer.status_code == 200 and "<script>alert" not in answer.text
    answer = send(admin, person(admin, given.user()), "change", name=HOSTILE * 20)
    assert answer.status_code == 400 and "<script>alert" not in answer.text


# Unused permissions

def test_lines_that_were_not_seen_lead_to_where_they_can_be_tried_without(app):
    page = seen(visit(app, "developer"), f"{PEOPLE}/unused")
    assert "Rules not used in this period" in page.text and "Commands are not counted" in page.text
    assert any(link.startswith("/console/try?file=articles.csv&line=") for link in page.links)


def test_how_far_back_is_chosen_and_what_cannot_be_asked_is_said(admin):
    assert "Last 7 days" in seen(admin, f"{PEOPLE}/unused", days="7").text
    assert "Not a valid integer." in seen(admin, f"{PEOPLE}/unused", days="<b>").text
    assert "Must be greater than or equal to 1" in seen(admin, f"{PEOPLE}/unused", days="401").text


@pytest.mark.parametrize("role", ROLES)
def test_what_nobody_uses_is_for_those_who_may_see_the_rules(role, app, as_role):
    visitor, may = visit(app, role), as_role(role).get("/api/admin/policy").status_code == 200
    assert visitor.get(f"{PEOPLE}/unused").status_code == (200 if may else 303 if role == "guest" else 403)
    if role != "guest":
        assert (f"{PEOPLE}/unused" in visitor.get(PEOPLE).text) == may


# The review

def test_a_review_has_each_role_how_it_was_got_and_the_last_use(app, given):
    given.user("editor", name=f"Nora {HOSTILE}")
    page = seen(visit(app, "owner"), f"{PEOPLE}/review")
    assert "editor assigned to the account" in page.text and "Nora" in page.text and "never" in page.text
    assert [tag for tag, _ in page.tags].count("script") == 1
    assert "No matching users." in seen(visit(app, "owner"), f"{PEOPLE}/review", role="nobody").text


@pytest.mark.parametrize("role", ROLES)
def test_a_review_is_offered_to_those_who_may_read_it(role, app, as_role):
    visitor, may = visit(app, role), as_role(role).get("/api/admin/policy/review").status_code == 200
    if role != "guest":
        assert (f"{PEOPLE}/review" in visitor.get(PEOPLE).text) == may

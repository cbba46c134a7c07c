"""*Try a change*: the API's own endpoints check, show and apply the typed text, and it is never lost."""

from __future__ import annotations

import fcntl

import pytest

from blueprints.policy_changes.pages import drafts, trying
from blueprints.policy_changes.pages.trying import LARGEST_FORM
from models.engine.errors import Unavailable
from models.tables.audit import Audit
from models.tables.session import Session
from models.tables.user import User
from tests.apps import Given
from tests.http.console.edited import (
    APPLY,
    HISTORY,
    TRY,
    edit_form,
    form_of,
    live,
    store_history,
    stored,
    tried,
    with_line,
)
from tests.http.console.pages import Seen, visit

APPROVING = "p, support, order.approve, always, allow"
OPEN = "p, user, article.update, own, allow"  # against an invariant
HOSTILE = "# </textarea><script>alert(1)</script> \u202egnp. &amp; " + "x" * 500


@pytest.mark.parametrize(("role", "status"), [
    ("guest", 303), ("user", 403), ("editor", 403), ("developer", 200), ("owner", 200), ("admin", 200)])
def test_whoever_may_view_the_rules_may_try_a_change(role, status, app):
    assert visit(app, role).get(TRY).status_code == status


def test_the_files_in_force_are_listed_with_what_they_say_of_themselves(app):
    seen = visit(app, "developer").page(TRY)
    assert f"{TRY}?file=articles.csv" in seen.links and f"{TRY}?file=model.conf" in seen.links
    assert "Articles: everybody reads what is published" in seen.text


def test_a_file_is_drawn_as_it_is_with_the_numbers_of_its_lines(app):
    form = form_of(visit(app, "developer"), "articles.csv")
    assert form.fields["text"] == stored(app, "articles.csv")
    assert form.fields["base_version"] == live(app)
    seen = visit(app, "developer").page(f"{TRY}?file=articles.csv&line=12")
    assert ("b", {"class": "at", "id": "line-12", "tabindex": "-1", "autofocus": ""}) in seen.tags
    assert "Line 12 is marked." in seen.text


@pytest.mark.parametrize("line", ["0", "-3", "99999", "x", "9" * 400, "٣"])
def test_a_line_that_is_none_marks_nothing(line, app):
    assert "autofocus" not in visit(app, "developer").get(f"{TRY}?file=articles.csv&line={line}").text


def test_a_line_is_proposed_below_those_of_its_kind(app):
    line = "p, support, article.publish, always, allow"
    form = form_of(visit(app, "developer"), f"articles.csv&add={line.replace(' ', '+')}%0d%0amore")
    lines = form.fields["text"].split("\n")
    assert lines[18] == line and "more" not in lines and lines[17].startswith("p, editor")
    assert [one for one in lines if one != line] == stored(app, "articles.csv").split("\n")


@pytest.mark.parametrize("name", ["none.csv", "../secret.key", "%00", "tests.yaml", "x" * 400, "%3Cscript%3E"])
def test_a_file_that_is_none_leads_to_those_that_are(name, app):
    answer = visit(app, "admin").get(f"{TRY}?file={name}")
    assert answer.status_code in (400, 404) and "<script>" not in answer.text
    if answer.status_code == 404:
        assert "There is no such active rule file." in answer.text


def test_a_new_file_is_begun_tried_and_put_in_force(edited, here):
    admin = visit(edited, "admin")
    assert "new" in admin.page(TRY).form(TRY).fields
    begun = admin.page(f"{TRY}?new=support.csv")
    assert "Apply the change to create it" in begun.text
    form = edit_form(begun)
    assert (form.fields["file"], form.fields["text"].split()[-2:]) == ("support.csv", ["#", "end"])
    ready = edit_form(tried(admin, form, text=with_line(form.fields["text"], APPROVING)))
    assert admin.post(APPLY, ready.fields).status_code == 303
    assert APPROVING in stored(edited, "support.csv")


def test_the_name_of_a_file_that_is_there_leads_to_it(app):
    seen = visit(app, "developer").page(f"{TRY}?new=articles.csv")
    assert "Apply the change to create it" not in seen.text
    assert "This text is based on the active version" in seen.text


@pytest.mark.parametrize("name", [
    "support", "../x.csv", "Support.csv", "x" * 101 + ".csv", "%3Cscript%3E.csv", "a.toml", "tests.yaml"])
def test_a_name_that_no_policy_file_can_have_is_refused_and_kept(name, app):
    answer = visit(app, "developer").get(f"{TRY}?new={name}")
    assert answer.status_code == 400 and "and ends in .csv." in answer.text
    assert "<script>" not in answer.text and 'name="new" value="' in answer.text


def test_a_try_tells_who_gains_by_which_line_and_what_rows_open_and_changes_nothing(app, given, here):
    given.page(status="draft"), given.user("user")
    visitor, before = visit(app, "owner"), live(app)
    form = form_of(visitor, "pages.csv")
    text = with_line(form.fields["text"], "p, user, page.view, always, allow")
    seen = tried(visitor, form, text=text, replay_days="7")
    assert "This change is valid" in seen.text and "published → always" in seen.text
    assert "Newly allowed, for example: status is" in seen.text and "pages.csv:" in seen.text
    assert "Affected rows" in seen.text and "Newly allowed" in seen.text
    assert "Replay of the last 7 days" in seen.text
    assert (live(app), stored(app, "pages.csv")) == (before, form.fields["text"])
    assert edit_form(seen).fields["text"] == text


def test_an_error_is_told_at_its_line_and_cannot_be_applied(unedited, here):
    visitor = visit(unedited, "admin")
    form = form_of(visitor, "articles.csv")
    seen = tried(visitor, form, text=with_line(form.fields["text"], OPEN))
    assert "This change is not valid" in seen.text and "invariants.csv:30" in seen.text
    assert "#line-37" in seen.links and ("b", {"class": "error", "id": "line-37"}) in seen.tags
    assert APPLY not in edit_form(seen).buttons


@pytest.mark.parametrize(("role", "setting", "words"), [
    ("developer", "on", "You need the permission"), ("admin", "off", "gatepost policy apply")])
def test_who_may_not_apply_is_told_how_it_would_come_into_force_and_sees_no_button(
        role, setting, words, app, unedited, here):
    served = unedited if setting == "on" else app
    visitor = visit(served, role)
    form = form_of(visitor, "orders.csv")
    seen = tried(visitor, form, text=with_line(form.fields["text"], APPROVING))
    assert words in seen.text and APPLY not in edit_form(seen).buttons


def test_only_who_may_look_at_the_audit_trail_has_decisions_made_again(app, here):
    assert "replay_days" not in form_of(visit(app, "developer"), "orders.csv").fields
    assert "replay_days" in form_of(visit(app, "owner"), "orders.csv").fields
    visitor = visit(app, "developer")
    form = form_of(visitor, "orders.csv")
    answer = visitor.post(TRY, {**form.fields, "replay_days": "7"})
    assert answer.status_code == 403 and edit_form(Seen.of(answer)).fields["text"] == form.fields["text"]


def test_what_takes_too_long_is_said_to_be_unknown(app, here, monkeypatch):
    from blueprints.policy_changes import changing as endpoints
    from blueprints.policy_changes import child
    monkeypatch.setattr(endpoints, "tried", lambda question: child.Trial(
        {"findings": []}, {"changes": "timeout", "rows": "failed"}))
    visitor = visit(app, "developer")
    seen = tried(visitor, form_of(visitor, "orders.csv"))
    assert "The changed permissions are unknown. The calculation took too long." in seen.text
    assert "The affected rows are unknown. The calculation failed" in seen.text


@pytest.fixture
def at_once(monkeypatch):
    """Skips the computation of trials, whose results do not matter here."""
    from blueprints.policy_changes import changing as endpoints
    from blueprints.policy_changes import child
    monkeypatch.setattr(endpoints, "tried", lambda question: child.Trial(
        {"findings": []}, {"changes": "timeout", "rows": "timeout"}))


class TestApply:
    def test_it_puts_in_force_what_was_tried_and_leads_to_the_history(self, edited, here):
        visitor, base = visit(edited, "admin"), live(edited)
        form = form_of(visitor, "orders.csv")
        text = with_line(form.fields["text"], APPROVING)
        ready = edit_form(tried(visitor, form, text=text.replace("\n", "\r\n")))
        assert APPLY in ready.buttons
        answer = visitor.post(APPLY, {**ready.fields, "note": "as agreed"})
        assert (answer.status_code, answer.headers["Location"]) == (303, f"{HISTORY}/{live(edited)}")
        assert live(edited) != base and stored(edited, "orders.csv") == text
        seen = visitor.page(answer.headers["Location"])
        assert "as agreed" in seen.text and f"{HISTORY}/{base}/revert" in seen.links
        assert visitor.post(APPLY, ready.fields).status_code == 303, "a double click"
        assert visitor.page(HISTORY).text.count("as agreed") == 3, "one row, and two choices of what to compare"

    def test_a_role_of_a_group_is_shown_before_and_after_and_in_the_history(self, edited, here):
        visitor, line = visit(edited, "admin"), "g, oidc:team/editors, editor"
        form = form_of(visitor, "roles.csv")
        seen = tried(visitor, form, text=with_line(form.fields["text"], line))
        heading = "Added (+) and removed (−) roles of groups, from the next login of each member"
        assert heading in seen.text and f"+ {line}" in seen.text
        answer = visitor.post(APPLY, edit_form(seen).fields)
        assert answer.status_code == 303
        store_history(edited)
        seen = visitor.page(answer.headers["Location"])
        assert heading in seen.text and f"+ {line}" in seen.text
        seen = visitor.page(next(link for link in seen.links if link.endswith("/revert")))
        assert f"− {line}" in seen.text

    def test_a_text_that_was_changed_since_is_tried_again(self, unedited, here):
        visitor, base = visit(unedited, "admin"), live(unedited)
        form = form_of(visitor, "orders.csv")
        for sent in (form.fields, edit_form(tried(visitor, form, text=with_line(form.fields["text"], "# one"))).fields):
            text = with_line(form.fields["text"], APPROVING)
            answer = visitor.post(APPLY, {**sent, "text": text, "note": "mine"})
            assert answer.status_code == 409 and "has changed since you tried it" in answer.text
            assert edit_form(Seen.of(answer)).fields["text"] == text
            assert live(unedited) == base

    def test_of_two_tabs_the_second_is_shown_both_and_goes_on(self, edited, here):
        visitor = visit(edited, "admin")
        form, other = form_of(visitor, "orders.csv"), form_of(visitor, "orders.csv")
        mine = with_line(form.fields["text"], "# mine")
        ready = edit_form(tried(visitor, form, text=mine))
        theirs = edit_form(tried(visitor, other, text=with_line(other.fields["text"], APPROVING)))
        assert visitor.post(APPLY, theirs.fields).status_code == 303
        in_force = live(edited)
        answer = visitor.post(APPLY, {**ready.fields, "note": "why"})
        seen = Seen.of(answer)
        assert answer.status_code == 409 and live(edited) == in_force and APPROVING in stored(edited, "orders.csv")
        assert "The active rules have changed" in seen.text
        assert f"added: {APPROVING}" in seen.text and f"removed: {APPROVING}" in seen.text
        kept = edit_form(seen)
        assert kept.fields["text"] == mine and APPLY not in kept.buttons
        assert kept.fields["base_version"] == form.fields["base_version"]
        assert "The active rules have changed" in tried(visitor, kept).text, "a try alone does not go on"
        merged = with_line(stored(edited, "orders.csv"), "# mine")
        on = edit_form(tried(visitor, kept, text=merged, _rebase=in_force))
        assert on.fields["base_version"] == in_force and APPLY in on.buttons
        assert visitor.post(APPLY, on.fields).status_code == 303
        assert stored(edited, "orders.csv") == merged

    def test_another_role_is_refused_and_that_is_recorded(self, unedited, here):
        base, admin = live(unedited), visit(unedited, "admin")
        services, form = unedited.extensions["gatepost"], form_of(admin, "orders.csv")
        ready = edit_form(tried(admin, form, text=with_line(form.fields["text"], APPROVING)))
        for role, status in (("developer", 403), ("editor", 403), ("guest", 401)):
            visitor = visit(unedited, role)
            assert visitor.post(APPLY, ready.fields).status_code == status, role
            assert live(unedited) == base and stored(unedited, "orders.csv") == form.fields["text"]
            if visitor.user is not None:
                services.audit_writer.flush(early=True)
                with services.database.connected():
                    rows = Audit.select().where(Audit.principal == f"user:{visitor.user.id}")
                    assert [(row.action, row.result) for row in rows] == [("update", "refused")]

    def test_a_page_of_another_origin_applies_nothing(self, unedited, here):
        visitor, base = visit(unedited, "admin"), live(unedited)
        form = form_of(visitor, "orders.csv")
        ready = edit_form(tried(visitor, form, text=with_line(form.fields["text"], APPROVING)))
        answer = visitor.post(APPLY, ready.fields, {"Origin": "https://evil.example"})
        assert answer.status_code == 403 and APPROVING not in answer.text and live(unedited) == base

    def test_lines_about_people_of_another_tenant_are_left_out_and_stay(self, edited, here):
        services = edited.extensions["gatepost"]
        line = f"p, user:{Given(edited, 'other').user('admin').id}, order.approve, always, allow"
        file = services.settings.policies / "orders.csv"
        file.write_text(with_line(file.read_text(), line))
        services.policy.reload()
        visitor = visit(edited, "admin")
        form = form_of(visitor, "orders.csv")
        assert line not in form.fields["text"]
        seen = tried(visitor, form, text=with_line(form.fields["text"], APPROVING))
        assert "An operator can apply it with a command." in seen.text and APPLY not in edit_form(seen).buttons


class TestWhatIsTyped:
    @pytest.mark.parametrize("text", [
        "", "\n\n# two lines first\n# end\n", f"{HOSTILE}\n# end\n", "# end\r# a line\r\n", "\t\x0b\f\u2028\n# end\n",
        "p, user:01930000-0000-7000-8000-000000000000, article.view, always, allow\n# end\n"], ids=str.__len__)
    def test_it_is_drawn_as_it_was_with_plain_line_ends(self, text, app, at_once):
        visitor = visit(app, "developer")
        seen = tried(visitor, form_of(visitor, "orders.csv"), text=text)
        kept = text.replace("\r\n", "\n").replace("\r", "\n")
        assert edit_form(seen).fields["text"] == kept
        assert not [tag for tag, given in seen.tags if tag == "script" and "src" not in given]

    def test_half_a_megabyte_is_read_and_drawn_again(self, app, at_once):
        visitor = visit(app, "developer")
        text = f"{'# , ; é' * 9}\n" * 8_000 + "# end\n"
        assert 500_000 < len(text.encode()) < LARGEST_FORM
        assert edit_form(tried(visitor, form_of(visitor, "orders.csv"), text=text)).fields["text"] == text

    @pytest.mark.parametrize(("sent", "words"), [
        ({"text": "a\0b"}, "NUL is not allowed"), ({"file": "../x.csv"}, "No policy file has this name"),
        ({"file": ""}, "No policy file has this name"),
        ({"text": "#" * (2**20 + 1)}, "more than 1048576 bytes"), ({"replay_days": "x"}, ""), ({"more": "x"}, "")])
    def test_it_stays_where_it_cannot_be_tried(self, sent, words, app):
        visitor = visit(app, "owner")
        form = form_of(visitor, "orders.csv")
        answer = visitor.post(TRY, {**form.fields, "text": "# mine", **sent})
        assert answer.status_code == 400 and words in answer.text, answer.text
        assert edit_form(Seen.of(answer)).fields["text"] == sent.get("text", "# mine").replace("\0", "\ufffd")

    def test_it_stays_while_another_change_is_tried(self, app, instance_folder):
        visitor = visit(app, "developer")
        form = form_of(visitor, "orders.csv")
        with open(instance_folder / "policy.trial.lock", "w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            answer = visitor.post(TRY, {**form.fields, "text": "# mine"})
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
        assert edit_form(Seen.of(answer)).fields["text"] == "# mine"

    def test_it_stays_when_the_session_has_ended(self, app):
        visitor = visit(app, "developer")
        form = form_of(visitor, "orders.csv")
        with app.extensions["gatepost"].database.connected():
            Session.delete().where(Session.owner_id == visitor.user.id).execute()
        answer = visitor.post(TRY, {**form.fields, "text": "# mine"})
        seen = Seen.of(answer)
        assert answer.status_code == 401 and "/console/login" in seen.links and "Log in in another tab" in seen.text
        assert edit_form(seen).fields["text"] == "# mine"

    def test_it_stays_when_the_role_is_lost(self, app):
        visitor = visit(app, "developer")
        form = form_of(visitor, "orders.csv")
        with app.extensions["gatepost"].database.connected():
            User.update({User.role: "user"}).where(User.id == visitor.user.id).execute()
        assert visitor.post(TRY, {**form.fields, "text": "# mine"}).status_code == 403

    def test_a_form_that_is_none_is_refused(self, app):
        visitor = visit(app, "developer")
        assert visitor.post(TRY, headers={"Content-Type": "text/plain"}).status_code in (400, 415)
        assert visitor.post(TRY, {"text": "#" * (LARGEST_FORM + 1)}).status_code == 413

    def test_it_stays_while_the_database_is_away(self, app, monkeypatch):
        visitor = visit(app, "developer")
        form = form_of(visitor, "orders.csv")

        def away(*args, **more):
            raise Unavailable("no database")

        monkeypatch.setattr(drafts.EditSchema, "files_of", away)
        monkeypatch.setattr(trying, "files_of", away)
        answer = visitor.post(TRY, {**form.fields, "text": "# mine"})
        assert answer.status_code == 503 and edit_form(Seen.of(answer)).fields["text"] == "# mine"

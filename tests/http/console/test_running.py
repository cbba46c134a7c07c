"""*Running*: the page shows and draws the API's answers about the service, also if one of them is refused."""

from __future__ import annotations

import re

import pytest

from blueprints.console.running import page as running
from blueprints.console.running.page import together
from gatepost import Problem
from gatepost.testing import log_in
from models.base import later, now
from models.engine.errors import Unavailable
from models.tables.activity import ANSWERED, FAILED, LIMITED, REFUSED, note_requests
from models.tables.deprecated_use import note_use
from tests.databases import database_url  # noqa: F401 - both databases, other than its neighbours
from tests.http.console.pages import Seen, visit

PATH = "/console/running"
HOSTILE = '"><script>alert(1)</script>{{ 7*7 }}\N{RIGHT-TO-LEFT OVERRIDE}'
READERS = ("developer", "owner", "admin")
PARTS = {"health_get": "Health", "jobs_list": "All jobs", "admin_activity": "Traffic",
         "admin_sizes": "Storage", "admin_stats": "Logins and refusals per day"}


def read(visitor, **query):
    answer = visitor.get(PATH, query_string={"lang": "en"} | query)
    assert answer.status_code == 200, answer.text
    return answer


def table(html, name):
    """Returns the rows of the table in the region of that name, each a list of texts."""
    region = re.search(rf'<div class="scroll[^>]*aria-label="{name}".*?</table>', html, re.S)
    return [[re.sub(r"<[^>]+>", "", cell).strip() for cell in re.findall(r"<t[hd][ >].*?</t[hd]>", row, re.S)]
            for row in re.findall(r"<tr>.*?</tr>", region.group(), re.S)[1:]] if region else []


def plot(html, name):
    """Returns class and numeric attributes of each bar of a plot."""
    drawn = re.search(rf'<svg class="plot"[^>]*aria-labelledby="{name}-t.*?</svg>', html, re.S)
    bars = re.findall(r'<rect class="(\w)" x="([^"]*)" y="([^"]*)" width="([^"]*)" height="([^"]*)"/>',
                      drawn.group() if drawn else "")
    return [(kind, *map(float, rest)) for kind, *rest in bars]


@pytest.fixture(scope="module")
def busy(given):
    """Requests in one minute of the last hour, and in one of the last day."""
    start = f"{now()[:16]}:00.000000Z"
    given.database.transact(lambda: note_requests({
        (later(-600, start), ANSWERED, 2500): 80, (later(-600, start), REFUSED, 1000): 15,
        (later(-600, start), LIMITED, 500): 1200, (later(-600, start), FAILED, 100_000): 5,
        (later(-36_000, start), ANSWERED, 5000): 7}))


@pytest.fixture
def admin(app):
    return visit(app, "admin")


@pytest.fixture
def answered(monkeypatch):
    """The API's answers to the page, by operation. A later answer differs, because the service goes on counting."""
    kept, ask = {}, running.ask

    def note(call, operation, query=None):
        kept[operation] = ask(call, operation, query)
        return kept[operation]

    monkeypatch.setattr(running, "ask", note)
    return kept


def api(app, visitor, path):
    answer = log_in(app, visitor.user).get(path)
    return answer.get_json()


def test_the_numbers_of_an_hour_are_those_of_the_api_minute_by_minute(app, busy, admin, answered):
    assert len(api(app, admin, "/api/admin/activity")["minutes"]) == 60
    html, told = read(admin).text, answered["admin_activity"]["minutes"]
    rows = {row[0]: row[1:] for row in table(html, "Requests over time")}
    assert len(rows) == 60
    for minute in told:
        assert rows[minute["start"][11:16]] == [f"{minute[name]:,}" for name in
                                                ("requests", "refusals", "limited", "errors")]
    assert ["1,300", "15", "1,200", "5"] in rows.values()
    times = {row[0]: row[1:] for row in table(html, "Response time in milliseconds")}
    shown = next(minute for minute in told if minute["p95_milliseconds"] is not None)
    assert float(times[shown["start"][11:16]][1]) == pytest.approx(shown["p95_milliseconds"], rel=0.1)
    assert float(times[shown["start"][11:16]][0]) == pytest.approx(shown["median_milliseconds"], rel=0.1)


def test_a_day_is_told_by_quarters_of_an_hour_that_add_up(app, busy, admin, answered):
    assert len(api(app, admin, "/api/admin/activity?minutes=1440")["minutes"]) == 1440
    html, told = read(admin, minutes="1440").text, answered["admin_activity"]["minutes"]
    rows = table(html, "Requests over time")
    assert len(rows) == 96
    assert sum(int(row[1].replace(",", "")) for row in rows) == sum(minute["requests"] for minute in told)
    assert "highest 95th percentile of a minute" in html
    assert {len(row) for row in table(html, "Response time in milliseconds")} == {2}


def test_minutes_together_are_summed_and_keep_the_worst_of_the_slow():
    minutes = [{"start": f"2026-01-01T00:{number:02}:00.000000Z", "requests": number, "refusals": 1, "limited": 0,
                "errors": 0, "median_milliseconds": 1.0, "p95_milliseconds": None if number % 2 else float(number)}
               for number in range(32)]
    first, second, third = together(minutes, 15)
    assert [one["start"][14:16] for one in (first, second, third)] == ["00", "02", "17"]
    assert sum(one["requests"] for one in (first, second, third)) == sum(range(32))
    assert (first["refusals"], second["p95_milliseconds"], third["p95_milliseconds"]) == (2, 16.0, 30.0)
    assert first["median_milliseconds"] is None and together(minutes, 1) == minutes and together([], 15) == []
    none = [minute | {"p95_milliseconds": None} for minute in minutes]
    assert together(none, 15)[1]["p95_milliseconds"] is None


@pytest.mark.parametrize("minutes", ["60", "1440", "1", "100", "1439"])
def test_plots_hold_finite_numbers_inside_their_frame(minutes, app, busy, admin):
    html = read(admin, minutes=minutes).text
    drawn = "".join(re.findall(r'<svg class="plot".*?</svg>', html, re.S))
    assert not re.search(r' (?:x|y|width|height|d)="[^"]*(?:-|inf|nan)', drawn) and 'height="0.0"' not in drawn
    for name in ("requests", "times"):
        for _, x, y, width, height in plot(html, name):
            assert x >= 64 and x + width <= 640.2 and y >= 17.9 and y + height <= 168.2 and width > 0


def test_what_is_refused_is_hatched_at_the_foot_and_errors_are_on_top(app, busy, admin):
    bars = plot(read(admin).text, "requests")
    kinds = [kind for kind, *_ in bars]
    start = kinds.index("b")
    assert kinds[start:start + 3] == ["b", "a", "e"]
    (_, _, foot, _, hatched), (_, _, middle, _, _), (_, _, top, _, errors) = bars[start:start + 3]
    assert foot + hatched == pytest.approx(168, abs=0.2) and top < middle < foot and hatched > 100 * errors


def test_where_nothing_was_there_are_sentences_instead_of_empty_plots(admin, monkeypatch):
    idle = {"start": "2026-01-01T00:00:00.000000Z", "requests": 0, "refusals": 0, "limited": 0, "errors": 0,
            "median_milliseconds": None, "p95_milliseconds": None}
    answers(monkeypatch, admin_activity=lambda: {"minutes": [idle] * 60}, admin_stats=lambda: {
        "logins_per_day": [], "refusals_per_day": [], "deprecated_use": []})
    page = read(admin)
    for said in ("No requests in this period.",
                 "No logins.", "No refusals.", "No deprecated features in use."):
        assert said in page.text, said
    assert 'class="plot"' not in page.text and 'id="requests-all"' not in page.text


def test_a_minute_that_only_a_limit_has_refused_has_no_times(admin, monkeypatch):
    flooded = {"start": "2026-01-01T00:00:00.000000Z", "requests": 9, "refusals": 0, "limited": 9, "errors": 0,
               "median_milliseconds": None, "p95_milliseconds": None}
    answers(monkeypatch, admin_activity=lambda: {"minutes": [flooded]})
    html = read(admin).text
    assert [kind for kind, *_ in plot(html, "requests")] == ["b"] and plot(html, "times") == []


def test_health_is_said_check_by_check_with_what_to_do(app, admin, monkeypatch):
    told = {"status": "degraded", "checks": {"database": "down", "disk": "degraded", "clock": "ok"},
            "findings": [{"check": "database", "state": "down", "detail": HOSTILE},
                         {"check": "disk", "state": "degraded", "detail": "120 MiB free"}],
            "users_without_role": 2, "version": "1.2.3",
            "jobs": {"waiting": 3, "running": 1, "failed": 0, "seconds": 7200.0},
            "backups": {"made_seconds_ago": 10_800.0, "proved_seconds_ago": None}}
    answers(monkeypatch, health_get=lambda: told)
    answer = read(admin)
    text = Seen.of(answer).text
    for said in ("Degraded", "Database: down", "Disk: needs attention",
                 "Clock: OK", "120 MiB free", "gatepost doctor", "gatepost compact", "3 hours ago",
                 "none yet", "2 users have roles",
                 "Gatepost 1.2.3",
                 "Waiting: 3, running: 1, failed: 0. The oldest waiting job was due 2 hours ago."):
        assert said in text, said
    assert "<script>alert" not in answer.text


def test_a_health_that_tells_little_is_shown_as_it_is(app, admin, monkeypatch):
    answers(monkeypatch, health_get=lambda: {"status": "ok", "checks": {"database": "ok", "a new one": "ok"}})
    text = Seen.of(read(admin)).text
    assert "Healthy" in text and "a new one" in text and "Last backup" not in text


def test_sizes_are_those_of_the_api(app, admin):
    html, told = read(admin).text, api(app, admin, "/api/admin/sizes")
    largest = table(html, "Largest tables")
    rows = {row[0]: row[2].replace(",", "") for row in (*largest, *table(html, "Smaller tables"))}
    assert rows.keys() == {one["name"] for one in told["tables"]} and len(largest) == 8
    for one in told["tables"]:
        if one["name"] in ("articles", "categories", "migrations_gatepost"):
            assert rows[one["name"]] == str(one["rows"])
    assert told["audit_since"] is None or told["audit_since"][:10] in html


def test_another_tenant_is_told_no_tables(app, monkeypatch, admin):
    answers(monkeypatch, admin_sizes=lambda: {"database_bytes": 5, "log_bytes": None, "backups_bytes": None,
                                              "disk_free_bytes": None, "audit_since": None})
    page = read(admin)
    text = Seen.of(page).text
    assert "folder not readable" in text and "unknown" in text and "empty" in text
    assert table(page.text, "Largest tables") == []


def test_deprecated_uses_and_days_are_those_of_the_api(app, admin, given, answered):
    client = "user:" + given.user(name="Olga Olds").id
    given.database.transact(lambda: note_use(given.tenant_id, "GET /api/old", client, 1234))
    page, told = read(admin), answered["admin_stats"]
    assert told.keys() == api(app, admin, "/api/admin/stats").keys()
    days = {row[0]: row[1:] for row in table(page.text, "Logins and refusals per day")}
    assert len(days) == 31
    for name, column in (("logins_per_day", 0), ("refusals_per_day", 1)):
        for day in told[name]:
            assert days[day["date"]][column] == f"{day['count']:,}"
    text = Seen.of(page).text
    assert "GET /api/old" in text and "1234 times" in text and "user:Olga Olds" in text


def test_hostile_names_are_texts(app, admin, given):
    given.database.transact(lambda: note_use(given.tenant_id, f"GET /{HOSTILE}", HOSTILE + "x" * 400, 1))
    given.job("failed", kind=HOSTILE[:60], done_at=now(), result='{"detail": "<script>alert(2)</script>\\u202e"}')
    html = read(admin).text
    assert "<script>alert" not in html and "\N{RIGHT-TO-LEFT OVERRIDE}" not in html and "\\u202e" in html
    assert "{{ 7*7 }}" in html and "style=" not in html


def test_a_failed_job_is_shown_with_its_reason_and_the_way_to_it(app, admin, given):
    job = given.job("failed", kind="audit.export", attempts=3, done_at=now(), result='{"detail": "The disk is full."}')
    odd = given.job("failed", kind="odd.one", done_at=now(), result="null")
    page = read(admin)
    text = Seen.of(page).text
    assert "audit.export" in text and "The disk is full." in text and "3 attempts" in text
    links = Seen.of(page).links
    assert all(f"/console/data/jobs{one}" in links for one in ("", f"/{job.id}", f"/{odd.id}"))


def test_a_failed_job_is_tried_again_from_the_page(app, admin, given):
    job = given.job("failed", kind="audit.export", attempts=3, done_at=now(), result='{"detail": "The disk is full."}')
    retry = Seen.of(read(admin)).form(f"{PATH}/jobs/{job.id}/retry")
    answer = admin.post(retry.action, retry.fields)
    assert (answer.status_code, answer.headers["Location"]) == (303, PATH)
    assert api(app, admin, f"/api/jobs/{job.id}")["state"] == "waiting"
    assert job.id not in read(admin).text


def test_a_job_that_another_has_tried_again_meanwhile_is_told_on_the_page(app, admin, given):
    job = given.job("failed", kind="audit.export", done_at=now(), result="null")
    retry = Seen.of(read(admin)).form(f"{PATH}/jobs/{job.id}/retry")
    assert log_in(app, admin.user).post(f"/api/jobs/{job.id}/retry").status_code == 200
    answer = admin.post(retry.action, retry.fields)
    assert answer.status_code == 409
    assert "Health, traffic and storage" in answer.text
    assert "retry is not possible from waiting." in Seen.of(answer).text


def test_a_job_is_tried_again_only_by_whom_the_rules_let(under, given):
    app = under(lines={"admin.csv": "p, editor, policy.view, always, allow\np, editor, job.view, always, allow"})
    job, visitor = given.job("failed", kind="audit.export", done_at=now(), result="null"), visit(app, "editor")
    page = Seen.of(read(visitor))
    assert f"/console/data/jobs/{job.id}" in page.links
    assert page.forms == [page.form("/console/logout")]
    assert visitor.post(f"{PATH}/jobs/{job.id}/retry").status_code == 403


def test_what_is_refused_to_somebody_who_may_not_see_the_page_draws_none(app, given):
    job = given.job("waiting", owner_id=(user := visit(app, "user")).user.id)
    answer = user.post(f"{PATH}/jobs/{job.id}/retry")
    assert answer.status_code == 409 and "Health, traffic and storage" not in answer.text


def test_nothing_is_marked_as_well_that_was_never_done_or_has_failed(admin, given):
    text = Seen.of(read(admin)).text
    assert "Backups: none yet" in text and "Backups: OK" not in text
    given.job("failed", kind="audit.export", done_at=now(), result="null")
    text = Seen.of(read(admin)).text
    assert re.search(r"Jobs: [0-9]+ failed", text) and "Jobs: OK" not in text


def test_jobs_of_others_are_not_shown_to_whom_they_are_not(app, given):
    job = given.job("failed", kind="secret.export", done_at=now(), owner_id=given.user().id)
    assert job.id not in read(visit(app, "developer")).text


@pytest.mark.parametrize("role", READERS)
def test_readers_of_the_policy_see_the_page(role, app):
    page = Seen.of(read(visit(app, role)))
    assert "Health, traffic and storage" in page.text and PATH in page.links


@pytest.mark.parametrize("role", ["user", "editor", "manager"])
def test_others_are_refused_and_not_led_there(role, app):
    visitor = visit(app, role)
    answer = visitor.get(PATH)
    assert answer.status_code == 403 and PATH not in Seen.of(answer).links


def test_guests_log_in_first(app):
    assert visit(app).get(PATH).headers["Location"] == f"/console/login?next={PATH}"


def test_statistics_are_drawn_only_for_whom_they_are(under):
    app = under(lines={"admin.csv": "p, editor, policy.view, always, allow"})
    page = Seen.of(read(visit(app, "editor")))
    assert "Response time" in page.text and "Storage" in page.text
    assert "Logins" not in page.text and "What is still used" not in page.text


@pytest.mark.parametrize("operation", PARTS)
@pytest.mark.parametrize("reason", ["refused", "away"])
def test_a_part_that_is_not_answered_is_said_and_the_others_stay(operation, reason, app, admin, monkeypatch):
    def refuse():
        raise Problem("forbidden", "Not for you.") if reason == "refused" else Unavailable("away")

    answers(monkeypatch, **{operation: refuse})
    page = Seen.of(read(admin))
    said = "Not for you." if reason == "refused" else "The database did not answer."
    assert said in page.text and PARTS[operation] in page.text
    for other, title in {"admin_activity": "Response time", "admin_sizes": "Audit log since",
                         "health_get": "Policy version", "admin_stats": "Deprecated features in use"}.items():
        assert (title in page.text) == (other != operation), title


@pytest.mark.parametrize("minutes", ["0", "1441", "-5", "abc", HOSTILE])
def test_a_span_that_there_is_not_is_said_in_its_place(minutes, admin):
    page = read(admin, minutes=minutes)
    assert "Traffic" in Seen.of(page).text and 'role="alert"' in page.text and "<script>alert" not in page.text


def test_it_follows_where_that_is_asked_and_has_a_way_to_look_again(admin):
    quiet, following = read(admin), read(admin, follow="1", minutes="1440")
    assert "data-follow" not in quiet.text and 'data-swap="looking now" data-follow' in following.text
    assert f"{PATH}?minutes=60" in Seen.of(quiet).links and f"{PATH}?minutes=60&follow=1" in Seen.of(quiet).links
    assert f"{PATH}?minutes=1440&follow=1" in Seen.of(following).links
    assert f"{PATH}?minutes=1440" in Seen.of(following).links, "to stop"


def test_it_is_said_in_german(admin):
    page = read(admin, lang="de", minutes="1440")
    text = Seen.of(page).text
    for said in ("Status", "Anfragen pro 15 Minuten", "kleinere Tabellen", "Letzte geprüfte Sicherung"):
        assert said in text, said


def test_looking_changes_nothing_and_each_id_is_there_once(app, admin, busy):
    before = api(app, admin, "/api/health")["policy_version"]
    page = Seen.of(read(admin, minutes="1440"))
    assert all(form.method == "post" for form in page.forms)
    assert len(page.ids) == len(set(page.ids))
    assert api(app, admin, "/api/health")["policy_version"] == before


def answers(monkeypatch, **instead):
    """Makes these operations give these answers to the page."""
    asked = running.ask

    def ask(call, operation, query=None):
        return instead[operation]() if operation in instead else asked(call, operation, query)

    monkeypatch.setattr(running, "ask", ask)

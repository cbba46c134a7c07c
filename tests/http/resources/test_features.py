"""The parts of a feature besides its endpoints: background tasks, health checks, gauges, hooks for each answer."""

from __future__ import annotations

import re
from types import ModuleType

import pytest

from gatepost import BackgroundTask, CheckResult, Feature, Installation, Number, Setting, State
from gatepost.collections.plugins.contents import PluginError
from gatepost.collections.plugins.discovery import discover
from gatepost.features import CannotSave, FeatureError, Features, Saved
from gatepost.testing import log_in
from tests.apps import Given, close, make_app, new_instance
from tests.databases import new_database
from tests.samples import sampled

TOKEN = "what-prometheus-knows"

LIMIT = Setting.whole("limit", 3, "rates that are kept", minimum=1, maximum=9)


class Rates:
    """The feature's object with the lifetime of the app."""

    def __init__(self) -> None:
        self.fetched, self.seen, self.left = 0, 0, False

    def fetch(self) -> None:
        self.fetched += 1

    def leave(self) -> None:
        self.left = True

    def see(self, request, response):
        self.seen += response.status_code
        return response


def check(installation: Installation) -> CheckResult:
    with installation.database.connected():
        installation.database.query("SELECT 1")
    return CheckResult(State.DEGRADED, f"{LIMIT.of(installation)} rates are old")


def feature(**parts) -> Feature:
    return Feature(name="rates", **parts)


WHOLE = feature(
    make=lambda services: Rates(),
    background=lambda services: [BackgroundTask("fetching rates", 60, services.feature("rates").fetch,
                                                last=services.feature("rates").leave)],
    departure=lambda services: services.feature("rates").see, checks={"rates": check},
    doctor={"rates": lambda installation: CheckResult(State.OK, "all rates were looked at"), "rate_files": check},
    numbers=lambda installation: [Number("gatepost_rates", "Rates that are kept.", LIMIT.of(installation))])


def plugin(found: Feature, **more) -> ModuleType:
    module = ModuleType("rates")
    module.__file__ = __file__
    module.__dict__.update(more | {"feature": found, "LIMIT": LIMIT})
    return module


@pytest.fixture
def start(tmp_path, request):
    """Starts apps that serve a feature, each on a database of its own."""
    made = []

    def start(found: Feature):
        url = new_database("sqlite", request)
        folder = new_instance(tmp_path / str(len(made)), url, "default")
        made.append(make_app(folder, url, [plugin(found)], metrics_token=TOKEN, rates={"limit": 7}))
        return made[-1]

    yield start
    for app in made:
        close(app)


def services(app):
    return app.extensions["gatepost"]


def health(app):
    """Returns the health that an administrator sees."""
    with services(app).database.connected():
        admin = Given(app, "default").user("admin")
    return log_in(app, admin).get("/api/health").get_json()


def test_a_background_task_runs_in_each_process_and_ends_with_it(start):
    app = start(WHOLE)
    task = next(one for one in services(app).background._tasks if one.name == "fetching rates")
    task.attempt()
    task.end()
    rates = services(app).feature("rates")
    assert (rates.fetched, rates.left) == (1, True)


def test_each_answer_is_seen_before_it_is_sent(start):
    app = start(WHOLE)
    assert [app.test_client().get(path).status_code for path in ("/api/health/live", "/nowhere")] == [200, 404]
    assert services(app).feature("rates").seen == 200 + 404


def test_a_check_is_a_part_of_health_for_those_who_may_know(start):
    app = start(WHOLE)
    told = health(app)
    assert (told["status"], told["checks"]["rates"]) == ("degraded", "degraded")
    assert {"check": "rates", "state": "degraded", "detail": "7 rates are old"} in told["findings"]
    guest = app.test_client().get("/api/health").get_json()
    assert "rates" not in guest["checks"] and guest["status"] == "degraded"


def test_prometheus_gets_the_check_and_the_numbers(start):
    answer = start(WHOLE).test_client().get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    text = answer.get_data(as_text=True)
    assert 'gatepost_check{check="rates"} 1.0' in text and "gatepost_rates 7.0" in text


def test_doctor_asks_more_where_the_feature_says_so(start):
    app = start(WHOLE)
    installation = Installation(services(app).settings, services(app).database)
    found = {name: check() for name, check in services(app).registry.features.doctor(installation)}
    assert found["rates"] == (State.OK, "all rates were looked at")
    assert found["rate_files"] == (State.DEGRADED, "7 rates are old")
    assert set(found) >= {"backups"}


def test_a_check_or_a_number_that_fails_is_logged_and_nothing_else_is(start, caplog):
    def raising(installation):
        raise ValueError("no rate")

    app = start(feature(checks={"rates": raising}, numbers=raising))
    told = health(app)
    assert told["checks"]["rates"] == "degraded" and told["checks"]["database"] == "ok"
    [finding] = [one for one in told["findings"] if one["check"] == "rates"]
    assert "no rate" not in finding["detail"] and "ValueError" in finding["detail"]
    answer = app.test_client().get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    assert answer.status_code == 200 and "gatepost_build_info" in answer.get_data(as_text=True)
    assert "the check rates fails: ValueError: no rate" in caplog.text
    assert "the numbers of rates cannot be computed: ValueError: no rate" in caplog.text


@pytest.mark.parametrize("given", [None, "ok", ("broken", "text"), ([], "text"), (1, 2, 3)], ids=repr)
def test_a_check_that_returns_something_else_is_a_fault_of_its_own_alone(start, given):
    app = start(feature(checks={"rates": lambda installation: given}))
    assert health(app)["checks"]["rates"] == "degraded"
    assert app.test_client().get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200


def test_a_check_whose_own_server_is_away_does_not_take_the_service_down(start):
    def away(installation):
        raise ConnectionRefusedError("no rates server")

    assert health(start(feature(checks={"rates": away})))["checks"]["rates"] == "degraded"


@pytest.mark.parametrize("wrong", sampled([
    ("bad name!", "about", 1), ("rates", "about", 1), ("gatepost_check", "about", 1),
    ("gatepost_rates", "about", "abc"), ("gatepost_rates", "about")], 2), ids=repr)
def test_a_number_of_another_form_is_left_out_and_the_others_are_told(start, wrong):
    app = start(feature(numbers=lambda installation: [wrong]))
    answer = app.test_client().get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    text = answer.get_data(as_text=True)
    assert answer.status_code == 200 and text.count("# TYPE gatepost_check gauge") == 1
    assert "gatepost_rates" not in text and "bad name" not in text


def fails(services):
    raise ValueError("no rate")


def fails_later(services):
    yield BackgroundTask("fetching rates", 60, print)
    raise ValueError("no rate")


@pytest.mark.parametrize(("parts", "sentence"), [
    ({"make": fails}, "the feature 'rates': make fails: ValueError: no rate"),
    ({"background": fails}, "the feature 'rates': background fails: ValueError: no rate"),
    ({"background": fails_later}, "the feature 'rates': background fails: ValueError: no rate"),
    ({"background": lambda services: ["x"]}, "'x' is no background task that runs every so many seconds"),
    ({"background": lambda services: [BackgroundTask("x", "1", print)]}, "is no background task"),
    ({"departure": lambda services: 5}, "departure returns 5, and no function"),
    ({"departure": "nowhere.at:all"}, "nowhere.at:all cannot be imported"), ({"make": "re"}, "'re' is no function"),
])
def test_what_a_start_needs_and_cannot_have_ends_it_with_a_sentence(start, parts, sentence):
    with pytest.raises(FeatureError, match=re.escape(sentence)):
        start(feature(**parts))


def test_what_an_upgrade_says_is_said_though_one_feature_fails(start):
    app = start(feature(news=fails, outdated=lambda installation: [LIMIT.of(installation)]))
    features = services(app).registry.features
    installation = Installation(services(app).settings, services(app).database)
    assert features.news(installation)[-1] == "The feature rates failed to report: ValueError: no rate"
    assert features.outdated(installation)[-1] == "7"


def test_a_second_copy_that_fails_does_not_hide_the_first(start, tmp_path):
    def refuse(installation, step):
        raise CannotSave("no room")

    saved = []
    both = Features([feature(save=lambda installation, step: Saved(tmp_path / step, list)),
                     Feature(name="other", save=refuse)])
    with pytest.raises(CannotSave):
        saved.extend(both.save(Installation(None, None), "before-migration"))
    for one in both.save(Installation(None, None), "before-migration"):
        saved.append(one)
        break
    assert saved[-1].place == tmp_path / "before-migration"


def test_a_function_that_a_text_names_is_imported_when_it_is_called(start):
    text = f"{__name__}:check"
    told = health(start(feature(checks={"rates": text})))
    assert told["checks"]["rates"] == "degraded"


@pytest.mark.parametrize(("found", "sentence"), [
    (Feature(name="backups"), "the name of the feature 'backups' is taken"),
    (feature(checks={"backups": check}), "the name of the check 'backups' is taken"),
    (feature(checks={"database": check}), "the name of the check 'database' is taken"),
    (feature(checks={"Rates!": check}), "the name of the check 'Rates!' must be small letters, digits and _"),
])
def test_names_that_are_taken_or_cannot_be_stop_the_start(found, sentence):
    with pytest.raises(PluginError, match=re.escape(sentence)):
        discover((plugin(found),))

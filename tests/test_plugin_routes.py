"""Entry points that name `Routes` or a plain Flask `Blueprint`: served with their rules, refused without a permission.
"""

from __future__ import annotations

import re
import sys
from importlib import import_module, invalidate_caches

import pytest

from gatepost.collections.plugins.contents import PluginError, place_of, serves
from gatepost.collections.plugins.discovery import discover
from gatepost.testing import log_in

CLOCK = '''"""What time it is."""
from gatepost import Routes

routes = Routes("clock", "What time it is.")

@routes.get("/api/clock", permission="clock.view", produces=("application/json",))
def clock(call):
    """What time it is."""
    return {"time": "noon"}
'''
GREETINGS = '''"""Words for visitors."""
from flask import Blueprint, abort, g, make_response, request
from gatepost import Conflict, Line, Rows, StrictSchema, permission, public
from models.tables.tenant import Tenant

bp = Blueprint("greetings", __name__, url_prefix="/api/greetings")

class NameSchema(StrictSchema):
    name = Line(required=True)

@bp.get("")
@public("a greeting is for everybody", produces=("application/json",))
def hello():
    """Greet the caller."""
    return {"hello": g.call.principal.kind}

@bp.get("/<int:number>")
@permission("greeting.view", produces=("text/plain",))
def one(number):
    return f"number {number}", 200, {"Content-Type": "text/plain"}

@permission("greeting.create", status=201, produces=("application/json",))
@bp.post("")
def add():
    said = request.get_json()
    return {"said": said["name"]}, 201

@bp.put("/named")
@permission("greeting.create", body=NameSchema(), answer=NameSchema())
def named():
    return dict(g.call.body)

@bp.post("/refused/<how>")
@permission("greeting.create", problems=(409, 410), produces=("application/json",))
def refused(how):
    from models.engine.database import current
    current.execute_sql("INSERT INTO said (word) VALUES ('" + how + "')")
    if how == "conflict":
        raise Conflict("Not now.")
    if how == "abort":
        abort(409)
    if how == "answer":
        return {"error": "no"}, 403
    if how == "made":
        abort(make_response("no", 410))
    return {}
'''
MIGRATION = '''from gatepost import ddl

def up(migrator, db):
    ddl.run(db, "CREATE TABLE said (word {key} NOT NULL)")
'''
RULES = "p, user, {resource}.view, always, allow\np, user, {resource}.create, always, allow\n# end\n"


@pytest.fixture
def plugin(tmp_path, monkeypatch, request):
    """Installs a package with these files; its entry point names `entry` of its module `views`."""
    package = f"routes_of_test_{abs(hash(request.node.name))}"

    def make(views: str, entry: str = ":routes", **files: str):
        folder = tmp_path / "site" / package
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text("")
        (folder / "views.py").write_text(views, encoding="utf-8")
        for name, text in files.items():
            (folder / name.replace("__", "/")).parent.mkdir(exist_ok=True)
            (folder / f"{name.replace('__', '/')}.{'csv' if 'p, ' in text else 'py'}").write_text(text)
        written = tmp_path / "site" / f"{package}-1.0.dist-info"
        written.mkdir()
        (written / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (written / "entry_points.txt").write_text(f"[gatepost.collections]\nmine = {package}.views{entry}\n")
        monkeypatch.syspath_prepend(tmp_path / "site")
        invalidate_caches()
        return folder

    yield make
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        del sys.modules[name]


def test_routes_are_served_with_the_rules_beside_their_module(plugin, serving):
    plugin(CLOCK, clock=RULES.format(resource="clock").replace("p, user, clock.create, always, allow\n", ""))
    app = serving()
    assert app.test_client().get("/api/clock").status_code == 401
    assert log_in(app, "user").get("/api/clock").get_json() == {"time": "noon"}


def test_routes_without_rules_are_the_administrator_s(plugin, serving):
    plugin(CLOCK)
    app = serving()
    assert [log_in(app, role).get("/api/clock").status_code for role in ("user", "admin")] == [403, 200]


@pytest.fixture
def greeted(plugin, serving):
    plugin(GREETINGS, ":bp", greetings=RULES.format(resource="greeting"), **{"migrations__0001_said": MIGRATION})
    return serving()


def test_the_views_of_a_blueprint_run_through_the_pipeline(greeted):
    guest, user = greeted.test_client(), log_in(greeted, "user")
    assert guest.get("/api/greetings").get_json() == {"hello": "guest"}
    assert user.get("/api/greetings").get_json() == {"hello": "user"}
    assert user.get("/api/greetings", headers={"Authorization": "Bearer x"}).status_code == 401
    assert guest.get("/api/greetings/7").status_code == 401
    found = user.get("/api/greetings/7")
    assert (found.status_code, found.text, found.mimetype) == (200, "number 7", "text/plain")
    assert user.get("/api/greetings/x").status_code == 404
    assert user.get("/api/greetings/7?surprise=1").get_json()["code"] == "unknown_parameter"
    assert found.headers["X-Request-ID"] and found.headers["ETag"]


def test_a_view_is_answered_to_a_client_that_takes_what_it_produces(greeted):
    user = log_in(greeted, "user")
    statuses = {"text/plain": 200, "text/html, text/*;q=0.1": 200, "application/json": 406, "text/plain;q=0, */*": 406}
    answers = {accept: user.get("/api/greetings/7", headers={"Accept": accept}) for accept in statuses}
    assert {accept: answer.status_code for accept, answer in answers.items()} == statuses
    refused = [answer.get_json()["detail"] for answer in answers.values() if answer.status_code == 406]
    assert set(refused) == {"Media types that are answered here: text/plain."}


def test_a_view_that_writes_is_audited_and_idempotent_and_its_body_is_checked(greeted):
    guest, user, admin = greeted.test_client(), log_in(greeted, "user"), log_in(greeted, "admin")
    assert guest.post("/api/greetings", json={"name": "Ada"}).status_code == 401
    made = [user.post("/api/greetings", {"name": "Ada"}, headers={"Idempotency-Key": "greet-0001"}) for _ in range(2)]
    assert [(one.status_code, one.get_json()) for one in made] == [(201, {"said": "Ada"})] * 2
    assert made[1].headers["Idempotency-Replayed"] == "true"
    trail = admin.get("/api/audit?resource=greeting").get_json()["items"]
    assert [(one["action"], one["result"]) for one in trail if one["result"] == "allowed"] == [("create", "allowed")]
    assert user.put("/api/greetings/named", {"name": "Ada"}).get_json() == {"name": "Ada"}
    assert user.put("/api/greetings/named", {"nome": "Ada"}).status_code == 400
    assert user.post("/api/greetings", data=b"{", content_type="application/json").status_code == 400


def test_a_view_that_refuses_leaves_nothing_behind(greeted):
    user, database = log_in(greeted, "user"), greeted.extensions["gatepost"].database
    statuses, problem = {"conflict": 409, "abort": 409, "answer": 403, "made": 410}, "application/problem+json"
    answers = {how: user.post(f"/api/greetings/refused/{how}") for how in statuses}
    assert {how: (answer.status_code, answer.mimetype) for how, answer in answers.items()} == {
        how: (status, problem) for how, status in statuses.items()}
    assert user.post("/api/greetings/refused/kept").status_code == 200
    with database.connected():
        assert list(database.query("SELECT word FROM said")) == [("kept",)]


def test_the_document_describes_the_views_of_a_blueprint(greeted):
    paths = greeted.test_client().get("/api/openapi.json").get_json()["paths"]
    assert paths["/api/greetings"]["get"]["operationId"] == "greetings_hello"
    assert paths["/api/greetings"]["get"]["summary"] == "Greet the caller."
    assert "`greeting.view`" in paths["/api/greetings/{number}"]["get"]["description"]
    assert "NameSchema" in str(paths["/api/greetings/named"]["put"]["requestBody"]) or "Name" in str(
        paths["/api/greetings/named"]["put"]["requestBody"])


BARE = '''from flask import Blueprint
from gatepost import permission, public

bp = Blueprint("bare", __name__, url_prefix="/api/bare")

'''
SERVED = "@bp.get('')\n@public('it is a test')\ndef first():\n    return {}\n\n"


@pytest.mark.parametrize(("views", "sentence"), [
    ("@bp.get('/a')\ndef a():\n    return {}\n", r"views\.py:6: the view of GET /api/bare/a has no permission; say it"),
    (SERVED + "@bp.route('/b', methods=['GET', 'POST'])\ndef b():\n    return {}\n",
     r"views\.py:11: the view of GET /api/bare/b has no permission"),
    (SERVED + "@bp.before_request\ndef check():\n    pass\n", "has before_request_funcs, which would not be called"),
    (SERVED + "@bp.before_app_request\ndef check():\n    pass\n", "has before_request_funcs"),
    (SERVED + "@bp.errorhandler(404)\ndef gone(error):\n    return {}\n", "has error_handler_spec"),
    ("bp = Blueprint('bare', __name__, static_folder='files')\n", "has files of its own, which no permission guards"),
    (SERVED + "@bp.get('/c', defaults={'x': 1})\n@public('it is a test')\ndef c(x):\n    return {}\n",
     r"views\.py:11: the route /api/bare/c has defaults"),
    ("@bp.get('/d')\n@permission('bare.view', pubic='x')\ndef d():\n    return {}\n", r"views\.py:6: .*pubic"),
    ("@bp.get('/d')\n@permission('bare.view', public='x')\ndef d():\n    return {}\n", r"views\.py:6: .*not both"),
    ("bp = Blueprint('clash', __name__)\n@bp.get('/api/articles')\n@public('it is a test')\ndef e():\n    return {}\n",
     r"views\.py:7: GET /api/articles is taken"),
    ("bp = Blueprint('articles', __name__)\n", "articles.csv is a policy file|the name 'articles' is taken"),
])
def test_what_no_permission_would_guard_stops_the_start(plugin, views, sentence):
    plugin(BARE + views, ":bp")
    with pytest.raises(PluginError, match=f"^plugin mine .*{sentence}"):
        discover()


SLASHED = """from flask import Blueprint, url_for
from gatepost import public

bp = Blueprint("slashed", __name__)

@bp.get("/api/slashed/")
@public("it is a test", produces=("application/json",))
def here():
    return {"here": url_for("slashed.here")}
"""


@pytest.mark.parametrize("mount", ["", "/gate"])
def test_a_path_without_its_last_slash_leads_to_the_one_with_it(plugin, serving, mount):
    """The target is below the path of `public_url`, and keeps the query. Werkzeug alone would name a wrong host."""
    plugin(SLASHED, ":bp")
    app = serving()
    app.mount = mount
    answer = app.test_client().get("/api/slashed?a=b%20c&d=")
    assert (answer.status_code, answer.headers["Location"]) == (308, f"{mount}/api/slashed/?a=b%20c&d=")
    assert app.test_client().get("/api/slashed/").get_json() == {"here": f"{mount}/api/slashed/"}


def test_a_module_s_own_blueprint_is_served(plugin):
    plugin(GREETINGS, "")
    served = discover().routes["greetings"].endpoints
    assert sorted(one.name for one in served) == ["add", "hello", "named", "one", "refused"]


VIEWS = """from flask.views import MethodView
from flask_smorest import Blueprint
from gatepost import permission, public

bp = Blueprint("views", __name__, url_prefix="/api/views")

@bp.route("")
class Both(MethodView):
    @public("it is a test")
    def get(self):
        return {}

    {mark}
    def post(self):
        return {}
"""


def test_each_method_of_a_class_of_views_has_its_own_permission(plugin):
    plugin(VIEWS.replace("{mark}", "@permission('view.create')"), ":bp")
    served = {one.method: (one.permission, one.public, one.writes) for one in discover().routes["views"].endpoints}
    assert served == {"GET": (None, "it is a test", False), "POST": ("view.create", None, True)}


def test_a_method_of_a_class_of_views_without_permission_stops_the_start(plugin):
    plugin(VIEWS.replace("{mark}", ""), ":bp")
    with pytest.raises(PluginError, match=r"views\.py:14: the view of POST /api/views has no permission"):
        discover()


def test_a_test_may_name_routes_and_a_blueprint_and_finds_them_installed(plugin):
    plugin(GREETINGS, ":bp")
    package = next(iter(discover().routes["greetings"].endpoints)).handler.__module__
    bp = import_module(package).bp
    assert place_of(bp) == f"{package}:bp"
    assert serves(discover(), bp)


def test_what_is_no_plugin_is_named(plugin):
    plugin("something = 5\n", ":something")
    with pytest.raises(PluginError, match=re.escape("is no Collection, no Routes, no Blueprint, and no module of one")):
        discover()

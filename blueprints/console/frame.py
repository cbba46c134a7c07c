"""Common parts of every console page: caller, headers, frame, and the page of a refusal."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Container
from datetime import datetime, tzinfo
from functools import lru_cache, partial
from importlib.resources import files
from typing import Any
from urllib.parse import quote, urlsplit

from flask import Response, g
from jinja2 import BaseLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from marshmallow import Schema

from blueprints.console.naming import PERSON, names_of
from blueprints.console.navigation import entries
from gatepost import Call, Message, Problem, Routes, StrictSchema, Text, plural
from gatepost.collections.names import USERS, title
from gatepost.http.credentials import console_sessions
from gatepost.http.pipeline.browsers import page_headers
from gatepost.http.pipeline.errors import problem_response
from gatepost.http.protocol import trace
from gatepost.http.protocol.problems import CATALOGUE
from gatepost.http.request.urls import path_of
from models.engine.errors import TimedOut, Unavailable
from settings import Settings

_SHORT = 8
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
# What `with_short_ids` makes of the id of a user: every other `<` of a page's texts is escaped.
_SHORT_USER = re.compile(r'<span class=user title="([^"]+)">[^<]+</span>')
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def readable(text: object) -> str:
    """The text with its control and format characters visible, as `\\u202e`; a line break stays."""
    return "".join(one if one == "\n" or unicodedata.category(one) not in ("Cc", "Cf", "Co", "Cs")
                   else f"\\u{ord(one):04x}" for one in str(text))


def shortened(id: object) -> str:
    """An id by its last digits, `…1c6094e4`: those before are the time, and alike."""
    text = str(id)
    return f"…{text[-_SHORT:]}" if len(text) > _SHORT else text


def local_time(text: str, zone: tzinfo) -> str:
    """Returns a time of the API as a clock in `zone` shows it, `2026-11-18 23:00:00`; any other text as it is."""
    try:
        moment = datetime.fromisoformat(text)
        return text if moment.tzinfo is None else moment.astimezone(zone).strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError):
        return readable(text)


def _local(text: str) -> str:
    return local_time(text, g.call.services.settings.zone)


def with_local_times(text: object) -> str:
    """Returns a text with its times in the zone of the settings, to the minute: `2026-11-18 23:00`."""
    return _TIME.sub(lambda found: _local(found[0])[:16], readable(text))


def with_short_ids(text: object) -> Markup:
    """Returns a text with its ids shortened; the whole of each is its title. `show` replaces those of users by names.
    """
    shown, parts = readable(text), Markup()
    end = 0
    for match in _ID.finditer(shown):
        kind = " class=user" if shown.endswith(PERSON, 0, match.start()) else ""
        parts += Markup('{}<span{} title="{}">{}</span>').format(
            shown[end:match.start()], kind, match.group(), shortened(match.group()))
        end = match.end()
    return parts + shown[end:]


def _with_names(call: Call, page: str) -> str:
    """Returns a page with the names of the users, whom the caller may view, in place of their shortened ids."""
    ids = set(_SHORT_USER.findall(page))
    names = names_of(call, ((USERS, id) for id in ids)) if ids else {}

    def name(short: re.Match[str]) -> str:
        called = names.get((USERS, short[1]))
        return str(Markup('<bdi title="{}">{}</bdi>').format(short[1], readable(called))) if called else short[0]

    return _SHORT_USER.sub(name, page)


def served(settings: Settings) -> bool:
    """True if the setting `console` is on. Its `Routes` get this as `when`."""
    return settings.console


routes = Routes("console", "Pages for administrators.", when=served)

HOME = "/console"
LOGIN = "/console/login"
HTML = "text/html; charset=utf-8"
_HEADERS = {
    **page_headers(script_src="'self'", style_src="'self'", img_src="'self' data:", connect_src="'self'",
                   form_action="'self'", require_trusted_types_for="'script'", trusted_types="console"),
    "Cache-Control": "no-store",
    # With `no-referrer` browsers would send `Origin: null` with forms, which is nobody's.
    "Referrer-Policy": "same-origin",
    "Vary": "Accept-Language, Cookie",
}


class _Loader(BaseLoader):
    """Loads the console's own templates by their names, and those of another package as `package:name`."""

    def get_source(self, environment: Environment, template: str) -> Any:
        package, _, name = template.rpartition(":")
        return _templates_of(package or __package__).get_source(environment, name)


class _Environment(Environment):
    def join_path(self, template: str, parent: str) -> str:
        """The name of a template that another one names: of its own package, or else the console's."""
        package = parent.rpartition(":")[0]
        return f"{package}:{template}" if package and template in _names_of(package) else template


@lru_cache
def _templates_of(package: str) -> PackageLoader:
    return PackageLoader(package)


@lru_cache
def _names_of(package: str) -> frozenset[str]:
    return frozenset(_templates_of(package).list_templates())


_TEMPLATES = _Environment(loader=_Loader(), autoescape=True, undefined=StrictUndefined,
                         trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)
_TEMPLATES.filters |= {"readable": readable, "short": shortened, "short_ids": with_short_ids,
                       "local": _local, "local_times": with_local_times}
MENDABLE = (400, 401, 403, 409, 412, 422, 428, 429)  # statuses of what its sender may send otherwise
_WITHOUT_LOGIN = ("unauthenticated", "invalid_token", "token_expired")
_ASSETS = files(__package__).joinpath("static")
_TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}


def page(permission: str | None = None, *, public: str | None = None, **declaration: Any) -> dict[str, Any]:
    """The fields of an `Endpoint` that is a page: `@routes.get("/console/audit", **page("audit.view"))`."""
    return {"permission": permission, "public": public, "produces": ("text/html",), "documented": False,
            "identify": console_sessions.identify, "refused": refused, **declaration}


def texts(*names: str) -> Schema:
    """Returns the schema of a page's query: text parameters, each optional and possibly empty."""
    return StrictSchema.from_dict({name: Text(minimum=0, maximum=500) for name in names})()


def showing(package: str) -> Callable[..., Response]:
    """Returns `show` for the templates of a package, which may use those of the console."""
    return partial(show, package=package)


def show(call: Call, template: str, status: int = 200, *, framed: bool = True, package: str = "", **values: Any
         ) -> Response:
    """Returns the page of a template in the caller's language. Every value is escaped.

    In templates, `has(path)` is true if an endpoint is served. With `framed`, the page has the navigation and the name
    of the caller, which is read from the database.
    """
    translation = call.services.translations.wanted(call.request)

    def say(text: str, **words: Any) -> str:
        return translation.say(Message(text, **words) if words else text)

    def rich(text: str, **words: Any) -> Markup:
        return Markup(escape(translation.say(text))).format(**words)

    def several(one: str, many: str, number: int) -> str:
        return translation.say(plural(one, many, number))

    access, principal = getattr(call, "access", None), getattr(call, "principal", None)
    known = framed and access is not None and principal is not None and principal.kind == "user"
    paths = call.services.registry.paths
    shown = [one for one in entries(paths) if access is not None and one.is_for(access)] if known else []
    text = _TEMPLATES.get_template(f"{package}:{template}" if package else template).render(
        _=say, rich=rich, several=several, has=paths.__contains__, root=path_of(call.request),
        language=translation.tag, zone=call.services.settings.time_zone, pages=shown,
        here=call.request.path, me=_name_of(call) if known else "",
        role=principal.role if known and principal is not None else "",
        key=trace.request_id(call.request.environ), **values)
    return Response(_with_names(call, text) if known else text, status, content_type=HTML, headers=_HEADERS)


def refused(problem: Problem) -> Response:
    """Returns the page of a refusal: a redirect to the login if that helps, else the reason and what to do."""
    call: Call | None = g.get("call")
    if call is None:  # refused before the caller was identified
        return problem_response(problem)
    g.problem = problem.code
    again = f"{LOGIN}?next={quote(_wanted(call), safe='/')}"
    if problem.code in _WITHOUT_LOGIN:
        response = see_other(call, again)
        response.headers.update(_kept(problem))
        return response
    say = call.services.translations.wanted(call.request).say
    values: dict[str, Any] = {
        "title": say(CATALOGUE[problem.code][1]), "detail": say(problem.detail), "code": problem.code,
        "faults": [say(fault.detail) for fault in problem.faults],
        "reason": say(problem.reason) if problem.reason else "", "by_policy": bool(problem.permission),
        "again": again if problem.code == "insufficient_user_authentication" else ""}
    try:
        with call.services.database.connected():
            response = show(call, "refused.html", problem.status, **values)
    except (Unavailable, TimedOut):  # which may be what the page is refused for
        response = show(call, "refused.html", problem.status, framed=False, **values)
    response.headers.update(_kept(problem))
    return response


def inside(path: str | None, otherwise: str = HOME) -> str:
    """Returns a path from a client if it is one of the console, else `otherwise`: it could lead anywhere."""
    if path is None or not path.isprintable() or "\\" in path:
        return otherwise
    parts = urlsplit(path)
    local = not parts.scheme and not parts.netloc and "//" not in path and ".." not in parts.path
    return path if local and (parts.path == HOME or parts.path.startswith(f"{HOME}/")) else otherwise


def see_other(call: Call, path: str) -> Response:
    """Returns a redirect to the page that follows a form (303, RFC 9110 section 15.4.4)."""
    return Response(status=303, headers={**_HEADERS, "Location": path_of(call.request, path)})


def further_step(call: Call, problem: Problem, wanted: str | None) -> Response | None:
    """Returns a redirect to the page of a further step of a login, with the page that the user wanted; None if the
    problem is another one."""
    if problem.code != "login_incomplete" or "Location" not in problem.headers:
        return None
    return see_other(call, f"{problem.headers['Location']}?next={quote(inside(wanted), safe='/')}")


def drawn_again(draw: Callable[[Call, Problem], Response], statuses: Container[int] = MENDABLE
                ) -> Callable[[Problem], Response]:
    """Returns the `refused` of a form's endpoint: the page of the form with typed values and faults.

    Problems with other statuses than `statuses` get a page of their own.
    """
    def answer(problem: Problem) -> Response:
        call: Call | None = g.get("call")
        known = call is not None and hasattr(call, "access")
        if call is None or not known or problem.status not in statuses or problem.code in _WITHOUT_LOGIN:
            return refused(problem)
        g.problem = problem.code
        try:
            with call.services.database.connected():
                response = draw(call, problem)
        except Problem:  # the page of the form is refused, too
            return refused(problem)
        if response.status_code != 303:  # the next step of a login has a page of its own
            response.status_code = problem.status
        response.headers.update(_kept(problem))
        return response

    return answer


@routes.get("/console/static/<name>", public="style and script of the console", documented=False, anonymous=True,
            produces=("text/*",))
def asset(call: Call) -> Response:
    """Get the style sheet or the script."""
    name = call.path["name"]
    content = _assets().get(name)
    if content is None:
        raise Problem("not_found")
    return Response(content, content_type=_TYPES[name[name.rfind("."):]])


_UNKNOWN = "/console/<path:unknown>"  # Werkzeug prefers every other path


@routes.get(_UNKNOWN, **page(public="it says that there is no such page"))
def missing(call: Call) -> Response:
    """Say that there is no such page."""
    raise Problem("not_found", "There is no such page.")


@routes.post(_UNKNOWN, **page(public="it says that there is no such page", writes=False))
def missing_form(call: Call) -> Response:
    """Say that no page has such a form."""
    return missing(call)


@lru_cache(maxsize=1)
def _assets() -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in _ASSETS.iterdir() if file.name[file.name.rfind("."):] in _TYPES}


def _name_of(call: Call) -> str:
    users, id = call.services.collections["users"], call.principal.id
    row = users.visible(call, id) if id is not None else None
    return title(row or {}, with_email=False)


def _wanted(call: Call) -> str:
    """Returns the path that the caller requested: the page, or for a sent form the page of the form."""
    if call.request.method in ("GET", "HEAD"):
        return inside(call.request.full_path.rstrip("?"))
    return inside(urlsplit(call.request.headers.get("Referer", "")).path.removeprefix(path_of(call.request)))


def _kept(problem: Problem) -> dict[str, str]:
    return {name: value for name, value in problem.headers.items() if name in ("Set-Cookie", "Retry-After")}

"""*Your account*: name, e-mail, language, password, sessions, service tokens and personal data of the caller."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from flask import Response

from gatepost import Call, Collection, Endpoint, Line, Problem, StrictSchema, Text
from gatepost.collections.asking import ask_with_headers
from gatepost.http.credentials import console_sessions, cookies
from gatepost.http.credentials.console_sessions import member
from gatepost.http.protocol import language
from gatepost.http.request.urls import path_of
from gatepost.http.security.passwords import LONGEST
from models.base import DAY

from ...sessions.login import routes as session
from ..forms import asks_again, form, typed
from ..frame import HOME, LOGIN, drawn_again, page, routes, see_other, show, texts
from ..naming import sentence
from ..passwords import RepeatedSchema, refuse_different
from .person import listed_of

ACCOUNT = "/console/account"
_API = {endpoint.name: endpoint for endpoint in session.endpoints}
_YEAR = round(365 * DAY)


class PasswordForm(RepeatedSchema):
    current_password = Text(required=True, maximum=LONGEST)


class LanguageForm(StrictSchema):
    language = Line(maximum=35)


@routes.get(ACCOUNT, **page("profile.view", query=texts("saved"), identify=member, cost=2))
def account(call: Call) -> Response:
    """Show the account of the caller."""
    return _drawn(call)


@routes.get("/.well-known/change-password", **page(public="the page that it leads to asks for the login",
                                                      identify=console_sessions.visitor))
def change_password(call: Call) -> Response:
    """Lead password managers to the page with the password (a well-known URL of the W3C)."""
    return see_other(call, ACCOUNT)


def _drawn(call: Call, problem: Problem | None = None) -> Response:
    say, id = call.services.translations.wanted(call.request).say, call.principal.id or ""
    profile, headers = ask_with_headers(call, "profile_get")
    faults: dict[str, str] = {}
    for fault in problem.faults if problem is not None else ():
        name = (fault.pointer or "/").split("/")[1]
        faults[name] = f"{faults.get(name, '')} {say(fault.detail)}".strip()
    form = call.request.path.rpartition("/")[2] if problem is not None else ""
    beside = {"change": ("name", "email", "current_password"),
              "password": ("current_password", "new_password", "repeated")}.get(form, ())
    return show(call, "account.html", profile=profile, tag=headers.get("ETag", "").strip('"'), form=form,
                sent=typed(call),
                faults={name: text for name, text in faults.items() if name in beside},
                problem="" if problem is None or any(name in beside for name in faults) else sentence(call, problem),
                saved=problem is None and bool(call.query.get("saved")),
                sessions=listed_of(call, "sessions", id), tokens=listed_of(call, "tokens", id),
                may_change=call.access.may_ever("profile.update"), may_create=call.access.may_ever("token.create"),
                tags=call.services.translations.tags, chosen=call.request.cookies.get(language.COOKIE, ""))


def _saved(call: Call, _: Any) -> Response:
    return see_other(call, f"{ACCOUNT}?saved=1")


def _ended(call: Call, _: Any) -> Response:
    if call.path["id"] != call.credential_id:
        return see_other(call, ACCOUNT)
    call.headers["Clear-Site-Data"] = '"cache"'
    call.headers["Set-Cookie"] = console_sessions.cleared(call.services.settings, call.request)
    return see_other(call, LOGIN)


def _check_password(call: Call) -> None:
    refuse_different(call.body)
    prepare = _API["change_password"].prepare
    assert prepare is not None
    prepare(call)


def _choose_language(call: Call) -> Response:
    """Choose the language of the pages in this browser."""
    tag, settings = typed(call).get("language", ""), call.services.settings
    is_served = tag in call.services.translations.tags
    call.headers["Set-Cookie"] = cookies.cookie(settings, call.request, language.COOKIE, tag if is_served else "",
                                                path_of(call.request, HOME), _YEAR if is_served else 0)
    return see_other(call, ACCOUNT)


@routes.of_each
def forms(collection: Collection) -> Iterator[Endpoint]:
    """The forms that end a session or a service token of the caller."""
    if collection.name in ("sessions", "tokens"):
        end = next(endpoint for endpoint in collection.served if endpoint.name == "delete")
        yield form(end, f"{ACCOUNT}/{collection.name}/<id>/end", _ended, drawn_again(_drawn), identify=member)


_AGAIN = drawn_again(_drawn)
routes.endpoints += [
    form(_API["change_profile"], f"{ACCOUNT}/change", _saved, _AGAIN, identify=member),
    form(replace(_API["change_password"], body=PasswordForm(), prepare=_check_password), f"{ACCOUNT}/password", _saved,
         _AGAIN, identify=member),
    form(_API["end_other_sessions"], f"{ACCOUNT}/sessions/end-others", _saved, _AGAIN, identify=member),
    asks_again(f"{ACCOUNT}/language", LanguageForm(), _choose_language, permission="profile.view", identify=member),
]

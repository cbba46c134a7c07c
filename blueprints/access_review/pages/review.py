"""*Review*: the roles of each user, how they got them, how they log in, and their last activity; a page to print."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from flask import Response

from gatepost import Call, Problem, Routes
from gatepost.collections.asking import ask
from gatepost.http.credentials.console_sessions import member

from ...console.pages import page, sentence, served, showing, texts
from ...console.people.listed import PEOPLE, ways

_FILTERS = ("role", "active")
_ROWS = 100


show = showing(__package__)
routes = Routes("console_review", "Who has which role.", when=served)


@routes.get(f"{PEOPLE}/review", **page("policy.view", query=texts(*_FILTERS, "cursor", "before"), cost=5,
                                       identify=member))
def review(call: Call) -> Response:
    """Show who holds which role, how they log in, and when they did last."""
    parameters = {name: call.query.get(name, "").strip() for name in (*_FILTERS, "cursor", "before")}
    answer, problem = dict[str, Any](), ""
    say = call.services.translations.wanted(call.request).say
    try:
        answer = ask(call, "policy_review", {**parameters, "limit": _ROWS})
    except Problem as refusal:
        problem = sentence(call, refusal)
    return show(call, "people_review.html", parameters=parameters, items=answer.get("items", []), problem=problem,
                ways=ways(call), titles={fact.name: say(fact.title) for fact in call.services.facts},
                roles=call.access.policy.roles.of_users, now=datetime.now(call.services.settings.zone),
                version=call.access.policy.version,
                later=answer.get("next_cursor") and _link(parameters, cursor=answer["next_cursor"]),
                earlier=answer.get("prev_cursor") and _link(parameters, before=answer["prev_cursor"]))


def _link(parameters: dict[str, str], **changes: str) -> str:
    kept = {**{name: parameters[name] for name in _FILTERS}, **changes}
    return f"{PEOPLE}/review?{urlencode({name: text for name, text in kept.items() if text})}"

"""*New role*: a form that writes the line of a role, which is then tried like any other change."""

from __future__ import annotations

from urllib.parse import urlencode

from flask import Response

from gatepost import Call, Message
from policies.syntax.roles import GUEST, LONGEST_ROLE, MOST_ROLES, ROLE, ROLES_FILE, USER

from ...console.pages import page, see_other, texts
from .trying import routes, show

_PATH = "/console/rules/role"


@routes.get(_PATH, **page("policy.view", query=texts("name", "inherits")))
def role(call: Call) -> Response:
    """Ask for the name of a role and what it inherits, then go to the trial of its line. Without a name, ask again."""
    names = call.access.policy.roles.names
    name, inherits = (call.query.get(one, "").strip() for one in ("name", "inherits"))
    problem = _fault(name, inherits, names) if name else None
    if name and problem is None:
        addition = {"file": ROLES_FILE, "add": f"g, {name}, {inherits}"}
        return see_other(call, f"/console/try?{urlencode(addition)}")
    say = call.services.translations.wanted(call.request).say
    return show(call, "role.html", 200 if problem is None else 400, name=name, roles=names, longest=LONGEST_ROLE,
                inherits=inherits if inherits in names else USER if USER in names else GUEST,
                problem="" if problem is None else say(problem))


def _fault(name: str, inherits: str, names: tuple[str, ...]) -> Message | None:
    """Returns why no role of this name can be created; None if it can."""
    if not ROLE.fullmatch(name):
        return Message("The name of a role begins with a lowercase letter, has lowercase letters, digits, - and _, and "
                       "at most {most} characters.", most=LONGEST_ROLE)
    if name in names:
        return Message("There is a role {role} already.", role=name)
    if inherits not in names:
        return Message("There is no such role. Choose one from the list.")
    if len(names) >= MOST_ROLES:
        return Message("There are {most} roles, and no more can be added. Use departments and groups.", most=MOST_ROLES)
    return None

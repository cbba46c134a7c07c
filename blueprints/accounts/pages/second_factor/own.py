"""*Second factor* of *Your account*: set it up, confirm it, make new recovery codes, remove it."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

from flask import Response

from gatepost import Call, Problem, Routes
from gatepost.collections.asking import ask
from gatepost.http.credentials.console_sessions import member

from ....console.pages import drawn_again, form, page, see_other, sentence, served, texts
from ...second_factor.endpoints import routes as api
from . import show

PATH = "/console/account/second-factor"
_CONFIRM = f"{PATH}/confirm"
_FIELDS = ("code", "current_password")
_API = {endpoint.name: endpoint for endpoint in api.endpoints}

routes = Routes("console_second_factor", "One's own second factor.", when=served)


@routes.get(PATH, **page("profile.view", query=texts("removed"), identify=member))
def state(call: Call) -> Response:
    """Show the second factor of the caller."""
    return _drawn(call)


def _drawn(call: Call, problem: Problem | None = None) -> Response:
    say = call.services.translations.wanted(call.request).say
    action = call.request.path.rpartition("/")[2] if problem is not None else ""
    faults: dict[str, str] = {}
    for fault in problem.faults if problem is not None else ():
        name = (fault.pointer or "/")[1:]
        if name in _FIELDS:
            faults[name] = f"{faults.get(name, '')} {say(fault.detail)}".strip()
    return _shown(call, action=action, faults=faults, removed=problem is None and bool(call.query.get("removed")),
                  problem="" if problem is None or faults else sentence(call, problem))


def _shown(call: Call, **values: Any) -> Response:
    state = ask(call, "profile_get_second_factor")
    return show(call, "second_factor.html", **{
        "state": state, "may_change": call.access.may_ever("profile.update"), "action": "", "faults": {}, "problem": "",
        "removed": False, "secret": "", "uri": "", "qr_code": "", "recovery_codes": [], **values})


def _begun(call: Call, result: dict[str, Any]) -> Response:
    image = b64encode(result["qr_code"].encode()).decode()
    return _shown(call, action="confirm", secret=result["secret"], uri=result["uri"],
                  qr_code=f"data:image/svg+xml;base64,{image}")


def _codes(call: Call, result: dict[str, Any]) -> Response:
    return _shown(call, recovery_codes=result["recovery_codes"])


def _removed(call: Call, _: Any) -> Response:
    return see_other(call, f"{PATH}?removed=1")


_AGAIN = drawn_again(_drawn)
routes.endpoints += [
    form(_API["set_up"], PATH, _begun, _AGAIN, identify=member),
    form(_API["confirm"], _CONFIRM, _codes, _AGAIN, identify=member),
    form(_API["renew"], f"{PATH}/recovery-codes", _codes, _AGAIN, identify=member),
    form(_API["remove"], f"{PATH}/remove", _removed, _AGAIN, identify=member),
]

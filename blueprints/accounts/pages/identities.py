"""*Your account*: the identities at providers, and the form that connects one which a provider has proved."""

from __future__ import annotations

from typing import Any

from flask import Response

from gatepost import Call, Endpoint, Problem, Routes, Rows, StrictSchema
from gatepost.collections.asking import ask
from gatepost.http.credentials import step_up
from gatepost.http.credentials.console_sessions import member
from models.engine.errors import AlreadyExists
from models.tables.identity import Identity
from models.tables.user import User

from ...console.pages import drawn_again, form, page, see_other, sentence, showing
from ...console.pages import texts as parameters
from ..single_sign_on import configured, endpoints
from ..single_sign_on.flow import MARK, START, Pending
from ..single_sign_on.identities import CONNECT, connect
from .provider_login import when

LIST = "/console/account/identities"
_OF_USER = "/console/people/<id>/identities"
_API: dict[str, Endpoint] = {endpoint.name: endpoint for endpoint in endpoints.routes.endpoints}

show = showing(__package__)
routes = Routes("console_identities", "Identities at providers, as pages.", when=when)


class _ConnectSchema(StrictSchema):
    current_password = step_up.CurrentPassword(about="connect an identity to your account")


@routes.get(LIST, **page("profile.view", query=parameters("saved"), identify=member))
def listed(call: Call) -> Response:
    """Show the caller's identities at providers."""
    return _listed(call)


def _listed(call: Call, problem: Problem | None = None) -> Response:
    providers = configured.providers(call.services.settings).values()
    titles = {provider.name: provider.title for provider in providers}
    return show(call, "identities.html", identities=ask(call, "profile_list_identities")["data"], titles=titles,
                ways=[(START.replace(MARK, name), title) for name, title in titles.items()],
                saved=problem is None and bool(call.query.get("saved")),
                may_change=call.access.may_ever("profile.update"),
                problem="" if problem is None else sentence(call, problem))


@routes.get(CONNECT, **page("profile.update", identify=member))
def to_connect(call: Call) -> Response:
    """Show the form that connects an identity to the caller's account."""
    return _to_connect(call)


def _to_connect(call: Call, problem: Problem | None = None) -> Response:
    pending = _pending(call)
    title = "" if pending is None else configured.providers(call.services.settings)[pending.provider].title
    return show(call, "identity_connect.html", title=title, shown="" if pending is None else pending.shown,
                list=LIST, path=CONNECT, problem="" if problem is None else sentence(call, problem),
                needs_password=step_up.needs_password(call))


def _pending(call: Call) -> Pending | None:
    pending = Pending.sent(call.services, call.request)
    is_usable = pending is not None and pending.provider in configured.providers(call.services.settings)
    return pending if is_usable else None


def _own_account(call: Call) -> User | None:
    return Rows(User, call.tenant_id).find(call.principal.id or "", lock=call.endpoint.writes)


def _connect(call: Call) -> None:
    pending = _pending(call)
    if pending is None:
        raise Problem("conflict", "This took longer than ten minutes. Begin again.")
    step_up.require(call)
    provider = configured.providers(call.services.settings)[pending.provider]
    identity = Identity.find(provider.issuer, pending.subject)
    if identity is not None and identity.owner_id == call.row.id:
        return
    try:
        call.services.database.attempt(lambda: connect(call.row, provider, pending.subject))
    except AlreadyExists:
        raise Problem("conflict", "This login is connected to another account. Disconnect it there first.") from None
    call.write.note = f"with {provider.name}"


def _connected(call: Call, _: Any) -> Response:
    call.headers["Set-Cookie"] = Pending.cleared(call.services.settings, call.request)
    return see_other(call, f"{LIST}?saved=1")


def _disconnected(call: Call, _: Any) -> Response:
    return see_other(call, f"{LIST}?saved=1")


@routes.get(_OF_USER, **page("user.view", identify=member))
def of_user(call: Call) -> Response:
    """Show the identities of a user."""
    path = {"id": call.path["id"]}
    user = ask(call, "users_get", {"fields": "id,name"}, path=path)
    titles = {provider.name: provider.title for provider in configured.providers(call.services.settings).values()}
    return show(call, "identities_of_user.html", user=user, titles=titles,
                identities=ask(call, "users_list_identities", path=path)["data"])


routes.endpoints += [
    form(_API["disconnect"], f"{LIST}/<identity>/disconnect", _disconnected, drawn_again(_listed), identify=member),
    form(Endpoint(name="connect_identity", method="POST", path=CONNECT, permission="profile.update",
                  body=_ConnectSchema(), prepare=step_up.confirm, load=_own_account, handler=_connect, writes=True,
                  secret=True, recorded="profile.connect", summary="Connect an identity to the caller's account."),
         CONNECT, _connected, drawn_again(_to_connect), identify=member),
]

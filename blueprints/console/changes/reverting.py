"""A policy that was in force before is put in force once more: shown first, tried if wished, then confirmed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from flask import Response

from gatepost import Call, Problem

from ...http.resources.asking import ask
from ..forms import typed
from ..frame import drawn_again, page, routes, see_other, show
from .drafts import FilesSchema, FilesToApplySchema
from .history import PATH, differences, known_changes
from .outcome import called_for, of_trial
from .trying import LAST_WEEK, besides_lines, files_of, form_of, rights

_PAGE = f"{PATH}/<version>/revert"


@routes.get(_PAGE, **page("policy.update"))
def revert(call: Call) -> Response:
    """Show what it would change to bring an earlier policy back."""
    return _drawn(call)


def _drawn(call: Call, *, found: Mapping[str, Any] | None = None, problem: str = "") -> Response:
    live, called = call.services.policy.current.version, called_for(call)
    item = ask(call, "policy_version", path={"version": call.path["version"]})
    now, then = files_of(call, live), item["files"]
    files = {name: then.get(name) for name in sorted(now.keys() | then.keys()) if now.get(name) != then.get(name)}
    return show(call, "revert.html", item=item, live=live, called=called, files=json.dumps(files), problem=problem,
                found=found, days=LAST_WEEK, note=typed(call).get("note"),
                may_replay=call.access.may_ever("audit.view"), **rights(call), **differences(now, then),
                changes=known_changes(call, live, item["version"]) if found is None
                else None if found["changes"] is None else of_trial(found, called))


def _again(call: Call, problem: Problem) -> Response:
    return _drawn(call, problem=besides_lines(call, problem))


def _tried(call: Call, found: Mapping[str, Any]) -> Response:
    return _drawn(call, found=found)


def _reverted(call: Call, answer: Mapping[str, Any]) -> Response:
    return see_other(call, f"{PATH}/{answer['version']}")


routes.endpoints += [
    form_of("policy_try", FilesSchema, f"{_PAGE}/try", then=_tried, again=drawn_again(_again)),
    form_of("policy_apply", FilesToApplySchema, _PAGE, then=_reverted, again=drawn_again(_again)),
]

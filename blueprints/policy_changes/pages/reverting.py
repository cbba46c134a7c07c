"""Revert to an earlier policy: shown first, tried if wished, then confirmed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from flask import Response

from gatepost import Call, Problem, Routes
from gatepost.collections.asking import ask
from gatepost.rules.change import replacing

from ...console.pages import drawn_again, page, see_other, served, showing, typed
from .drafts import FilesSchema, FilesToApplySchema
from .history import PATH, differences, known_changes
from .outcome import Changes, called_for, of_trial
from .trying import LAST_WEEK, besides_lines, errors_of, form_of, own_files, rights, version_of

_PAGE = f"{PATH}/<version>/revert"


show = showing(__package__)
routes = Routes("console_reverting", "Earlier rules put in force.", when=served)


@routes.get(_PAGE, **page("policy.update"))
def revert(call: Call) -> Response:
    """Show what it would change to bring an earlier policy back."""
    return _drawn(call)


def _drawn(call: Call, *, found: Mapping[str, Any] | None = None, problem: Problem | None = None) -> Response:
    live, called = call.services.policy.current.version, called_for(call)
    item, present = ask(call, "policy_version", path={"version": call.path["version"]}), version_of(call, live)
    now, then = own_files(present), own_files(item)
    files = {name: text for name, text in sorted(replacing(now, then).items()) if now.get(name) != text}
    findings = [] if found is None else found["findings"]
    return show(call, "revert.html", item=item, live=live, called=called, files=json.dumps(files),
                problem=problem and besides_lines(call, problem),
                errors=[one for one in (errors_of(problem) if problem else findings) if one["severity"] == "error"],
                found=found, days=LAST_WEEK, note=typed(call).get("note"),
                may_replay=call.access.may_ever("audit.view"), **rights(call), **differences(now, then),
                changes=_known(call, present, item) if found is None
                else None if found["changes"] is None else of_trial(found, called))


def _known(call: Call, present: Mapping[str, Any], item: Mapping[str, Any]) -> Changes | None:
    """Returns the changes in the policy history; None if rules of plugins have changed since, because those stay."""
    brought, were = ({name: one["files"][name] for name in one["packaged"]} for one in (present, item))
    return known_changes(call, present["version"], item["version"]) if brought == were else None


def _again(call: Call, problem: Problem) -> Response:
    return _drawn(call, problem=problem)


def _tried(call: Call, found: Mapping[str, Any]) -> Response:
    return _drawn(call, found=found)


def _reverted(call: Call, answer: Mapping[str, Any]) -> Response:
    return see_other(call, f"{PATH}/{answer['version']}")


routes.endpoints += [
    form_of("policy_try", FilesSchema, f"{_PAGE}/try", then=_tried, again=drawn_again(_again)),
    form_of("policy_apply", FilesToApplySchema, _PAGE, then=_reverted, again=drawn_again(_again)),
]

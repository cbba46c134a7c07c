"""*Try a change*: edit a rule file, see the effects, then put it in force."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any

from flask import Response, g

from gatepost import Call, Message, Problem, Routes, StrictSchema
from gatepost.collections.asking import ask
from gatepost.http.request.endpoint import Endpoint
from models.engine.errors import RowError

from ...console.pages import Page, enter, form, page, refused, see_other, sentence, served, showing, texts, typed
from ..changing import routes as policy_changes
from ..files import fault_of
from ..versions import LEFT_OUT
from .differing import lines
from .drafts import Draft, EditSchema, EditToApplySchema
from .outcome import Who, called_for, of_trial

LARGEST_FORM = 4 << 20  # bytes: a file of the largest size, as browsers write what is typed
LAST_WEEK = 7  # days
_PATH = "/console/try"
_API = {endpoint.operation: endpoint for endpoint in policy_changes.endpoints}
_LONGEST_NUMBER = 8  # digits
_NEW = "# What these rules are for.\n\n# end\n"


@dataclass
class Told:
    """Content of the page about a draft besides its text.

    found     result of the trial
    findings  `{file, line, message, severity}` of this file and of others
    """

    found: Mapping[str, Any] | None = None
    findings: list[Mapping[str, Any]] = field(default_factory=list)
    problem: str = ""


show = showing(__package__)
routes = Routes("console_trying", "Changes of the rules, tried first.", when=served)
enter(Page("/console/try", Message("Try a change"), "policy.view", place=30))


@routes.get(_PATH, **page("policy.view", query=texts("file", "line", "add", "new")))
def begin(call: Call) -> Response:
    """Choose a rule file, or the name of a new one, and edit it."""
    parameters, live = call.query, call.access.policy.version
    files = files_of(call, live)
    name = parameters.get("file", "")
    if name not in files and files and (new := parameters.get("new", "").strip()):
        if new not in files and (fault_of(new, _NEW) is not None or not new.endswith(".csv")):
            fault = Message("The name of a rule file consists of lowercase letters, digits, - and _, and ends in .csv.")
            return _files(call, files, 400, fault, new)
        name, files = new, {new: _NEW, **files}
    if name not in files:
        return _files(call, files, *((404, Message("There is no such active rule file.")) if name and files else ()))
    draft = Draft(name, files[name], live, marks=_numbers(parameters.get("line", "")))
    if line := next(iter(parameters.get("add", "").splitlines()), "").strip():
        draft = draft.with_line(line)
    return drawn(call, draft, Told())


def _files(call: Call, files: Mapping[str, str], status: int = 200, problem: str = "", new: str = "") -> Response:
    """Returns the page that lists every file, with the problem of the requested one."""
    said = call.services.translations.wanted(call.request).say
    return show(call, "try_files.html", status, problem=problem and said(problem), new=new,
                files={name: _about(text) for name, text in files.items()})


def drawn(call: Call, draft: Draft, told: Told) -> Response:
    """Returns the page of a draft with its trial."""
    live, called = call.services.policy.current.version, called_for(call)
    files = files_of(call, live)
    now = files.get(draft.file, "")
    then = now if draft.base == live else files_of(call, draft.base).get(draft.file, "")
    found = told.found
    marks = {**dict.fromkeys(draft.marks, "at"),
             **{one["line"]: one["severity"] for one in reversed(told.findings) if one["file"] == draft.file}}
    return show(
        call, "try.html", draft=draft, told=told, numbers=draft.numbers(marks), live=live,
        now=now, new=bool(files) and draft.file not in files, edit=lines(now, draft.text), theirs=lines(then, now),
        changes=None if found is None or found["changes"] is None else of_trial(found, called), called=called,
        may_replay=call.access.may_ever("audit.view"), days=LAST_WEEK, **rights(call),
        left_out=LEFT_OUT in now, ended=False)


def rights(call: Call) -> dict[str, bool]:
    """Flags for the template: the caller may apply rules, and the service allows changes over HTTP."""
    return {"may_update": call.access.may_ever("policy.update"), "editable": call.services.settings.policy_edit}


def files_of(call: Call, version: str) -> dict[str, str]:
    """Returns the files of an earlier policy, by name; none if the policy history lacks it."""
    files: dict[str, str] = version_of(call, version)["files"]
    return files


def version_of(call: Call, version: str) -> dict[str, Any]:
    """Returns an earlier policy as the API does; without files if the policy history lacks it."""
    try:
        found: dict[str, Any] = ask(call, "policy_version", path={"version": version})
    except Problem as problem:
        if problem.code != "not_found":
            raise
        return {"version": version, "files": {}, "packaged": []}
    return found


def own_files(version: Mapping[str, Any]) -> dict[str, str]:
    """Returns the files of a policy that a change can be about: all but those of plugins."""
    return {name: text for name, text in version["files"].items() if name not in version["packaged"]}


def form_of(operation: str, schema: type[StrictSchema], path: str, **more: Any) -> Endpoint:
    """The form at a path that runs an operation over policy files; what is typed may be as large as a file."""
    return form(replace(_API[operation], body=schema(), largest_body=LARGEST_FORM), path, **more)


def besides_lines(call: Call, problem: Problem) -> str:
    """Returns the sentence of a refusal without faults of single lines. The page shows those beside the lines."""
    return sentence(call, problem, [fault for fault in problem.faults if "line" not in (fault.meta or {})])


def errors_of(problem: Problem) -> list[Mapping[str, Any]]:
    """Returns the findings of a refusal about single lines."""
    return [{**fault.meta, "message": fault.detail.values["message"], "severity": "error"} for fault in problem.faults
            if isinstance(fault.detail, Message) and fault.meta is not None and "line" in fault.meta]


def _tried(call: Call, found: Mapping[str, Any]) -> Response:
    return drawn(call, Draft.sent(typed(call)), Told(found, list(found["findings"])))


def _applied(call: Call, answer: Mapping[str, Any]) -> Response:
    return see_other(call, f"/console/history/{answer['version']}")


def _require_tried(call: Call) -> None:
    """409 for a text that is not the one that was tried."""
    sent = typed(call)
    if sent.get("_tried") != Draft.sent(sent).seal:
        raise Problem("conflict", "The text has changed since you tried it. Try it again, then apply it.")


def _again(problem: Problem) -> Response:
    """The page with what was typed, whatever refuses it: also where nobody is known any more, or all is busy."""
    call: Call | None = g.get("call")
    known = hasattr(call, "access") and problem.status != 401
    if call is None or not typed(call) or (problem.status == 403 and not known):
        return refused(problem)
    g.problem = problem.code
    try:
        if known:
            with call.services.database.connected():
                response = _with_problem(call, problem)
        else:
            response = _text_alone(call, problem)
    except Problem:  # the page is refused, too
        return refused(problem)
    except RowError:
        response = _text_alone(call, problem)
    response.status_code = problem.status
    response.headers.update({name: value for name, value in problem.headers.items() if name == "Retry-After"})
    return response


def _with_problem(call: Call, problem: Problem) -> Response:
    return drawn(call, Draft.sent(typed(call)), Told(None, errors_of(problem), besides_lines(call, problem)))


def _text_alone(call: Call, problem: Problem) -> Response:
    """Shows the typed text to a caller whom the endpoints now refuse, so that it is not lost."""
    draft = Draft.sent(typed(call))
    return show(call, "try.html", framed=False, draft=draft, told=Told(problem=besides_lines(call, problem)),
                numbers=draft.numbers({}), live=draft.base, now=draft.text, new=False, edit=(), theirs=(), changes=None,
                called=Who, may_replay=False, days=LAST_WEEK, may_update=False, editable=False, left_out=False,
                ended=problem.status == 401)


def _numbers(text: str) -> frozenset[int]:
    number = text.isascii() and text.isdecimal() and len(text) <= _LONGEST_NUMBER
    return frozenset((int(text),)) if number else frozenset()


def _about(text: str) -> str:
    """Returns the description of a file: the first sentence of its leading comment."""
    comment = takewhile(lambda line: line.startswith("#"), text.splitlines())
    first, end, _ = " ".join(line.lstrip("# ") for line in comment).partition(". ")
    return first + end.rstrip()


routes.endpoints += [
    form_of("policy_try", EditSchema, _PATH, then=_tried, again=_again),
    form_of("policy_apply", EditToApplySchema, f"{_PATH}/apply", then=_applied, again=_again, prepare=_require_tried),
]

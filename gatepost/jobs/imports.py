"""Imports as jobs: the body is stored first. The rows and the end of the job are one transaction."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..http.pipeline import stages
from ..http.protocol.problems import Fault, Problem
from ..http.request.call import Call, Write
from ..http.request.endpoint import Endpoint
from ..http.writing import importing
from ..http.writing.intake import Import
from ..http.writing.writable import Writable
from . import files, requests
from .task import Task


def endpoint(collection: Writable) -> Endpoint:
    """Returns the import endpoint of a collection. A client may request it as a job unless lines may have secrets."""
    result = importing.endpoint(collection)
    if any(field.load_only for field in collection.body_schema.fields.values()):
        return result  # a password must not be stored
    return requests.deferrable(result, collection.name, _receive, _with_body)


def _receive(call: Call) -> None:
    if importing.is_dry(call):
        fault = Fault("invalid_parameter", "A dry run is not a job. Leave out Prefer.", parameter="dry_run")
        raise Problem.of([fault], "invalid_parameter")
    with importing.received(call) as body:
        files.received(body, call.prepared)


@contextmanager
def _with_body(call: Call) -> Iterator[None]:
    """Stores the body before the transaction of its job, and deletes it if the transaction fails."""
    try:
        files.store(call, call.prepared)
        yield
    except BaseException:
        files.drop_unclaimed(call, call.prepared)
        raise
    finally:
        call.prepared.body.close()


def run(task: Task, call: Call, collection: Writable) -> None:
    """Imports the stored body of the request. Reports the lines read as progress."""
    intake = call.prepared = importing.intake(collection, call)
    lines = 0
    for number in intake.check(call.request.mimetype, io.BufferedReader(files.Body(task))):
        lines += number
        task.progress(lines)
        task.check()
    with intake.load() as opened:
        if opened:
            _go_on(intake.store_new(), task)
        task.finish(lambda: _store(task, call, intake))
    if call.write.enqueued:
        task.services.jobs.wake()
    files.drop_body(task)


def _store(task: Task, call: Call, intake: Import) -> dict[str, Any]:
    call.write = Write()
    requests.check_unchanged(call, task)
    stages.judge(call)
    _go_on(intake.store(), task)
    call.write.note = f"{call.write.note}, job {task.id}"
    stages.record(call)
    return importing.outcome(call)


def _go_on(progress: Iterator[int], task: Task) -> None:
    for _ in progress:
        task.check()

"""Rows as files: the export of a list as CSV, and the import of a file after a preview.

The preview is a dry run of the API's import. The page of the preview holds the file, and sends it again to import it;
nothing is kept on the server.
"""

from __future__ import annotations

import base64
import binascii
import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from flask import Request, Response
from werkzeug.formparser import FormDataParser

from gatepost import Call, Collection, Endpoint, Fault, Message, Problem
from gatepost.collections.asking import perform, sent_instead
from gatepost.http.credentials.console_sessions import member
from gatepost.http.protocol.problems import unsupported_media_type
from gatepost.http.schemas import file_formats

from ..frame import MENDABLE, drawn_again, page, refused, routes, show
from ..naming import names_of, sentence
from .fields import Shown, currencies, shown
from .listed import Kind, columns_of
from .several import running
from .words import collection_called, field_called

LARGEST = 2**20  # bytes of a file; larger ones are for the API
_LARGEST_FORM = LARGEST * 4 // 3 + 2**16  # the file in base64, and the other fields
_MOST_PARTS = 20
_UPLOAD = "gatepost.upload"
_MULTIPART = "multipart/form-data"
_TOO_LARGE = "body_too_large"
_NDJSON_NAMES = (".ndjson", ".jsonl")


@dataclass(frozen=True)
class Upload:
    """The sent form: the file, how it finds existing rows (`key`), and `again`, the key of a repeated request.

    sure  True if the preview was confirmed
    """

    name: str = ""
    content: bytes = b""
    key: str = ""
    again: str = ""
    sure: bool = False

    @property
    def kept(self) -> str:
        """The file as a hidden field of the preview. As text, browsers would change its line breaks."""
        return base64.b64encode(self.content).decode()

    @property
    def media_type(self) -> str:
        return file_formats.NDJSON if self.name.lower().endswith(_NDJSON_NAMES) else file_formats.CSV

    @property
    def body(self) -> bytes:
        """The file as the API reads it."""
        return self.content if self.media_type == file_formats.NDJSON else comma_separated(self.content)


def comma_separated(content: bytes) -> bytes:
    """Returns CSV with commas for CSV with semicolons or tabs, as spreadsheets write it in some languages.

    Raises `Problem` (`invalid_body`) for a damaged table.
    """
    head = content.partition(b"\n")[0]
    separator = next((one for one in (";", "\t") if one.encode() in head and b"," not in head), "")
    if not separator:
        return content
    output = io.StringIO()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content  # the API says what is wrong with it
    csv.field_size_limit(file_formats.LONGEST)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        csv.writer(output, lineterminator="\n").writerows(rows)
    except csv.Error as error:
        raise file_formats.not_csv(error, rows.line_num) from None
    return output.getvalue().encode()


@routes.of_each
def pages(collection: Collection) -> Iterator[Endpoint]:
    """The export of a list, and the pages of an import."""
    kind = Kind.of(collection)
    if (export := kind.served.get("export")) is not None:
        yield replace(export, name=f"data_{kind.name}_export", path=f"{kind.path}/export", identify=member,
                      refused=refused, documented=False, deferred=None, translate=_as_csv, operation="")
    if (importing := kind.served.get("import")) is None:
        return

    def draw(call: Call, problem: Problem | None = None) -> Response:
        return _form(call, kind, problem)

    path, permission = f"{kind.path}/import", importing.permission
    yield Endpoint(name=f"data_{kind.name}_import", method="GET", path=path, handler=draw, summary=importing.summary,
                   **page(permission, narrows=True, identify=member))
    yield running(Endpoint(name=f"data_{kind.name}_import_sent", method="POST", path=path,
                           handler=partial(_import, kind), summary=importing.summary, read_form=_read,
                           largest_body=_LARGEST_FORM, **{**page(permission, narrows=True, identify=member),
                                                          "refused": drawn_again(draw, (*MENDABLE, 413, 415))}))


def _as_csv(request: Request) -> Request:
    return type(request)({**request.environ, "HTTP_ACCEPT": file_formats.CSV})


# The form

def _form(call: Call, kind: Kind, problem: Problem | None = None) -> Response:
    if problem is not None and problem.code == _TOO_LARGE:
        problem = Problem(_TOO_LARGE, Message("The file has more than {most} MiB. Send it to the API, or in parts.",
                                              most=LARGEST // 2**20))
    keys = kind.collection.import_keys
    faults = [] if problem is None else _faults([
        {"line": (fault.meta or {}).get("line"), "detail": _say(call, fault.detail), "pointer": fault.pointer}
        for fault in problem.faults if (fault.meta or {}).get("line")])
    schema = kind.collection.body_schema
    return show(call, "data_import.html", kind=kind, title=collection_called(kind.name), faults=faults,
                problem="" if problem is None else sentence(call, problem, () if faults else None),
                keys=[(key, field_called(key)) for key in keys], chosen=_upload(call).key,
                names=[name for name in schema.load_fields if name not in ("current_password",)],
                required=[name for name, field in schema.load_fields.items() if field.required],
                largest=LARGEST // 2**20)


def _read(request: Request) -> Request:
    """Reads the form. Raises `Problem` for one that is incomplete or too large."""
    if request.mimetype != _MULTIPART:
        raise unsupported_media_type((_MULTIPART,), "Accept")
    parser = FormDataParser(lambda *_, **__: io.BytesIO(), _LARGEST_FORM, max_form_parts=_MOST_PARTS)
    _, fields, files = parser.parse(io.BytesIO(request.get_data()), _MULTIPART, request.content_length,
                                    request.mimetype_params)
    file = files.get("file")
    name = (file.filename if file is not None else fields.get("name")) or ""
    upload = Upload(name[:200], key=fields.get("key", ""), again=fields.get("_key", ""),
                    sure=fields.get("sure") == "yes")
    request.environ[_UPLOAD] = upload
    content = _decoded(fields["kept"]) if "kept" in fields else b"" if file is None else file.stream.read(LARGEST + 1)
    if not content:
        raise _wrong(Message("Select a file that is not empty."))
    if len(content) > LARGEST:
        raise Problem(_TOO_LARGE)
    request.environ[_UPLOAD] = replace(upload, content=content)
    return sent_instead(request, "POST", request.args.to_dict(flat=False))


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise _wrong(Message("The file of the preview is damaged. Select it again.")) from None


def _wrong(text: Message) -> Problem:
    return Problem.of([Fault("invalid_field", text, pointer="/file")], "invalid_body")


def _upload(call: Call) -> Upload:
    upload: Upload = call.request.environ.get(_UPLOAD, Upload())
    return upload


# The preview and the import

def _import(kind: Kind, call: Call) -> Response:
    upload = _upload(call)
    query = {"key": upload.key} if kind.collection.import_keys else {}
    if not upload.sure:
        result = _run(call, kind, upload, {**query, "dry_run": "true"})
        with call.services.database.connected():
            return _preview(call, kind, upload, result)
    # What the preview has marked as faulty is left out.
    result = _run(call, kind, upload, {**query, "on_error": "skip"},
                 {"HTTP_IDEMPOTENCY_KEY": upload.again} if upload.again else {})
    with call.services.database.connected():
        return show(call, "data_imported.html", kind=kind, title=collection_called(kind.name), result=result,
                    faults=_faults(result["errors"]) if result else [])


def _run(call: Call, kind: Kind, upload: Upload, query: Mapping[str, str],
         headers: Mapping[str, str] | None = None) -> Any:
    return perform(call, kind.served["import"], query, body=upload.body, media_type=upload.media_type,
                   headers={"HTTP_ACCEPT_LANGUAGE": call.services.translations.wanted(call.request).tag,
                            **(headers or {})})


def _preview(call: Call, kind: Kind, upload: Upload, result: Mapping[str, Any]) -> Response:
    changed = result["updated"] - result["unchanged"]
    return show(call, "data_preview.html", kind=kind, title=collection_called(kind.name), upload=upload, result=result,
                changed=changed, effective=result["imported"] + changed, faults=_faults(result["errors"]),
                lines=_lines(call, kind, result["lines"]), listed=len(result["lines"]),
                all=result["imported"] + result["updated"])


def _lines(call: Call, kind: Kind, lines: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Returns the lines with titles, and with the values of their changes as pages show them."""
    collection = kind.collection
    names = [name for name in collection.representation.names if name != "id"]
    head = columns_of(collection, names)[0]
    titles = names_of(call, ((kind.name, line["id"]) for line in lines if line["id"]))
    stored = collection.visible_many(call, {line["id"] for line in lines if line["id"]})
    money = currencies(collection, names)
    fallback = {name: collection.model._meta.fields[name].default for name in money
                if name in collection.model._meta.fields}
    answers: list[Mapping[str, Any]] = []
    for line in lines:
        row = stored.get(line["id"] or "", fallback)
        base = {name: row[name] for name in money if name in row}
        answers += [{**base, **{one["field"]: one[side] for one in line["changes"]}} for side in ("before", "after")]
    values = shown(call, collection, answers, names)
    made = []
    for index, line in enumerate(lines):
        before, after = ({one.name: one for one in fields} for fields in values[2 * index:2 * index + 2])
        sent = {one["field"]: one["after"] for one in line["changes"]}
        title = titles.get((kind.name, line["id"] or ""), "") or str(sent.get(head) or "")
        made.append({**line, "title": title, "changes": [
            _change(one["field"], before, after) for one in line["changes"]]})
    return made


def _change(name: str, before: Mapping[str, Shown], after: Mapping[str, Shown]) -> dict[str, Any]:
    return {"label": field_called(name), "before": before.get(name), "after": after.get(name)}


def _faults(errors: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Returns the faults of lines, each with the label of its field."""
    return [{"line": one["line"], "detail": one["detail"],
             "field": field_called(one["pointer"].split("/")[1]) if one.get("pointer") else ""} for one in errors]


def _say(call: Call, text: str) -> str:
    return call.services.translations.wanted(call.request).say(text)

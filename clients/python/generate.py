"""Writes `types.py` and `resources.py` of gatepost_client from an OpenAPI document of the service.

`gatepost openapi > openapi.json`, then `python clients/python/generate.py openapi.json [FOLDER]`. The document of an
instance with plugins gives a client with their collections, too.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent, wrap
from typing import Any

HERE = Path(__file__).parent / "gatepost_client"
WIDTH = 120
SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
# Other names of `cursor` and `limit`, and walking backwards by page size.
ALIASES = {"after", "page_size", "first", "last"}
PAGING = {"cursor", "limit", "snapshot", "before", "page", "offset"}
ALSO = ["Account", "Fault", "Imported", "Job", "NewShare", "Share", "Token"]
WRITTEN = "# Written by generate.py from the OpenAPI document of the service."


@dataclass(frozen=True)
class Operation:
    """One operation of a collection, with its parameters resolved."""

    name: str
    method: str
    path: str
    declared: Mapping[str, Any]
    parameters: Mapping[str, Mapping[str, Any]]

    @property
    def keyed(self) -> bool:
        return "Idempotency-Key" in self.parameters

    @property
    def query(self) -> dict[str, Mapping[str, Any]]:
        """Schemas of the query parameters by name, without the parameters of every path."""
        return {name: each["schema"] for name, each in self.parameters.items() if each["in"] == "query"}

    @property
    def body(self) -> str:
        """The name of the schema of the JSON body."""
        content = self.declared["requestBody"]["content"]
        return reference(next(each["schema"] for kind, each in content.items() if kind.endswith("json")))

    def answer(self, status: str) -> str:
        return reference(self.declared["responses"][status]["content"]["application/json"]["schema"])


def reference(schema: Mapping[str, Any]) -> str:
    return str(schema["$ref"]).rpartition("/")[2]


def annotation(schema: Mapping[str, Any]) -> str:
    """Returns the Python type of the JSON that a schema describes."""
    if "$ref" in schema:
        return reference(schema)
    if "anyOf" in schema:
        return " | ".join(annotation(each) for each in schema["anyOf"])
    if "enum" in schema:
        return f"Literal[{', '.join(json.dumps(each) for each in schema['enum'])}]"
    kinds = schema.get("type")
    if isinstance(kinds, list):
        return " | ".join(annotation({**schema, "type": kind}) for kind in kinds)
    if kinds == "array":
        return f"list[{annotation(schema['items'])}]"
    if kinds == "object":
        further = schema.get("additionalProperties")
        return f"dict[str, {annotation(further) if isinstance(further, dict) else 'Any'}]"
    return SCALARS[kinds] if kinds else "Any"


def typed_dict(name: str, fields: Mapping[str, str], required: Iterable[str], base: str = "TypedDict") -> str:
    """Returns the source of a class. Fields that may be absent are `NotRequired`."""
    lines = [f"    {field}: {kind if field in required else f'NotRequired[{kind}]'}" for field, kind in fields.items()]
    long = [line if len(line) <= WIDTH else broken(line) for line in lines]
    return f"class {name}({base}):\n" + ("\n".join(long) or "    pass") + "\n"


def broken(line: str) -> str:
    """Breaks a list of literals that is too long for one line."""
    head, _, rest = line.partition("Literal[")
    inside, bracket, tail = rest.rpartition("]" if "NotRequired" not in head else "]]")
    return f"{head}Literal[\n" + indent("\n".join(wrap(inside + ",", WIDTH - 8)), " " * 8) + f"\n    {bracket}{tail}"


def alias(name: str, schema: Mapping[str, Any]) -> str:
    line = f"{name} = {annotation(schema)}"
    if len(line) <= WIDTH:
        return f"{line}\n"
    inside = line.partition("Literal[")[2][:-1]
    return f"{name} = Literal[\n" + indent("\n".join(wrap(inside + ",", WIDTH - 4)), "    ") + "\n]\n"


def mentioned(value: Any) -> Iterator[str]:
    """Yields the names of the schemas that a part of the document refers to."""
    if isinstance(value, dict):
        if "$ref" in value and "/schemas/" in value["$ref"]:
            yield reference(value)
        for each in value.values():
            yield from mentioned(each)
    elif isinstance(value, list):
        for each in value:
            yield from mentioned(each)


def reached(schemas: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        if (name := waiting.pop()) not in found:
            found.add(name)
            waiting += mentioned(schemas[name])
    return sorted(found)


def collections(document: Mapping[str, Any]) -> dict[str, dict[str, Operation]]:
    """Returns the operations of each collection by name. A collection answers pages at /api/<name>."""
    parameters = document["components"]["parameters"]
    found: dict[str, dict[str, Operation]] = {}
    for path, item in document["paths"].items():
        for method, declared in item.items():
            if match := method != "parameters" and re.fullmatch(r"/api/([a-z_]+)(/.*)?", path):
                resolved = [parameters[each["$ref"].rpartition("/")[2]] if "$ref" in each else each
                            for each in declared.get("parameters", [])]
                name = declared["operationId"].removeprefix(f"{match[1]}_")
                found.setdefault(match[1], {})[name] = Operation(
                    name, method, path, declared, {each["name"]: each for each in resolved})
    # In the order of their pages: another feature may have an earlier path below that of a collection.
    names = (path.removeprefix("/api/") for path in document["paths"])
    return {name: found[name] for name in names if name in found and "list" in found[name]}


def queries(name: str, operations: Mapping[str, Operation]) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Yields (name, base, fields) of the TypedDicts for a collection's queries."""
    listed = {field: annotation(schema) for field, schema in operations["list"].query.items() if field not in ALIASES}
    files = operations["export"].query if "export" in operations else {}
    rows = [field for field in listed if field in files] if files else [f for f in listed if f not in PAGING]
    walked = [field for field in listed if field not in rows and field not in ("before", "page", "offset")]
    yield f"{name}Filters", "TypedDict", {field: listed[field] for field in rows}
    yield f"{name}ListQuery", f"{name}Filters", {field: listed[field] for field in walked}
    yield f"{name}PageQuery", f"{name}ListQuery", {f: listed[f] for f in listed if f not in rows and f not in walked}
    for operation, suffix in (("get", "View"), ("import", "ImportQuery")):
        if operation in operations:
            query = operations[operation].query
            yield f"{name}{suffix}", "TypedDict", {field: annotation(schema) for field, schema in query.items()}


def types(document: Mapping[str, Any]) -> str:
    """Returns the source of the module of the types."""
    schemas = document["components"]["schemas"]
    found = collections(document)
    declared = [operation.declared for operations in found.values() for operation in operations.values()]
    parameters = [operation.query for operations in found.values() for operation in operations.values()]
    failed = {"Problem"}
    names = reached(schemas, [*ALSO, *(each for each in mentioned([declared, parameters]) if each not in failed)])
    aliases = [alias(name, schemas[name]) for name in names if schemas[name].get("type") != "object"]
    classes = [typed_dict(name, {field: annotation(each) for field, each in schemas[name]["properties"].items()},
                          schemas[name].get("required", ())) for name in names if schemas[name].get("type") == "object"]
    query_types = [typed_dict(*each[::2], (), each[1]) for name, operations in found.items()
                   for each in queries(row_of(operations), operations)]
    head = f'"""Types of requests and answers, from the OpenAPI document of the service."""\n\n{WRITTEN}\n'
    return (f"{head}from __future__ import annotations\n\nfrom typing import Any, Literal, NotRequired, TypedDict\n\n"
            + "".join(aliases) + "\n\n" + "\n\n".join([*classes, *query_types]))


def row_of(operations: Mapping[str, Operation]) -> str:
    """Returns the name of the rows' type."""
    return operations["list"].answer("200").removesuffix("List")


def methods(name: str, row: str, operations: Mapping[str, Operation]) -> Iterator[str]:
    """Yields the typed methods of one collection."""
    yield f"def list(self, **query: Unpack[t.{row}ListQuery]) -> Iterator[t.{row}]:\n    return self._list(query)"
    yield (f"def page(self, **query: Unpack[t.{row}PageQuery]) -> t.{row}List:\n"
           f"    page: t.{row}List = self._page(query)\n    return page")
    for operation in operations.values():
        yield from method(row, operation)


def method(row: str, operation: Operation) -> Iterator[str]:
    target, guard = "target: Target", "etag: str | None = None"
    stored = f"-> Stored[t.{row}]:"
    match operation.name:
        case "get":
            yield (f"def get(self, id: str, **view: Unpack[t.{row}View]) -> Stored[t.{operation.answer('200')}]:\n"
                   "    return self._get(id, view)")
        case "create" if "201" in operation.declared["responses"]:
            yield (f"def create(self, new: t.{operation.body}) {stored}\n"
                   f"    return self._create(new, keyed={operation.keyed})")
        case "create":
            answer = operation.answer("202")
            yield (f"def create(self, new: t.{operation.body}) -> t.{answer}:\n"
                   f"    answer: t.{answer} = self._submit(new)\n    return answer")
        case "update":
            yield (f"def update(self, {target}, changes: t.{operation.body}, *, {guard}) {stored}\n"
                   "    return self._update(target, changes, etag)")
        case "replace":
            yield (f"def replace(self, {target}, new: t.{operation.body}, *, {guard}) {stored}\n"
                   "    return self._replace(target, new, etag)")
        case "delete" if "If-Match" not in operation.parameters:
            yield "def delete(self, id: str) -> None:\n    self._delete(id, None)"
        case "delete":
            yield f"def delete(self, {target}, *, {guard}) -> None:\n    self._delete(target, etag)"
        case "export":
            yield (f"def export(self, **query: Unpack[t.{row}Filters]) -> Iterator[t.{row}]:\n"
                   "    return self._export(query)")
            yield (f'def export_later(self, media_type: str = "application/x-ndjson", '
                   f"**query: Unpack[t.{row}Filters]) -> t.Job:\n    return self._export_later(query, media_type)")
        case "import":
            given = f"self, rows: Iterable[Mapping[str, object]], **query: Unpack[t.{row}ImportQuery]"
            yield f"def import_({given}) -> t.Imported:\n    return self._import(rows, query)"
            if "202" in operation.declared["responses"]:
                yield f"def import_later({given}) -> t.Job:\n    return self._import_later(rows, query)"
        case "shares":
            yield f"def shares(self, {target}) -> Iterator[t.Share]:\n    return self._shares(target)"
        case "share":
            yield (f"def share(self, {target}, grantee: str, right: t.ShareRight) -> None:\n"
                   '    self._share(target, {"grantee": grantee, "right": right})')
        case "unshare":
            yield f"def unshare(self, {target}, grantee: str) -> None:\n    self._unshare(target, grantee)"
        case name if operation.method == "post" and operation.path.endswith(f"{{id}}/{name}"):
            yield (f"def {name}(self, {target}, *, {guard}) {stored}\n"
                   f'    return self._act(target, "{name}", etag)')


def resources(document: Mapping[str, Any]) -> str:
    """Returns the source of the module of the collections."""
    classes, attributes = [], []
    for name, operations in collections(document).items():
        kind = "".join(word.capitalize() for word in name.split("_"))
        base = "JobFiles" if name == "jobs" else "Collection"
        body = indent("\n\n".join(methods(name, row_of(operations), operations)), "    ")
        classes.append(f"class {kind}({base}):\n{body}\n")
        attributes.append(f'self.{name} = {kind}(caller, "{name}")')
    root = ('class Resources:\n    """All collections of the service, each under its name."""\n\n'
            "    def __init__(self, caller: Caller) -> None:\n" + indent("\n".join(attributes), " " * 8) + "\n")
    imports = ("from __future__ import annotations\n\nfrom collections.abc import Iterable, Iterator, Mapping\n"
               "from typing import Unpack\n\nfrom . import types as t\nfrom .caller import Caller\n"
               "from .collection import Collection, Target\nfrom .jobs import JobFiles\nfrom .stored import Stored\n")
    head = f'"""The collections of the service, each with the types of its rows and filters."""\n\n{WRITTEN}\n'
    return "\n\n".join([head + imports, *classes, root])


def write(document: Mapping[str, Any], folder: Path) -> None:
    (folder / "types.py").write_text(types(document), encoding="utf-8")
    (folder / "resources.py").write_text(resources(document), encoding="utf-8")


if __name__ == "__main__":
    write(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), Path(sys.argv[2]) if sys.argv[2:] else HERE)

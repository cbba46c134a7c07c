"""Parameters that several operations have alike stand once, among the components."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import orjson


def share_parameters(described: dict[str, Any]) -> None:
    """Put a reference in the place of each parameter that another operation has, too.

    A component is called like the parameter, and where operations of one group alone have it, like the group as well:
    `articles.title`.
    """
    places: dict[bytes, list[tuple[str, list[Any], int]]] = defaultdict(list)
    for group, parameters in parameter_lists(described):
        for index, parameter in enumerate(parameters):
            if "$ref" not in parameter:
                places[orjson.dumps(parameter)].append((group, parameters, index))
    shared = described["components"]["parameters"]
    for content, found in places.items():
        if len(found) > 1:
            parameter = orjson.loads(content)
            groups = {group for group, _, _ in found}
            name = parameter["name"] if len(groups) > 1 else f"{groups.pop()}.{parameter['name']}"
            if name in shared:
                name = f"{found[0][0]}.{parameter['name']}"
            if name in shared:
                continue
            shared[name] = parameter
            for _, parameters, index in found:
                parameters[index] = {"$ref": f"#/components/parameters/{name}"}


def parameter_lists(described: dict[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    """(group, parameters) of every path and operation."""
    for item in described["paths"].values():
        operations = [operation for name, operation in item.items() if name != "parameters"]
        group = operations[0]["tags"][0]
        for holder in (item, *operations):
            if "parameters" in holder:
                yield group, holder["parameters"]

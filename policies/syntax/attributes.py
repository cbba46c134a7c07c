"""What a condition may read of the caller and of the environment, beside the columns of the object."""

from __future__ import annotations

from collections.abc import Mapping

from .vocabulary import Column

TEXT, OPTIONAL_TEXT, NUMBER = Column(str, False), Column(str, True), Column(int, False)
SUBJECT: Mapping[str, Column] = {
    "id": Column(str, True, "uuid"), "key": TEXT, "role": TEXT, "tenant_id": Column(str, False, "uuid"),
    "department": OPTIONAL_TEXT, "kind": TEXT,
}
ENVIRONMENT: Mapping[str, Column] = {
    "hour": NUMBER, "weekday": NUMBER, "date": Column(str, False, "date"), "ip": OPTIONAL_TEXT,
    "device": TEXT, "method": TEXT, "request": TEXT,
}

"""The public interface of Gatepost: all that a collection, a plugin and its tests import.

```python
from gatepost import Collection, Line, Owned, OwnedSchema, action
```

The names in `__all__` here, in `gatepost.testing` and in `blueprints.console.pages` are stable: from version 1.0 on,
they follow semantic versioning, and a deprecated name warns for a minor version before it is removed. Everything else
in `blueprints`, `models`, `policies`, `app` and `settings` may change with every version. `docs/plugins.md` explains
how to write a plugin.

    the app       create_app
    a collection  Collection, Call, Endpoint, action, transition
    a route       Routes; permission, public for views of a plain Flask Blueprint
    a refusal     Conflict, Fault, Problem, RuleInCode, Message, plural
    a schema      OwnedSchema, RecordSchema, StrictSchema; the fields Bool, Currency, Email, Id, Int, Language, Line,
                  Many, Name, NewPassword, Reference, Slug, Text, Time, Title
    a table       Owned, Record; the columns EmailField, IdField, ListField, MoneyField, TimeField
    a condition   Condition, Function
    a job         on, every, Task
    a setting     Setting
    a feature     Feature; BackgroundTask, BearerToken, CallerAttribute, CheckResult, Installation, Number, Services,
                  State, UserFact; ask_next_steps, open_session
    a page        ask, and what is in blueprints.console.pages
    a command     open_instance, Instance, echo
    a row         Rows, is_id, later, new_id, now
    a migration   ddl, Database
"""

from __future__ import annotations

from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

import gatepost_start  # noqa: F401 - checks the following imports, so it comes first

if TYPE_CHECKING:
    from app import create_app
    from gatepost.collections.asking import ask
    from gatepost.collections.collection import Collection
    from gatepost.collections.routes import Routes, permission, public
    from gatepost.commands.instance import Instance, open_instance
    from gatepost.commands.printing import echo
    from gatepost.features import Feature, Installation, Number
    from gatepost.health.check_result import CheckResult, State
    from gatepost.http.credentials.sessions import ask_next_steps, open_session
    from gatepost.http.operations.background import BackgroundTask
    from gatepost.http.protocol.messages import Message, plural
    from gatepost.http.protocol.problems import Fault, Problem
    from gatepost.http.request.bearer_token import BearerToken
    from gatepost.http.request.call import Call, Services
    from gatepost.http.request.caller_attribute import CallerAttribute
    from gatepost.http.request.endpoint import Endpoint
    from gatepost.http.request.user_fact import UserFact
    from gatepost.http.schemas.fields import (
        Bool,
        Currency,
        Email,
        Id,
        Int,
        Language,
        Line,
        Many,
        Name,
        Reference,
        Slug,
        StrictSchema,
        Text,
        Time,
        Title,
    )
    from gatepost.http.schemas.records import OwnedSchema, RecordSchema
    from gatepost.http.security.passwords import NewPassword
    from gatepost.http.writing.actions import Conflict, action, transition
    from gatepost.http.writing.rules_in_code import RuleInCode
    from gatepost.jobs.hooks import every, on
    from gatepost.jobs.task import Task
    from models import ddl
    from models.base import Owned, Record, Rows, is_id, later, new_id, now
    from models.engine.database import Database
    from models.records.columns import EmailField, IdField, ListField, MoneyField, TimeField
    from policies.syntax.vocabulary import Condition, Function
    from settings import Setting

__all__ = [
    "BackgroundTask",
    "BearerToken",
    "Bool",
    "Call",
    "CallerAttribute",
    "CheckResult",
    "Collection",
    "Condition",
    "Conflict",
    "Currency",
    "Database",
    "Email",
    "EmailField",
    "Endpoint",
    "Fault",
    "Feature",
    "Function",
    "Id",
    "IdField",
    "Installation",
    "Instance",
    "Int",
    "Language",
    "Line",
    "ListField",
    "Many",
    "Message",
    "MoneyField",
    "Name",
    "NewPassword",
    "Number",
    "Owned",
    "OwnedSchema",
    "Problem",
    "Record",
    "RecordSchema",
    "Reference",
    "Routes",
    "Rows",
    "RuleInCode",
    "Services",
    "Setting",
    "Slug",
    "State",
    "StrictSchema",
    "Task",
    "Text",
    "Time",
    "TimeField",
    "Title",
    "UserFact",
    "action",
    "ask",
    "ask_next_steps",
    "create_app",
    "ddl",
    "echo",
    "every",
    "is_id",
    "later",
    "new_id",
    "now",
    "on",
    "open_instance",
    "open_session",
    "permission",
    "plural",
    "public",
    "transition",
]

# Each name is imported when it is first used (PEP 562). So a collection or a command imports only what it needs, and
# not the app. The imports above are for type checkers and editors; a test compares the two.
_PLACES = {
    "app": "create_app",
    "gatepost.commands.instance": "Instance open_instance",
    "gatepost.commands.printing": "echo",
    "gatepost.features": "Feature Installation Number",
    "gatepost.health.check_result": "CheckResult State",
    "gatepost.http.credentials.sessions": "ask_next_steps open_session",
    "gatepost.http.operations.background": "BackgroundTask",
    "gatepost.jobs.hooks": "every on",
    "gatepost.jobs.task": "Task",
    "gatepost.http.protocol.messages": "Message plural",
    "gatepost.http.protocol.problems": "Fault Problem",
    "gatepost.http.request.bearer_token": "BearerToken",
    "gatepost.http.request.call": "Call Services",
    "gatepost.http.request.caller_attribute": "CallerAttribute",
    "gatepost.http.request.endpoint": "Endpoint",
    "gatepost.http.request.user_fact": "UserFact",
    "gatepost.collections.asking": "ask",
    "gatepost.collections.collection": "Collection",
    "gatepost.collections.routes": "Routes permission public",
    "gatepost.http.schemas.fields":
        "Bool Currency Email Id Int Language Line Many Name Reference Slug StrictSchema Text Time Title",
    "gatepost.http.schemas.records": "OwnedSchema RecordSchema",
    "gatepost.http.security.passwords": "NewPassword",
    "gatepost.http.writing.actions": "Conflict action transition",
    "gatepost.http.writing.rules_in_code": "RuleInCode",
    "models": "ddl",
    "models.base": "Owned Record Rows is_id later new_id now",
    "models.engine.database": "Database",
    "models.records.columns": "EmailField IdField ListField MoneyField TimeField",
    "policies.syntax.vocabulary": "Condition Function",
    "settings": "Setting",
}
_PLACE_OF = {name: module for module, names in _PLACES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if (module := _PLACE_OF.get(name)) is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = resolve_name(f"{module}.{name}")
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

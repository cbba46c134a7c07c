"""Everything that faces outward, and the plugin API: all that a collection needs is imported from here.

```python
from blueprints import Collection, Line, OwnedSchema, action
```
"""

from __future__ import annotations

from .http.protocol.messages import Message, plural
from .http.protocol.problems import Fault, Problem
from .http.request.call import Call, Endpoint
from .http.resources.collection import Collection
from .http.resources.routes import Routes
from .http.schemas.fields import (
    Bool,
    Currency,
    Email,
    Id,
    Int,
    Language,
    Line,
    Many,
    Reference,
    Slug,
    StrictSchema,
    Text,
    Time,
)
from .http.schemas.records import OwnedSchema, RecordSchema
from .http.security.passwords import NewPassword
from .http.writing.actions import Conflict, action, transition

__all__ = [
    "Bool", "Call", "Collection", "Conflict", "Currency", "Email", "Endpoint", "Fault", "Id", "Int", "Language",
    "Line", "Many", "Message", "NewPassword", "OwnedSchema", "Problem", "RecordSchema", "Reference", "Routes", "Slug",
    "StrictSchema", "Text", "Time", "action", "plural", "transition",
]  # fmt: skip

"""Everything that faces outward, and the plugin API: all that a collection needs is imported from here.

```python
from blueprints import Collection, Line, OwnedSchema, action
```
"""

from __future__ import annotations

from .http.action import Conflict, action, transition
from .http.call import Call, Endpoint
from .http.collection import Collection
from .http.errors import Fault, Problem
from .http.fields import (
    Bool,
    Currency,
    Email,
    Id,
    Int,
    Language,
    Line,
    Many,
    NewPassword,
    Reference,
    Slug,
    StrictSchema,
    Text,
    Time,
)
from .http.messages import Message, plural
from .http.routes import Routes
from .http.schema import OwnedSchema, RecordSchema

__all__ = [
    "Bool", "Call", "Collection", "Conflict", "Currency", "Email", "Endpoint", "Fault", "Id", "Int", "Language",
    "Line", "Many", "Message", "NewPassword", "OwnedSchema", "Problem", "RecordSchema", "Reference", "Routes", "Slug",
    "StrictSchema", "Text", "Time", "action", "plural", "transition",
]  # fmt: skip

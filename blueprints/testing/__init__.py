"""What a plugin's tests need: an app that serves its collections, and the contract that every collection keeps.

Nothing of Gatepost imports this package, so pytest need not be there to serve. A plugin's whole test:

```python
from app import create_app
from blueprints.testing import Example, contract, served
from my_plugin.notes import Notes

app = served(create_app, Notes)
test_contract = contract(Example(Notes, body=lambda admin, n: {"text": f"Note {n}"}, changes={"text": "Other"}))
```
"""

from __future__ import annotations

from .contract import Example, contract
from .serving import Caller, log_in, served

__all__ = ["Caller", "Example", "contract", "log_in", "served"]

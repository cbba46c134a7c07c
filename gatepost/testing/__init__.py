"""The face for a plugin's tests: an app that serves its collections, and the contract that every collection keeps.

It imports pytest, so nothing that serves imports it. A plugin's whole test:

```python
from gatepost import create_app
from gatepost.testing import Example, contract, served
from my_plugin.notes import Notes

app = served(create_app, Notes)
test_contract = contract(Example(Notes, body=lambda admin, n: {"text": f"Note {n}"}, changes={"text": "Other"}))
```
"""

import sys

import pytest

# pytest rewrites the assertions of tests alone, unless it is asked before the import: these would fail without a word.
if "gatepost.testing.contract" not in sys.modules:
    pytest.register_assert_rewrite("gatepost.testing.contract", "gatepost.testing.halves", "gatepost.testing.serving")

from gatepost.testing.contract import Example, contract
from gatepost.testing.halves import halves_agree
from gatepost.testing.serving import Caller, log_in, run_jobs, served

__all__ = ["Caller", "Example", "contract", "halves_agree", "log_in", "run_jobs", "served"]

"""The public interface for tests of plugins: an app that serves the plugin, and tests that every collection passes.

It imports pytest, so the service never imports it. A complete test of a plugin:

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

# pytest rewrites assertions only in tests, unless a module is registered. Without it, these would fail with no message.
if "gatepost.testing.contract" not in sys.modules:
    pytest.register_assert_rewrite("gatepost.testing.contract", "gatepost.testing.halves", "gatepost.testing.serving")

from gatepost.testing.contract import Example, contract
from gatepost.testing.halves import halves_agree
from gatepost.testing.serving import Caller, log_in, run_jobs, served

__all__ = ["Caller", "Example", "contract", "halves_agree", "log_in", "run_jobs", "served"]

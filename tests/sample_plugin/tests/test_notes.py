"""The test of the plugin."""

from sample_notes.notes import Notes

from gatepost import create_app
from gatepost.testing import Example, contract, served

app = served(create_app, Notes)
test_contract = contract(Example(Notes, body=lambda admin, n: {"text": f"Note {n}"}, changes={"text": "Another"}))

"""The whole test of the plugin."""

from sample_notes.notes import Note, Notes, begins

from gatepost import create_app
from gatepost.testing import Example, contract, halves_agree, served

app = served(create_app, Notes)
test_contract = contract(Example(Notes, body=lambda admin, n: {"text": f"Note {n}"}, changes={"text": "Another"}))
test_begins = halves_agree(begins, Note, ("For all",), text=("For all: we meet at ten",))

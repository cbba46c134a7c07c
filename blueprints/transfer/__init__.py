"""`gatepost import` and `gatepost export`: read rows of a collection from a file, and write them to one."""

from gatepost.features import Command, Feature

feature = Feature(name="transfer", commands={
    "import": Command("blueprints.transfer.commands:import_", "Create or change rows of COLLECTION from FILE."),
    "export": Command("blueprints.transfer.commands:export", "Write the rows of COLLECTION to FILE, as NDJSON or CSV."),
})

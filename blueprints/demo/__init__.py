"""Demo rows: `gatepost demo`, and those of a new instance."""

from gatepost.features import Command, Feature

feature = Feature(
    name="demo", demo="blueprints.demo.showcase:furnish",
    commands={"demo": Command("blueprints.demo.commands:demo", "Add N invented articles to the default tenant.")})

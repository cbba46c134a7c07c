"""Demo rows of a new instance: users who may log in for a day, more rows, and their removal (`gatepost demo`)."""

from gatepost.features import Command, Feature

feature = Feature(
    name="demo", demo="blueprints.demo.showcase:furnish",
    commands={"demo": Command("blueprints.demo.commands:demo",
                              "Let the demo users log in, or add and remove demo rows.")})

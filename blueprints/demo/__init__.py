"""Invented rows, to look at the service with: `gatepost demo`."""

from gatepost import Feature

feature = Feature(name="demo", demo="blueprints.demo.showcase:furnish")

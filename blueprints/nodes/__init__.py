"""Comparison of the nodes on one database (`survey`), from the heartbeats of their processes
(`gatepost.instance.presence`).
"""

from gatepost import Feature

feature = Feature(name="nodes", sections={"nodes": "blueprints.nodes.survey:section"})

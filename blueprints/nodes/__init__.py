"""Several nodes on one database, compared with each other (`survey`): each process writes what it runs on
(`gatepost.instance.presence`).
"""

from gatepost import Feature

feature = Feature(name="nodes", sections={"nodes": "blueprints.nodes.survey:section"})

"""Several nodes on one database: each process says that it is alive and what it runs on (`presence`), and the nodes are
compared with each other (`survey`).

It imports `security` and `health`, and knows no request.
"""

from gatepost import Feature

feature = Feature(name="nodes", background="blueprints.nodes.presence:tasks",
                  sections={"nodes": "blueprints.nodes.survey:section"})

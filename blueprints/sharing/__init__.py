"""Sharing of one object with a person, a group or a role: `/api/{collection}/{id}/shares`.

Collections make these endpoints themselves (`gatepost.http.writing.sharing`), since a share is a part of what decides
about a row. Without the feature they make none, and shares that are stored count for nothing.
"""

from gatepost import Feature

feature = Feature(name="sharing")

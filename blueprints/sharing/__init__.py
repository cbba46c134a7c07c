"""Sharing of one object with a user, a group or a role: `/api/{collection}/{id}/shares`.

Collections create these endpoints themselves (`gatepost.http.writing.sharing`), because decisions about a row depend on
its shares. Without the feature they create none, and stored shares have no effect.
"""

from gatepost import Feature

feature = Feature(name="sharing")

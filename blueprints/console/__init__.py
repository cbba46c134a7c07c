"""The console: pages at `/console` for administrators, made from answers of the API.

It has no rights of its own. A page is an endpoint that identifies its caller by a cookie (`frame`), and calls other
endpoints on behalf of the caller. A form runs the API's own endpoint once (`forms`). Pages of other features are in
their folders, and import `pages`. A page in the navigation registers itself there (`navigation`).
"""

from gatepost import Feature

feature = Feature(name="console", settings=("console", "console_idle_minutes", "console_hours"))

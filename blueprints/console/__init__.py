"""The console: pages at `/console` for administrators, made of what the API answers to them.

It has no rights of its own. A page is an endpoint whose caller a cookie names (`frame`), and asks other endpoints in
the caller's name; a form is one run of the API's own endpoint (`forms`). Pages of other features stand in their
folders, and import `pages`. Each page that belongs in the navigation enters itself there (`navigation`).
"""

from gatepost import Feature

feature = Feature(name="console", settings=("console", "console_idle_minutes", "console_hours"))

"""The console: pages at `/console` for administrators, made of what the API answers to them.

It has no rights of its own. A page is an endpoint whose caller a cookie names (`frame`), and asks other endpoints in
the caller's name; a form is one run of the API's own endpoint (`forms`). `navigation` says which pages there are, and
to import their modules (`endpoints`) is to declare them. The setting `console` takes all of it away.
"""

from gatepost import Feature

feature = Feature(name="console", settings=("console", "console_idle_minutes", "console_hours"))

"""Collections and routes: a declaration becomes endpoints (`collection`, `routes`).

`plugins` finds and checks the declarations, `registry` holds them. `names` looks up names of rows. `asking` calls one
endpoint from another. `erasing` erases a user, and `repeating` repeats erasures after a restore. `rendering` renders
the HTML pages. May import every other room but `servers`.
"""

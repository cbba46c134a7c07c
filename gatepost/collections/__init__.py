"""Collections and routes: a declaration becomes endpoints (`collection`, `routes`).

`plugins` collects what is served, `registry` holds it. `names` of rows, `asking` of one endpoint by another, `erasing`
of a person's rows, which a restore repeats (`repeating`), and the pages `/docs` (`documentation`, `rendering`) and `/`
(`front`). May import every other room but `servers`.
"""

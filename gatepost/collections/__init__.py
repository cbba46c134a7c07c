"""A declaration becomes endpoints: `collection` for rows, `routes` for everything else.

`plugins` finds both, in this project and in plugins, and `registry` holds what was found; `documentation` is `/docs`,
`front` is the page at `/`; `rendering` fills `templates/`. May import every other room but `servers`.
"""

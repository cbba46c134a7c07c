"""A declaration becomes endpoints: `collection` for rows, `routes` for everything else.

`registry` finds both, in this project and in plugins; `openapi` describes them; `front` is the page at `/`; `rendering`
fills `templates/`. May import every other room but `servers`.
"""

"""Everything that faces outward: the collections, one a module or package, and what serves them.

A module here, or a package that declares `routes` or collections, is found and served; `http` is the machinery of
requests, `commands` the command line, `testing` the contract for tests, `translations` what errors say in other
languages. Collections import from `gatepost`, as plugins do, and what that face lacks from `.http`.
"""

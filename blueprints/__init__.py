"""Everything that faces outward: the collections, one a module, and the features, one a package.

A module here that declares `routes` or collections is found and served, and so is the module `endpoints` of a package.
They import from `gatepost`, as plugins do, and what that face lacks from its packages.
"""

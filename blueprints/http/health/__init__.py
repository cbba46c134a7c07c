"""How the service is: checks that health (`blueprints/health`) and `gatepost doctor` ask alike.

Each looks at one thing, and says in a sentence how it is and what to do about it. They import `operations` and
`security`, and know no request.
"""

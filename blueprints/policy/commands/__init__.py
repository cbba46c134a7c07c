"""`gatepost policy …`: the administrator's tools, one command a module; `group` puts them together."""

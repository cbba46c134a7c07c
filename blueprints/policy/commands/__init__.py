"""`gatepost policy …`: the administrator's commands, one module each; `group` puts them together."""

"""A change of the policy over HTTP: tried first (`trial`, in a process of its own: `child`), then put in force."""

"""Parts of features that were among the machinery of requests: who may what, history of rules, nodes, health."""

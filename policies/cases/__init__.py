"""Cases of a `tests.yaml`: its content, principals and objects, the answers of the rules, and the report.

Commands run them, and a service runs them before it accepts a change. The modules here read no rules. They may
import `loading` and the rooms below it, not `tools` and `questions`.
"""

"""Who may do what today: `who` may do something, who is given which role (`review`), what somebody may see (`visible`),
and which lines nobody uses (`unused`).

`holders` are those who may, as a condition on users (`on_users`) and the line that lets each of them in.
"""

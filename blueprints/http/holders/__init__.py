"""Who may do this: what `policies.holders` leaves of the rules as SQL over users (`on_users`), a page of them, and the
line that lets each of them in (`holders`).
"""

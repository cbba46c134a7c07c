"""Normalize the e-mail addresses of users and of messages.

Users who share a mailbox stay unchanged: all of them can still log in. `gatepost doctor` lists them, and impossible
addresses. Older code could give a mailbox a second account, and would not find an account by another spelling. So it
may not serve beside this.
"""

from models import ddl


def up(migrator, db):
    ddl.mailboxes(db, "users", "email", unique=True)
    ddl.mailboxes(db, "contact_messages", "email")

"""The e-mail addresses of users and of messages, in the one spelling of their mailbox.

Users who have one mailbox stay as they are: all of them go on logging in, and `gatepost doctor` lists them, and
addresses that are impossible. Code of before would give a mailbox another account, and would not find the account by
another spelling: it may not serve beside this.
"""

from models import ddl


def up(migrator, db):
    ddl.mailboxes(db, "users", "email", unique=True)
    ddl.mailboxes(db, "contact_messages", "email")

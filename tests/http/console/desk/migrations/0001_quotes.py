"""The table of quotes."""

from gatepost import ddl


def up(migrator, db):
    ddl.table(db, "quotes", "title {key} NOT NULL", "price {money} NOT NULL", "currency {key} NOT NULL", "fee {money}",
              "paid {money} NOT NULL", "valid_until {time}", "channels {key} NOT NULL", "readers {key} NOT NULL",
              "lines {key} NOT NULL")

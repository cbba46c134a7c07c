"""The table of parcels."""

from typing import Any

from gatepost import Database, ddl


def up(migrator: Any, db: Database) -> None:
    ddl.table(db, "parcels",
              "order_id {id}",
              "grams INTEGER NOT NULL",
              "carrier {key} NOT NULL",
              "status {key} NOT NULL")

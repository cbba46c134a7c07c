"""Public part of `models.records`: ids, times, rows and tables for collections, commands and plugins.

Modules within `models` import from its rooms instead.
"""

from models.records.ids import is_id, last_id, new_id, read_id, with_read_id
from models.records.rows import Rows, expire
from models.records.table import Owned, Record, Table, is_new, new_row, whole
from models.records.times import DAY, later, now, parse_time

__all__ = ["DAY", "Owned", "Record", "Rows", "Table", "expire", "is_id", "is_new", "last_id", "later", "new_id",
           "new_row", "now", "parse_time", "read_id", "whole", "with_read_id"]

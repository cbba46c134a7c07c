"""Everything that knows rows: tables, transactions, migrations. Nothing here knows a request or a rule."""

"""Opens the database that a URL names. No other module knows both dialects."""

from __future__ import annotations

from models.engine.database import Database

POOL_WAIT = 2.0  # seconds that a caller waits for a free connection before it gets `Unavailable`


def open_database(url: str, *, pool_size: int = 16, synchronous: str = "full", group_commit: bool = True,
                  statement_timeout: float = 10.0, pool_wait: float = POOL_WAIT,
                  waiting: int | None = None, reads_copies: bool = False,
                  ignored: frozenset[str] = frozenset()) -> Database:
    """Returns the database at `url`: `sqlite:///relative.db`, `sqlite:////absolute.db` or `postgresql://…`. Connects to
    nothing yet.

    Options for SQLite: `synchronous` (`full` or `normal`) and `group_commit` (writers may share a transaction). Options
    for Postgres: `pool_size` (connections) and `pool_wait`. `statement_timeout` and `pool_wait` are seconds. `waiting`:
    how many threads may wait longer than a moment for their turn to write (SQLite) or for a connection (Postgres);
    None: no limit. `reads_copies`: a SQLite file that cannot be written to is opened for reading. `ignored`: tables
    whose rows never count in a decision about access.
    Raises ValueError for an unknown URL or an invalid option.
    """
    # Imports only the driver that the URL needs: an instance on SQLite needs no libpq, and one on Postgres no apsw.
    scheme, separator, rest = url.partition("://")
    if scheme == "sqlite" and rest.startswith("/"):
        from models.engine.sqlite.database import SqliteDatabase
        from models.engine.sqlite.files import FilesDatabase

        path = rest.removeprefix("/")
        if not path or path.startswith(":") or "?" in path:
            raise ValueError("the SQLite URL must name a file: sqlite:///x.db or sqlite:////srv/x.db")
        if synchronous.lower() not in ("full", "normal"):
            raise ValueError("synchronous must be full or normal")
        database: Database = SqliteDatabase(
            path, synchronous=synchronous, group_commit=group_commit, statement_timeout=statement_timeout,
            waiting=waiting, reads_copies=reads_copies)
        database.beside = FilesDatabase(path, synchronous=synchronous, statement_timeout=statement_timeout)
    elif separator and scheme in ("postgresql", "postgres"):
        from models.engine.postgres.database import PostgresDatabase

        database = PostgresDatabase(f"postgresql://{rest}", pool_size=pool_size,
                                    statement_timeout=statement_timeout, pool_wait=pool_wait, waiting=waiting)
    else:
        raise ValueError("the database URL must start with sqlite:/// or postgresql://")
    database.ignored = ignored
    return database

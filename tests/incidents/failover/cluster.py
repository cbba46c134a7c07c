"""Two Postgres servers: a primary, and a standby that confirms each of its commits."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from tests.databases import Server, programs_of_postgres
from tests.running import wait_until

DATABASE = "gatepost"
# Rights that pg_rewind needs on the new primary, besides REPLICATION.
REPLICATOR = """
CREATE ROLE replicator LOGIN REPLICATION;
GRANT EXECUTE ON FUNCTION pg_ls_dir(text, boolean, boolean) TO replicator;
GRANT EXECUTE ON FUNCTION pg_stat_file(text, boolean) TO replicator;
GRANT EXECUTE ON FUNCTION pg_read_binary_file(text) TO replicator;
GRANT EXECUTE ON FUNCTION pg_read_binary_file(text, bigint, bigint, boolean) TO replicator
"""


class Member(Server):
    """One of the two servers. `name` is its name for the other one; `primary` is the server that it copies."""

    configured = ("fsync=off", "shared_buffers=32MB", "max_connections=100", "log_min_messages=fatal")

    def __init__(self, programs: Path, directory: Path, name: str, primary: Member | None = None) -> None:
        self.name, self._primary = name, primary
        super().__init__(programs, directory)

    def standby_of(self, primary: Member) -> None:
        """Makes this stopped server the standby of a primary that was its own standby."""
        # pg_rewind takes the point of divergence from the new primary's newest checkpoint.
        primary.execute("CHECKPOINT")
        primary.make_slot(self.name)
        self._run("pg_rewind", "--target-pgdata", self.data, "--source-server",
                  f"{self._seen_from(primary)} dbname=postgres", "--write-recovery-conf")
        with (self.directory / "data" / "postgresql.auto.conf").open("a", encoding="utf-8") as settings:
            settings.write(f"primary_slot_name = '{self.name}'\n")
        self.start()

    def made_anew(self, primary: Member) -> None:
        """Makes this server the standby by a full copy, instead of a copy of the differences."""
        shutil.rmtree(self.data)
        primary.execute(f"SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots "
                        f"WHERE slot_name = '{self.name}'")
        self._copy(primary)
        self.start()

    def promote(self) -> None:
        """Promotes the server, and returns once it accepts writes.

        It may still have the settings for its former standby: pg_rewind keeps the settings of a server that was
        stopped cleanly.
        """
        self.wait_for_nobody()
        self._run("pg_ctl", "promote", "--pgdata", self.data, "--wait", "--timeout", "60")

    def stop_cleanly(self) -> None:
        """Ends the connections, and stops once the standby has all writes."""
        self._run("pg_ctl", "stop", "--pgdata", self.data, "--mode", "fast", "--timeout", "60")
        assert self.process is not None
        self.process.wait(timeout=60)
        self.process = None

    def wait_for(self, standby: Member) -> None:
        """Makes each commit wait for that standby from now on."""
        self.configure(f"ALTER SYSTEM SET synchronous_standby_names = '{standby.name}'")
        wait_until(lambda: self.ask("SELECT 1 FROM pg_stat_replication WHERE application_name = %s "
                                    "AND sync_state = 'sync'", standby.name))

    def wait_for_nobody(self) -> None:
        self.configure("ALTER SYSTEM RESET synchronous_standby_names")

    def has_all_of(self, primary: Member) -> bool:
        """True if this standby shows everything that the primary has written so far."""
        (written,), = primary.ask("SELECT pg_current_wal_lsn()::text")
        return bool(self.ask("SELECT 1 WHERE pg_last_wal_replay_lsn() >= %s::pg_lsn", written))

    def ask(self, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Returns all rows of a query of the database `gatepost`."""
        with psycopg.connect(self.url(DATABASE), autocommit=True) as connection:
            return connection.execute(statement, parameters).fetchall()

    def make_slot(self, name: str) -> None:
        """Creates a replication slot, so that the server keeps the log that the standby lacks, unless there is one."""
        self.execute(f"SELECT pg_create_physical_replication_slot('{name}') WHERE NOT EXISTS "
                     f"(SELECT FROM pg_replication_slots WHERE slot_name = '{name}')")

    @property
    def data(self) -> str:
        return str(self.directory / "data")

    def _fill(self) -> None:
        if self._primary is None:
            self._run("initdb", "--pgdata", self.data, "--username", "gatepost", "--auth", "trust",
                      "--encoding", "UTF8", "--locale", "C.UTF-8", "--no-sync", "--data-checksums")
            with (self.directory / "data" / "postgresql.conf").open("a", encoding="utf-8") as settings:
                # In the file, because pg_rewind itself starts a server that was killed, and looks for its log.
                settings.write("wal_keep_size = 512MB\n")
                # Otherwise a standby without its primary polls every 5 s, and is promoted only then.
                settings.write("wal_retrieve_retry_interval = 500ms\n")
        else:
            self._copy(self._primary)

    def _copy(self, primary: Member) -> None:
        self._run("pg_basebackup", "--pgdata", self.data, "--dbname", self._seen_from(primary),
                  "--write-recovery-conf", "--create-slot", "--slot", self.name, "--checkpoint", "fast", "--no-sync")

    def _seen_from(self, primary: Member) -> str:
        return f"host=127.0.0.1 port={primary.port} user=replicator application_name={self.name}"


class Cluster:
    """A primary `a` and its synchronous standby `b`, until they change roles."""

    def __init__(self, a: Member, b: Member) -> None:
        self.a, self.b = self.primary, self.standby = a, b

    @property
    def url(self) -> str:
        return (f"postgresql://gatepost@127.0.0.1:{self.a.port},127.0.0.1:{self.b.port}/{DATABASE}"
                "?target_session_attrs=read-write&connect_timeout=2")

    def promote(self) -> None:
        """Makes the standby the primary, in any state of the old primary."""
        self.standby.promote()
        self.primary, self.standby = self.standby, self.primary


@contextmanager
def running_cluster() -> Iterator[Cluster]:
    """Yields a running cluster. Skips without Postgres."""
    programs = programs_of_postgres()
    folders = [Path(tempfile.mkdtemp(prefix=f"gatepost-postgres-{name}-")) for name in "ab"]
    members: list[Member] = []
    try:
        members.append(Member(programs, folders[0], "a"))
        members[0].start()
        members[0].execute(f"CREATE DATABASE {DATABASE}")
        for statement in REPLICATOR.strip().split(";"):
            members[0].execute(statement)
        members.append(Member(programs, folders[1], "b", members[0]))
        members[1].start()
        members[0].wait_for(members[1])
        yield Cluster(*members)
    finally:
        for member in members:
            member.kill()
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)

"""Copies of a whole Postgres database, made by the server's own programs: `pg_dump`, `pg_restore` and `psql`.

They must be as new as the server. Passwords go through the environment: everybody can read the list of processes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from contextlib import suppress
from time import time
from typing import IO, Any
from urllib.parse import quote

from psycopg.conninfo import conninfo_to_dict, make_conninfo

from models.engine.errors import Unavailable
from system.files import new_file

SCRATCH = "gatepost_scratch_"  # start of the name of a scratch database; the time of its creation follows, in seconds
LEFT = 24 * 3600  # seconds after which a scratch database counts as abandoned by a killed process
_OPTIONS = "-c lock_timeout=10s -c statement_timeout=0 -c client_min_messages=warning"

# Drops all objects, also tables that the copy does not have. Keeps those of extensions and parts of other objects.
_CLEAR = r"""
DO $$
DECLARE each record;
BEGIN
  FOR each IN
    SELECT format('DROP %s IF EXISTS %I.%I CASCADE',
                  CASE relkind WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW' WHEN 'S' THEN 'SEQUENCE'
                               ELSE 'TABLE' END, nspname, relname) AS statement
    FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
    WHERE nspname = current_schema() AND relkind IN ('r', 'p', 'v', 'm', 'S') AND NOT EXISTS (
      SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = pg_class.oid AND deptype IN ('e', 'i'))
  LOOP EXECUTE each.statement; END LOOP;
  FOR each IN
    SELECT format('DROP ROUTINE IF EXISTS %s CASCADE', pg_proc.oid::regprocedure) AS statement
    FROM pg_proc JOIN pg_namespace ON pg_namespace.oid = pronamespace
    WHERE nspname = current_schema() AND NOT EXISTS (
      SELECT FROM pg_depend WHERE classid = 'pg_proc'::regclass AND objid = pg_proc.oid AND deptype = 'e')
  LOOP EXECUTE each.statement; END LOOP;
END $$;
"""


def dump(url: str, target: str, snapshot: str) -> None:
    """Writes the content of a snapshot (`pg_export_snapshot`) to the new file `target`, readable only by its owner.

    Raises `Unavailable`, FileExistsError.
    """
    new_file(target).close()
    _run(url, "pg_dump", "--format=custom", f"--snapshot={snapshot}", f"--file={target}")


def load(url: str, source: str) -> None:
    """Fills an empty database from a file of `dump`. Raises `Unavailable`."""
    _run(url, "pg_restore", "--no-owner", "--no-privileges", "--exit-on-error", source)


def replace(url: str, staged: str) -> None:
    """Replaces the content of the database at `url` by that of `staged`, in one transaction.

    Raises `Unavailable`; then nothing has changed.
    """
    dumping, environment = _command(staged, "pg_dump", "--no-owner", "--no-privileges")
    loading, other = _command(url, "psql", "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--output=/dev/null")
    # Files without a name: their content disappears with the process.
    with tempfile.TemporaryFile() as rows, tempfile.TemporaryFile() as errors:
        if _started(dumping, env=environment, stdin=subprocess.DEVNULL, stdout=rows, stderr=errors).wait() != 0:
            raise Unavailable(f"pg_dump: {_text(errors)}")
        rows.seek(0)
        psql = _started(loading, env=other, stdin=subprocess.PIPE, stderr=errors)
        assert psql.stdin is not None
        # COMMIT is sent last, by this process. If it is killed before, psql reaches the end of its input, and the
        # server rolls the transaction back.
        with suppress(BrokenPipeError), psql.stdin as script:
            script.write(f"BEGIN;{_CLEAR}".encode())
            shutil.copyfileobj(rows, script)
            script.write(b"COMMIT;\n")
        if psql.wait() != 0:
            raise Unavailable(f"psql: {_text(errors)}")


def scratch_name(random: str) -> str:
    """Returns the name of a new scratch database."""
    return f"{SCRATCH}{int(time())}_{random}"


def is_left(name: str) -> bool:
    """True if a scratch database is so old that no process uses it any more."""
    created = name.removeprefix(SCRATCH).partition("_")[0]
    return created.isdecimal() and time() - int(created) > LEFT


def url_of(url: str, name: str) -> str:
    """Returns the URL of another database on the same server."""
    # `urlsplit` cannot read it: a URL with several hosts does not follow RFC 3986.
    front, _, query = url.partition("?")
    scheme, _, rest = front.partition("://")
    parameters = "&".join(each for each in query.split("&") if each and not each.startswith("dbname="))
    return f"{scheme}://{rest.partition('/')[0]}/{name}{'?' if parameters else ''}{parameters}"


def at(url: str, host: str, port: int) -> str:
    """Returns the URL of the same database on one of the servers that `url` names."""
    front, _, query = url.partition("?")
    parameters = [each for each in query.split("&")
                  if each and each.partition("=")[0] not in ("host", "hostaddr", "port")]
    # Parameters after the question mark override those before it.
    return front + "?" + "&".join([*parameters, f"host={quote(host, safe='')}", f"port={port}"])


def _run(url: str, program: str, *options: str) -> None:
    command, environment = _command(url, program, *options)
    process = _started(command, env=environment, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    _, errors = process.communicate()
    if process.returncode != 0:
        raise Unavailable(f"{program}: {errors.decode(errors='replace').strip()}")


def _command(url: str, program: str, *options: str) -> tuple[list[str], dict[str, str]]:
    """Returns a command and its environment."""
    parameters: dict[str, Any] = {"connect_timeout": 3, **conninfo_to_dict(url)}
    password = parameters.pop("password", None)
    environment = {**os.environ, "PGOPTIONS": f"{parameters.pop('options', None) or ''} {_OPTIONS}".strip()}
    if password:
        environment["PGPASSWORD"] = password
    return [program, "--no-password", f"--dbname={make_conninfo(**parameters)}", *options], environment


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace").strip()


def _started(command: list[str], **options: Any) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(command, **{"stdout": subprocess.DEVNULL, **options})
    except FileNotFoundError:
        raise Unavailable(f"{command[0]} is not installed here, one of the client programs of Postgres") from None

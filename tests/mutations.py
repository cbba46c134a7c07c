"""Mistakes in central functions, one at a time, and the targets of the Makefile that fail because of each.

    python -m tests.mutations -- make -o lint -o types check PYTEST_ARGS=-x
    python -m tests.mutations --only partial -- .venv/bin/python -m pytest -q -x -m "not slow"

Each mistake is made in a copy of the sources, and the command runs there. A command that succeeds has missed the
mistake. Use the missed mistakes to choose the tests of `make check`. `-o lint -o types` leaves out style and types,
which would notice some mistakes by an unused name.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.running import ROOT


@dataclass(frozen=True)
class Mutation:
    """A mistake. `after` replaces `before`, which occurs once in the file."""

    name: str
    file: str
    before: str
    after: str

    def make(self, root: Path) -> None:
        """Makes the mistake in the sources below `root`. Raises ValueError if `before` does not occur once."""
        path = root / self.file
        text = path.read_text(encoding="utf-8")
        if text.count(self.before) != 1:
            raise ValueError(f"{self.name}: {self.before!r} occurs {text.count(self.before)} times in {self.file}")
        path.write_text(text.replace(self.before, self.after), encoding="utf-8")


MUTATIONS = (
    Mutation("scopes cover everything", "policies/evaluation/policy.py",
             "return scopes is None or any(", "return True or any("),
    Mutation("partial evaluation forgets inherited roles", "policies/evaluation/partial.py",
             "return first == second or second in self._roles.closure(first)", "return first == second"),
    Mutation("every object is shared", "policies/evaluation/compiled.py",
             "o is not NO_OBJECT and shared(s, o, permission)", "o is not NO_OBJECT"),
    Mutation("a negation is none", "policies/evaluation/compiled.py", "not inner(s, o, e, x)", "inner(s, o, e, x)"),
    Mutation("lists forget denials", "policies/evaluation/sql.py",
             "tuple(not_true(writer.expression(deny)) for deny in plan.denies)", "()"),
    Mutation("pages go the wrong way", "models/paging.py", "beyond = lt if run", "beyond = gt if run"),
    Mutation("pages lose rows without a value", "models/paging.py",
             "return following if backward else [*following, null]", "return following"),
    Mutation("queries forget the tenant", "models/records/rows.py",
             "return self.model.tenant_id == self.tenant_id", "return self.model.tenant_id != ''"),
    Mutation("a lost update is none", "models/records/rows.py",
             "if statement.write(current, values) == 0:\n"
             "            raise Outdated(f\"{self.model.__name__} {row.id}\")\n        if not is_whole",
             "statement.write(current, values)\n        if not is_whole"),
    Mutation("writes are judged without their row", "gatepost/http/pipeline/stages.py",
             "if call.row is not None:\n        _judge(call)",
             "if call.row is not None and not call.endpoint.writes:\n        _judge(call)"),
    Mutation("a changed row is not judged again", "gatepost/http/pipeline/stages.py",
             "if call.endpoint.judge_after:", "if call.endpoint.judge_after is None:"),
    Mutation("everybody is admitted", "gatepost/http/pipeline/stages.py",
             "if permission is not None and not call.access.may_ever(permission):", "if permission == '':"),
    Mutation("no audit row", "gatepost/http/pipeline/stages.py",
             "        audit.record(call)\n", "        pass\n"),
    Mutation("If-Match is not looked at", "gatepost/http/pipeline/conditional.py",
             "if if_match is not None and not names_version(if_match, _versions(call), weak=False):",
             "if if_match == '':"),
    Mutation("a key answers other bodies", "gatepost/http/pipeline/idempotency.py",
             "if stored.fingerprint not in _fingerprints(call):", "if stored.fingerprint == '':"),
    Mutation("a key forgets scopes", "gatepost/http/pipeline/idempotency.py",
             "None if scopes is None else sorted(scopes)", "None"),
    Mutation("cursors outlive a restore", "gatepost/http/security/cursors.py",
             "if epoch != self.epoch or self._clock()", "if self._clock()"),
    Mutation("cursors serve other lists", "gatepost/http/security/cursors.py",
             "if list_name != collection or list_question != question:", "if list_name != collection:"),
    Mutation("access tokens outlive the version of the account", "gatepost/http/request/identity.py",
             "\n            or account.token_version != claims.version):", "):"),
    Mutation("a logout ends no session", "gatepost/http/request/identity.py",
             "or account.revoked_at is not None or account.expires_at", "or account.expires_at"),
    Mutation("any secret of a service token", "gatepost/http/request/identity.py",
             "not compare_digest(bearer.token_hash, hashed(secret)) or not", "not"),
    Mutation("service tokens never expire", "gatepost/http/request/identity.py",
             "bearer.expires_at is not None and bearer.expires_at <= now()", "bearer.expires_at == ''"),
    Mutation("guarded fields are shown", "gatepost/http/reading/readable.py",
             "if requested and not call.access.allows(permission, row):\n                result += requested",
             "if requested == permission:\n                result += requested"),
    Mutation("one withdrawal takes every share", "models/tables/share.py",
             "whose = {} if grantee is None else {\"grantee\": grantee}", "whose: dict[str, str] = {}"),
    Mutation("lists forget the right of a share", "models/tables/share.py",
             ", Share.right.in_(list(rights)))", ")"),
    Mutation("unknown fields are ignored", "gatepost/http/schemas/fields.py",
             "unknown = RAISE", "unknown = \"exclude\""),
    Mutation("actions start from any state", "gatepost/http/writing/actions.py",
             "return not self.transitions or row[self.state] in self.transitions", "return True"),
    Mutation("any password is right", "gatepost/http/security/passwords.py",
             "        return False\n    return matches and is_usable",
             "        return is_usable\n    return matches and is_usable"),
    Mutation("one address pays for none", "gatepost/http/operations/limits.py",
             "self._spend(self._quotas.address, network_of(address), cost)", "pass"),
)


@contextmanager
def copied() -> Iterator[Path]:
    """Yields a copy of the sources, with the environment of this checkout."""
    with tempfile.TemporaryDirectory() as place:
        root = Path(place) / "gatepost"
        tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
        for name in filter(None, tracked.stdout.split("\0")):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, root / name)
        (root / ".venv").symlink_to(ROOT / ".venv")
        yield root


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="TEXT", help="Only mistakes whose name has this text.")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    missed = []
    chosen = [mutation for mutation in MUTATIONS if options.only in mutation.name]
    with copied() as root:
        done = subprocess.run(options.command, cwd=root, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"The command fails without a mistake:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        for mutation in chosen:
            original = (root / mutation.file).read_bytes()
            mutation.make(root)
            done = subprocess.run(options.command, cwd=root, capture_output=True, text=True, check=False)
            (root / mutation.file).write_bytes(original)
            first = next((line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))), "")
            print(f"{'missed' if done.returncode == 0 else 'caught'}  {mutation.name}  {first[:120]}", flush=True)
            if done.returncode == 0:
                missed.append(mutation.name)
    print(f"{len(chosen) - len(missed)} of {len(chosen)} are caught")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())

"""Holds the numbers in docs/api.md and docs/api/ to the code: each phrase is made from a constant."""

from __future__ import annotations

from blueprints.sessions.tokens import Tokens
from gatepost.http.credentials import sessions, step_up
from gatepost.http.operations import concurrency, limits
from gatepost.http.pipeline import idempotency, uri
from gatepost.http.protocol import json_body, problems
from gatepost.http.reading import listing, query
from gatepost.http.security import cursors, passwords
from gatepost.http.writing import sharing
from gatepost.jobs import requests
from models.tables.service_token import LASTS
from settings import Settings
from tests.running import ROOT

DOCS = ROOT / "docs"
PAGES = [path.read_text(encoding="utf-8") for path in (DOCS / "api.md", *sorted((DOCS / "api").glob("*.md")))]
TEXT = " ".join(" ".join(PAGES).split())  # a phrase may go on in the next line
WORDS = {10: "ten"}
KIB, MIB, DAY = 2**10, 2**20, 24 * 60 * 60
DEFAULTS = Settings()


def thousands(number: int) -> str:
    return f"{number:,}".replace(",", " ")


PHRASES = (
    f"valid for {DEFAULTS.access_token_minutes} minutes (setting)",
    f"again within {WORDS[int(sessions.GRACE)]} seconds",
    f"unused for {DEFAULTS.refresh_idle_days} days",
    f"in any case after {DEFAULTS.refresh_absolute_days} days (settings)",
    f"first {WORDS[int(step_up.FRESH / 60)]} minutes after login",
    f"{passwords.SHORTEST} to {passwords.LONGEST} characters",
    f"{LASTS // DAY} days by default",
    f"same for all guests for {WORDS[listing.PUBLIC_FOR]} seconds",
    f"more than {idempotency.LARGE // KIB} KiB, or one after {limits.MOST_KEPT // MIB} MiB",
    f"1 for each {limits.JSON_PIECE // KIB} KiB of its body",
    f"1 for each {limits.IMPORT_PIECE // KIB} KiB |",
    f"also {limits.SESSION} of the account",
    f"{DEFAULTS.principal_units} units a minute, an address {thousands(DEFAULTS.address_units)} (settings)",
    f"{DEFAULTS.login_attempts} wrong passwords a minute (setting)",
    f"{DEFAULTS.login_attempts} times a minute and {limits.DAILY} times a day",
    f"{DEFAULTS.body_limit // MIB} MiB; {DEFAULTS.import_limit // MIB} MiB (settings)",
    f"{thousands(uri.LONGEST)} bytes",
    f"{json_body.MAX_DEPTH} levels",
    f"{thousands(DEFAULTS.owner_rows)} (setting)",
    f"service tokens of a user | {Tokens.most_owned} |",
    f"in one process | {concurrency.EACH} |",
    f"at most {thousands(sharing.MOST_SHARES)} shares",
    f"At most {problems.MOST_FAULTS} are listed",
    f"{DEFAULTS.page_size} rows unless you set `limit`, and at most {DEFAULTS.max_page_size}",
    f"{DEFAULTS.page_sizes['service']} for staff and service tokens (settings)",
    f"{thousands(query.MAX_OFFSET)} rows deep",
    f"exact up to {thousands(listing.EXACT_UP_TO)} rows",
    f"{thousands(DEFAULTS.import_changes)} lines of an import",
    f"At most {requests.MOST_UNFINISHED} of your jobs",
    f"{DEFAULTS.job_quota // MIB} MiB together (setting `job_quota`)",
)


def test_every_number_is_the_code_s():
    assert [phrase for phrase in PHRASES if phrase not in TEXT] == []


def test_cursors_and_idempotency_keys_are_valid_for_a_day():
    assert idempotency.KEPT == cursors.MAX_AGE == DAY
    assert "kept for a day" in TEXT
    assert "valid for a day" in TEXT

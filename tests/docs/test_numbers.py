"""The numbers in docs/api.md and docs/api/lists.md are those of the code: each phrase is made from a constant."""

from __future__ import annotations

from blueprints.sessions.tokens import Tokens
from gatepost.http.credentials import sessions
from gatepost.http.operations import limits
from gatepost.http.pipeline import idempotency, uri
from gatepost.http.protocol import json_body, problems
from gatepost.http.reading import listing, query
from gatepost.http.security import cursors, passwords
from gatepost.http.writing import sharing
from settings import Settings
from tests.running import ROOT

PAGES = [(ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("api.md", "api/lists.md")]
TEXT = " ".join(" ".join(PAGES).split())  # a phrase may go on in the next line
WORDS = {10: "ten"}
KIB, MIB, DAY = 2**10, 2**20, 24 * 60 * 60
DEFAULTS = Settings()


def thousands(number: int) -> str:
    return f"{number:,}".replace(",", " ")


PHRASES = (
    f"{DEFAULTS.access_token_minutes} minutes unless set",
    f"again within {WORDS[int(sessions.GRACE)]} seconds",
    f"unused session ends after {DEFAULTS.refresh_idle_days} days",
    f"every session after {DEFAULTS.refresh_absolute_days} (settings)",
    f"{passwords.SHORTEST} to {passwords.LONGEST} characters",
    f"shared caches for {WORDS[listing.PUBLIC_FOR]} seconds",
    f"more than {idempotency.LARGE // KIB} KiB, or one after {limits.MOST_KEPT // MIB} MiB",
    f"one for each {limits.JSON_PIECE // KIB} KiB of its body",
    f"one for each {limits.IMPORT_PIECE // KIB} KiB; a login or a refresh {limits.SESSION} more",
    f"{DEFAULTS.principal_units} units a minute, an address {thousands(DEFAULTS.address_units)} (settings)",
    f"Wrong passwords ({DEFAULTS.login_attempts} a minute",
    f"({DEFAULTS.login_attempts} a minute, {limits.DAILY} a day)",
    f"{DEFAULTS.body_limit // MIB} MiB; {DEFAULTS.import_limit // MIB} MiB (settings)",
    f"{thousands(uri.LONGEST)} bytes",
    f"{json_body.MAX_DEPTH} levels",
    f"{thousands(DEFAULTS.owner_rows)} (setting)",
    f"{Tokens.most_owned} service tokens",
    f"An object has at most {thousands(sharing.MOST_SHARES)} shares",
    f"At most {problems.MOST_FAULTS} are listed",
    f"{DEFAULTS.page_size} unless given, at most {DEFAULTS.max_page_size}",
    f"{DEFAULTS.page_sizes['service']} for staff and service tokens (settings)",
    f"It reaches {thousands(query.MAX_OFFSET)} rows deep",
    f"exact up to {thousands(listing.EXACT_UP_TO)} rows",
)


def test_every_number_is_the_code_s():
    assert [phrase for phrase in PHRASES if phrase not in TEXT] == []


def test_cursors_and_idempotency_keys_live_for_a_day():
    assert idempotency.KEPT == cursors.MAX_AGE == DAY
    assert "kept for a day" in TEXT
    assert "good for a day" in TEXT

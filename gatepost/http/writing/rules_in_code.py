"""Rules in code, which no rule of the policy can lift. The service and `explain` evaluate the same ones.

The service raises the `refusal` of a rule. `explain` shows every rule about a request with the facts of the row. Each
has a stable name, which docs/policy/rules-in-code.md documents.
"""

from __future__ import annotations

from dataclasses import dataclass

from policies.syntax.roles import ADMIN, GUEST

from ..protocol.messages import Message
from ..protocol.problems import Problem
from ..request.access import Access

ACCOUNT, TENANT, RANK, STATE, LAST_ADMINISTRATOR = "account", "tenant", "rank", "state", "last_administrator"
MANAGED, PASSWORD, OWNED, OTHER = "managed_fields", "current_password", "rows_owned", "collection"
_WHOSE = Message("the user's role")
NAMES = (ACCOUNT, TENANT, RANK, STATE, LAST_ADMINISTRATOR, MANAGED, PASSWORD, OWNED, OTHER)


@dataclass(frozen=True)
class RuleInCode:
    """Rule in code about one request.

    name     stable name; those of Gatepost are `NAMES`
    text     the facts that the rule evaluated, as a sentence
    refusal  the answer if the rule does not hold; None: it holds
    sent     True if the rule depends on the body, or on a row that is not named; then `refusal` is only possible
    reads    columns of the row that `text` reveals
    user_id  the user whose role `text` reveals, if it is not the row itself
    """

    name: str
    text: str
    refusal: Problem | None = None
    sent: bool = False
    reads: tuple[str, ...] = ()
    user_id: str | None = None

    @property
    def refuses(self) -> bool:
        """True if the request is refused, independent of its body."""
        return self.refusal is not None and not self.sent

    @property
    def holds(self) -> bool | None:
        """True if the rule holds; None if that depends on the body or on the row."""
        return None if self.sent else self.refusal is None


def outranked(access: Access, role: str) -> Problem | None:
    """Returns the refusal of a caller whose rank is too low for a user of this role, or None."""
    if access.ranks_over(role):
        return None
    return Problem("forbidden", Message("A {role} cannot decide about a user with the role {other}.",
                                        role=access.principal.role, other=role))


def rank(access: Access, role: str | None, whose: Message = _WHOSE, user_id: str | None = None) -> RuleInCode:
    """Compares the caller's rank with the role of a user; None: the request names no user."""
    if access.principal.role == ADMIN:
        return RuleInCode(RANK, Message("{role} ranks above every role", role=ADMIN))
    roles = ", ".join(sorted(access.roles - {GUEST}))
    if role is None:
        text = Message("{whose} must be one of the caller's roles: {roles}", whose=whose, roles=roles)
        return RuleInCode(RANK, text, sent=True)
    refusal = outranked(access, role)
    text = Message("{whose} is {role}, one of the caller's roles: {roles}") if refusal is None else \
        Message("{whose} is {role}, none of the caller's roles: {roles}")
    return RuleInCode(RANK, text.format(whose=whose, role=role, roles=roles), refusal,
                      reads=() if user_id is not None else ("role",), user_id=user_id)


def by_state(status: str, refusal: Problem | None) -> RuleInCode:
    """Rule about the state of a row; `refusal` is the reason if the state does not allow the request."""
    return RuleInCode(STATE, state_is("status", status, refusal), refusal, reads=("status",))


def state_is(name: str, state: str, refusal: Problem | None = None) -> Message:
    """Sentence about the state of a row, with the reason of the refusal."""
    state_text = Message("{name} is {value}", name=name, value=state)
    if refusal is None:
        return state_text
    # Only values that are messages themselves are translated.
    reason = refusal.detail if isinstance(refusal.detail, Message) else Message(refusal.detail)
    return Message("{found}: {reason}", found=state_text, reason=reason)

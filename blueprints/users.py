"""Users: who may log in, and as what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from marshmallow import fields

from gatepost import Call, Collection, Email, Line, Many, Name, NewPassword, RecordSchema, Time, action
from gatepost.http.credentials import step_up
from gatepost.http.protocol.messages import Message
from gatepost.http.protocol.problems import Fault
from gatepost.http.request.access import MOST_GROUPS
from gatepost.http.security.passwords import UNUSABLE
from gatepost.http.writing import administrators
from gatepost.http.writing.revocation import retract_user
from gatepost.http.writing.rules_in_code import RuleInCode, outranked, rank
from models.tables.session import end_all
from models.tables.user import User
from policies.syntax.roles import LONGEST_ROLE


class UserSchema(RecordSchema):
    """A person who may log in. Strangers see id, name and role."""

    owner_id = fields.String(dump_only=True)
    name = Name(required=True, metadata={"example": "Noor Visser"})
    email = Email(required=True, metadata={"example": "noor@example.org"})
    email_verified_at = Time(dump_only=True, allow_none=True, metadata={
        "description": "When the user proved that they get the mail of this address. Null after a change of it."})
    password = NewPassword(load_only=True, attribute="password_hash", metadata={
        "description": "Without one, the user cannot log in until they choose one by a password link."})
    role = Line(maximum=LONGEST_ROLE, metadata={"description": "A role of the policy.", "names_of": "roles"})
    department = Name(allow_none=True)
    groups = Many(Name(maximum=64), maximum=MOST_GROUPS, metadata={"names_of": "groups"})
    active = fields.Boolean(dump_only=True)
    current_password = step_up.CurrentPassword(about="change your own e-mail address", on_create=False)


class Users(Collection):
    """People who may log in."""

    name, resource = "users", "user"
    model, schema, gone = User, UserSchema, "erased_at"
    sort = ("created_at", "updated_at", "name", "email")
    default_sort = "name"
    filters = {"role": ("eq", "in"), "name": ("eq", "contains", "startswith"), "email": ("eq", "startswith"),
               "email_verified_at": ("isnull",),
               "department": ("eq", "isnull"), "groups": ("has",), "active": ("eq",), "created_at": ("gte", "lt")}
    guarded = dict.fromkeys(("tenant_id", "owner_id", "version", "created_at", "updated_at", "email",
                             "email_verified_at", "department", "groups", "active"), "user.view_private")
    managed, create_only = ("role", "department", "groups"), ("password",)
    proved = ("email_verified_at",)
    overview = ("email", "role", "department", "groups", "active")

    def stamp(self, call: Call, row: User) -> None:
        step_up.refuse_elsewhere(call.body)
        row.owner_id, row.password_hash = row.id, UNUSABLE

    def confirm(self, call: Call, id: str, body: Mapping[str, Any]) -> None:
        step_up.confirm_email(call, id, body)

    def faulty(self, call: Call, values: Mapping[str, Any]) -> list[Fault]:
        roles, faults = call.access.policy.roles.of_users, super().faulty(call, values)
        if "role" not in values or values["role"] in roles:
            return faults
        message = Message("Must be one of: {choices}.", choices=", ".join(roles))
        return [Fault("invalid_field", message, pointer="/role"), *faults]

    def restrict(self, call: Call) -> None:
        """403 when the user's role is none of the caller's roles: also where a policy line would allow it."""
        if (refusal := outranked(call.access, call.row.role)) is not None:
            raise refusal

    def rules_in_code(self, call: Call, verb: str, row: User | None) -> Iterator[RuleInCode]:
        if self.restricted(verb):
            yield rank(call.access, None if row is None else row.role)
        yield from super().rules_in_code(call, verb, row)
        yield from administrators.rules(call, verb, row)

    def load_record(self, call: Call) -> User | None:
        administrators.lock_before(self.rows(call).find(call.path["id"]), call.access)
        row: User | None = super().load_record(call)
        return row

    def update(self, call: Call, row: User, changes: Mapping[str, Any]) -> None:
        if administrators.unmakes(changes):
            administrators.keep_one(row)
        if not changes.get("active", True):
            end_all(row)
        super().update(call, row, step_up.allowed(call, row, changes))

    def delete(self, call: Call, row: User) -> None:
        administrators.keep_one(row)
        retract_user(call, row)
        super().delete(call, row)

    def allowed_actions(self, call: Call, row: Mapping[str, Any]) -> list[str]:
        verbs = super().allowed_actions(call, row)
        # Whom one shares a user with is no decision about that user.
        return verbs if call.access.ranks_over(row["role"]) else [verb for verb in verbs if not self.restricted(verb)]

    @action("disable", transitions={True: False}, state="active")
    def disable(self, user: User) -> None:
        """End the user's sessions and refuse new ones."""
        administrators.keep_one(user)
        end_all(user)

    @action("enable", transitions={False: True}, state="active")
    def enable(self, user: User) -> None:
        """Let the user log in again."""

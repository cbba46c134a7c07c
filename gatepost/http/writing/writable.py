"""Creation and change of the rows of a collection: the fields that a body may set, and the stored values.

A subclass overrides `create`, `update`, `delete`, `restrict`, `stamp`, `derive` or `draft` to change what a write does.
The handlers of `gatepost/collections` and the lines of an import call the same methods.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import peewee as pw
from marshmallow import Schema, fields

from models.base import Owned, new_row, now
from models.tables.share import withdraw
from models.tables.user import User

from ..protocol.messages import Message, together
from ..protocol.problems import Fault, Problem, dangling, read_only
from ..reading.readable import Readable, Values
from ..request import setting
from ..request.access import Access
from ..request.call import Call, Setting
from ..request.implied import implied_requests, reads_method
from ..request.setting import may_ever_set, may_set
from ..schemas.fields import Reference
from ..schemas.guarded import remove
from .actions import Action
from .rules_in_code import MANAGED, STATE, RuleInCode, state_is

_ALWAYS = ("update", "delete", "share")  # possible in any state
DELETE, ANONYMISE, HAND_OVER = "delete", "anonymise", "hand_over"  # effects on the rows of an erased user


class Writable(Readable):
    """Writable side of a collection. `Collection` explains the class attributes."""

    computed: ClassVar[tuple[str, ...]] = ("allowed_actions",)
    managed: ClassVar[tuple[str, ...]] = ("owner_id",)
    set_guarded: ClassVar[Mapping[str, str]] = {}
    create_only: ClassVar[tuple[str, ...]] = ()
    proved: ClassVar[tuple[str, ...]] = ()
    null_at_create: ClassVar[tuple[str, ...]] = ()
    import_keys: ClassVar[tuple[str, ...]] = ()
    most_owned: ClassVar[int | None] = None
    on_erase: ClassVar[str] = HAND_OVER
    anonymised: ClassVar[Mapping[str, Any]] = {}

    def __init__(self) -> None:
        super().__init__()
        self.references = references_of(self.body_schema)
        self.actions = [action for name in dir(type(self))
                        if isinstance(action := getattr(getattr(type(self), name), "action", None), Action)]
        self.states: dict[str, set[Any]] = {}  # column → the states before and after its actions
        for action in self.actions:
            if not action.transitions:
                continue
            self.states.setdefault(action.state, set()).update(action.transitions, action.transitions.values())

    @cached_property
    def managing(self) -> dict[str, str]:
        """Managed fields of a body, each with the permission to set it: `<resource>.set_owner` for `owner_id`.

        Until a rule names that, `<resource>.manage` decides.
        """
        return {name: self.permission(f"set_{name.removesuffix('_id')}")
                for name in self.managed if name in self.body_schema.load_fields}

    @cached_property
    def _update(self) -> str:
        return self.permission("update")

    @cached_property
    def set_guards(self) -> dict[str, str]:
        """Fields of `set_guarded`, each with the permission to set it, and its resource.

        Until a rule names that, `<resource>.update` decides, and `<resource>.create` in a new row.
        """
        return {name: verb if "." in verb else self.permission(verb) for name, verb in self.set_guarded.items()}

    def fixed_for(self, access: Access, row: Values | None, *, creates: bool = False) -> set[str]:
        """Returns the fields that a caller may not set in a row; if `row` is None, in no row."""
        guards = {**self.managing, **self.set_guards}
        refused = {permission for permission in set(guards.values()) if not (
            may_ever_set(access, permission, stands=creates) if row is None else access.would_allow(permission, row))}
        return {name for name, permission in guards.items() if permission in refused}

    # Methods that a collection may override

    def create(self, call: Call, row: Any) -> None:
        """Stores a new row that the policy allows."""
        self.rows(call).insert(row)

    def confirm(self, call: Call, id: str, body: Values) -> None:
        """Checks an extra proof, such as the current password, before the transaction. Checks nothing by default."""

    def prepare(self, call: Call) -> None:
        """Fetches or computes values that a write needs, and sets `call.prepared`. Does nothing by default.

        No transaction, connection or lock is held meanwhile. `call.row` is the current state of the row to be changed;
        None for a new row. The row may have changed again when the transaction begins.
        """

    def update(self, call: Call, row: Any, changes: Values) -> None:
        """Stores the changed columns of a row. References are already checked."""
        # A PUT repeats most values. Stored again, each would be written to its indexes again.
        stored = row.__data__
        changed = {name: value for name, value in changes.items() if name not in stored or stored[name] != value}
        for name, value in (changed or changes).items():  # a change of nothing is a new version, too
            setattr(row, name, value)
        self.rows(call).save(row)

    def delete(self, call: Call, row: Any) -> None:
        """Deletes a row and its shares."""
        withdraw(row.tenant_id, self.resource, row.id)
        self.rows(call).delete(row)

    @property
    def stores_plainly(self) -> bool:
        """True if creating a row only inserts it, so that many can be stored at once."""
        return type(self).create is Writable.create

    @property
    def prepares(self) -> bool:
        """True if the collection overrides `prepare`, which runs before the transaction of a write."""
        return type(self).prepare is not Writable.prepare

    @property
    def confirms(self) -> bool:
        """True if the collection overrides `confirm`, because some changes need more than a permission."""
        return type(self).confirm is not Writable.confirm

    def restrict(self, call: Call) -> None:
        """Refuses changes of `call.row` that no rule of the policy may allow. Refuses nothing by default."""

    def rules_in_code(self, call: Call, verb: str, row: Any | None) -> Iterator[RuleInCode]:
        """Yields the rules in code for `verb` on `row` in their order; if `row` is None, those for any row.

        `explain` shows them beside the rules of the policy. `call` has only the caller and their access.
        """
        for action in self.actions:
            if action.name == verb and action.transitions:
                if row is None:
                    yield RuleInCode(STATE, action.starts, sent=True)
                elif action.starts_from(row.__data__):
                    yield RuleInCode(STATE, state_is(action.state, getattr(row, action.state)), reads=(action.state,))
                else:
                    state = getattr(row, action.state)
                    yield RuleInCode(STATE, together((state_is(action.state, state), action.starts)),
                                     action.conflict(state), reads=(action.state,))
        if verb in ("create", "update"):
            yield from self._rules_about_fields(call, row, creates=verb == "create")

    def _rules_about_fields(self, call: Call, row: Any | None, *, creates: bool) -> Iterator[RuleInCode]:
        """Yields a rule for each permission that the caller lacks to set fields of the row."""
        facts = None if row is None else row.__data__
        guards = {**self.managing, **self.set_guards}
        for permission in dict.fromkeys(guards.values()):
            names = [name for name, needed in guards.items() if needed == permission]
            managed = names[0] in self.managing
            if may_set(call.access, permission, facts, stands=creates and not managed):
                continue
            text = Message("{names} can be set only with {permission}", names=", ".join(names), permission=permission)
            refusal = Problem.of([read_only(name) for name in names], "invalid_body") if managed else \
                call.access.refusal(permission)
            yield RuleInCode(MANAGED, text, refusal, sent=True)

    def values_of(self, name: str) -> tuple[str, ...]:
        states, choices = self.states.get(name), super().values_of(name)
        if not states or not all(isinstance(state, str) for state in states):
            return choices
        initial = self.model._meta.fields[name].default
        return tuple(sorted({*states, *choices, *([initial] if isinstance(initial, str) else [])}))

    @property
    def _computed(self) -> dict[str, fields.Field[Any]]:
        verb = fields.String(metadata={"enum": [*_ALWAYS, *(action.name for action in self.actions)]})
        about = {"description": "What this caller may do to it now, when `fields` names it."}
        return {name: fields.List(verb, metadata=about) for name in self.computed if name == "allowed_actions"}

    def restricted(self, verb: str) -> bool:
        """True if `restrict` runs before `verb` on a row."""
        return verb in ("create", "update", "delete", "import") or any(action.name == verb for action in self.actions)

    def allowed_actions(self, call: Call, row: Values) -> list[str]:
        """Returns the verbs that the caller may use on this row in its state."""
        # Missing verbs must not reveal a state that the caller may not see.
        verbs = [verb for verb in _ALWAYS if self._permits(call, verb, row)]
        return verbs + [action.name for action in self.actions
                        if (action.starts_from(row) or self.hidden(call, row, (action.state,)))
                        and self._permits(call, action.name, row)]

    def _permits(self, call: Call, verb: str, row: Values) -> bool:
        """True if the policy allows the verb for each request that can have it."""
        access, permission = call.access, self.permission(verb)
        if not reads_method(access.policy, (permission,)):
            return access.would_allow(permission, row)
        requests = implied_requests(call.services.registry.by_permission.get(permission, ()), permission, self,
                                    about_row=True)
        return all(access.by(method).would_allow(permission, row) for method in requests.methods)

    def _shown(self, call: Call, row: Values, names: Sequence[str]) -> dict[str, Any]:
        answer = super()._shown(call, row, names)
        if "allowed_actions" in names:
            answer["allowed_actions"] = self.allowed_actions(call, row)
        return answer

    # Rows of a user

    def of_person(self, person: User) -> pw.Expression | None:
        """Returns the condition for the rows of a user, for export and erasure. None: the table has none.

        By default these are the rows that the user owns.
        """
        owner = self.model._meta.fields.get("owner_id")
        if owner is None or (issubclass(self.model, Owned) and self.model.owns_itself):
            return None
        mine: pw.Expression = (self.model.tenant_id == person.tenant_id) & (owner == person.id)
        return mine

    # Row of a request

    def load_record(self, call: Call) -> Any:
        """Returns the row that the path names, locked for the change; None if the caller may not view it."""
        row = self.rows(call).find(call.path["id"], lock=True)
        return row if row is not None and self.shows(call, row.__data__) else None

    def draft(self, call: Call) -> Any:
        """Returns a new row from the body, not yet stored. The policy evaluates `<resource>.create` on it."""
        return self.drafted(call, self.derive)

    def drafted(self, call: Call, derive: Callable[[Call, Any], Iterable[str] | None]) -> Any:
        """Returns a draft, with the columns that `derive` computes from the body."""
        faults, body, fields = [read_only(name) for name in call.read_only], call.body, self.model._meta.fields
        row = new_row(self.model, call.tenant_id, now())
        self.stamp(call, row)
        managed = [name for name in self.managing if name in body]
        for name, value in body.items():
            if name in fields and name not in managed:
                setattr(row, name, value)
        call.write.unknown = frozenset(derive(call, row) or ())
        if managed:
            # Evaluated on the whole row, like every rule.
            refused = self._refused(call, managed, row.__data__)
            for name in managed:
                if name in fields and name not in refused:
                    setattr(row, name, body[name])
            faults += map(read_only, refused)
            body = {name: value for name, value in body.items() if name not in refused}
        if self.set_guards:
            self._note_set(call, body)
        faults += self.faulty(call, body)
        if faults:
            raise Problem.of(faults, "invalid_body")
        return row

    def stamp(self, call: Call, row: Any) -> None:
        """Sets the owner and department of a new row to those of the caller."""
        row.owner_id, row.department = call.principal.id, call.principal.department

    def derive(self, call: Call, row: Any) -> Iterable[str] | None:
        """Sets columns that follow from the body, for rules about `create`. Returns the columns that it cannot compute.

        The references in the body are not checked yet; `create` refuses an invalid one after the decision. The row is
        allowed only if the rules allow it for every value of an unknown column. The method changes only the row, as
        questions about rows call it too.
        """
        return None

    # Checks of values

    def permitted(self, call: Call, body: Values) -> dict[str, Any]:
        """Returns the changes in a body, after refusing fields that the caller may not set.

        A read-only field may have its stored value, unless the caller may not see the field: the answer would reveal
        the value.
        """
        current = dict(call.row.__data__)
        self.attach(call.tenant_id, [current])
        shown = self.representation.encode(current, self.representation.names)
        hidden = self.hidden(call, current, [*call.read_only, *body])
        if self._of_entries:
            remove(shown, [name for name in hidden if name in self._of_entries])
        faults = [read_only(name) for name, value in call.read_only.items()
                  if name in hidden or value != shown.get(name)]
        changes = dict(body)
        if managed := [name for name in self.managing if name in body]:
            unchanged = [name for name in managed if name not in hidden and body[name] == shown.get(name)]
            refused = self._refused(call, [name for name in managed if name not in unchanged], current)
            faults += map(read_only, refused)
            for name in (*unchanged, *refused):
                del changes[name]
        if self.set_guards:
            self.require_settable(call, changes, current, hidden)
        faults += self.faulty(call, {name: value for name, value in changes.items()
                                     if name in hidden or value != current.get(name)})
        if faults:
            raise Problem.of(faults, "invalid_body")
        return changes

    def require_settable(self, call: Call, changes: Values, current: Values, hidden: Sequence[str]) -> None:
        """Raises `Problem` if changes set a field that the caller may not set in the row as it is.

        The changed row is checked after the change. A hidden field may not even have its stored value: the answer would
        reveal the value.
        """
        guarded = [name for name in self.set_guards
                   if name in changes and (name in hidden or changes[name] != current.get(name))]
        if not guarded:
            return
        needed, updates = self._needed_to_set(guarded), call.endpoint.permission == self._update
        if call.access.policy.followers.issuperset(needed):
            if updates and call.write.decision is not None:
                call.write.decision["asked"] = (*call.write.decision["asked"], *needed)
            return  # the permission of the endpoint decides, of the same rows
        call.write.setting = Setting(needed, stands=not updates)
        setting.note(call)
        setting.require(call, current)

    def _note_set(self, call: Call, body: Values) -> None:
        """Notes the guarded fields that a new row gets from the body, other than their default."""
        followers = call.access.policy.followers
        guarded = [name for name, permission in self.set_guards.items()
                   if name in body and permission not in followers and body[name] != self.first_value(name)]
        if guarded:
            call.write.setting = Setting(self._needed_to_set(guarded), stands=True)

    def _needed_to_set(self, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Returns the permissions to set these fields of `set_guarded`, each with its fields."""
        return {permission: tuple(name for name in names if self.set_guards[name] == permission)
                for permission in dict.fromkeys(self.set_guards[name] for name in names)}

    def _refused(self, call: Call, managed: Sequence[str], row: Values) -> list[str]:
        """Returns the managed fields among these that the caller may not set."""
        needed = dict.fromkeys(self.managing[name] for name in managed)
        refused = [permission for permission in needed
                   if not call.access.is_certain(permission, row, call.write.unknown)]
        return [name for name in managed if self.managing[name] in refused]

    def first_value(self, name: str) -> Any:
        """Returns the value of a field in a new row, if a body leaves it out."""
        column = self.model._meta.fields.get(name)
        default = None if column is None else column.default
        return default() if callable(default) else default

    def faulty(self, call: Call, values: Values) -> list[Fault]:
        """Returns the faults of new values that have the right form.

        By default these are references to rows that do not exist, or that the caller may not view; both get the same
        answer.
        """
        return self.lost(call, self.references, values)

    def lost(self, call: Call, references: Mapping[str, Reference], values: Values) -> list[Fault]:
        """Returns a fault for each reference to a row that does not exist, or that the caller may not view."""
        return [dangling(f"/{name}") for name, field in references.items() if values.get(name) is not None
                and not call.services.collections[field.collection].sees(call, values[name])]


def references_of(schema: Schema) -> dict[str, Reference]:
    """Returns the fields of a schema that refer to rows of collections, by name."""
    return {name: field for name, field in schema.fields.items() if isinstance(field, Reference)}

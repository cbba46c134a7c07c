"""Actions: named transitions of a row, such as publishing an article, and their conflicts."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from marshmallow import Schema

from ..protocol.messages import Message, any_of
from ..protocol.problems import Fault, Problem
from ..schemas.fields import StrictSchema

Method = TypeVar("Method", bound=Callable[..., Any])


class Conflict(Problem):
    """Refusal because of the state of a row (409). For the code of a collection."""

    def __init__(self, detail: str, code: str = "conflict", faults: Sequence[Fault] = ()) -> None:
        super().__init__(code, detail, faults)


@dataclass(frozen=True)
class Action:
    """`POST /api/{collection}/{id}/{name}`: calls `method`, then moves `state` along `transitions`.

    transitions  state → next state; empty: the action is possible in any state, and does not change it
    method       method of the collection: takes the row, or the call and the row (`takes_call`)
    body         schema of the request body; without fields: no body
    """

    name: str
    transitions: Mapping[Any, Any]
    state: str
    method: Callable[..., None]
    body: Schema = field(default_factory=StrictSchema)
    takes_call: bool = False

    @property
    def body_required(self) -> bool:
        """True if the action has a required field, so that a request needs a body."""
        return any(field.required for field in self.body.load_fields.values())

    def starts_from(self, row: Any) -> bool:
        """True if the action is possible in the state of the row (column name → value)."""
        return not self.transitions or row[self.state] in self.transitions

    def perform(self, collection: Any, call: Any, row: Any) -> None:
        """Runs the action on a row whose state allows it, without saving the row."""
        old_state = getattr(row, self.state) if self.transitions else None
        self.method(collection, *((call, row) if self.takes_call else (row,)))
        if self.transitions:
            setattr(row, self.state, self.transitions[old_state])

    @property
    def starts(self) -> Message:
        """Sentence about the states in which the action is possible."""
        states = [str(state) for state in self.transitions]
        return Message("{name} must be {wanted}", name=self.state, wanted=any_of(states))

    @property
    def about(self) -> str:
        """Summary of the action: the docstring of its method."""
        return (self.method.__doc__ or "").strip()

    def conflict(self, state: Any, *, hidden: bool = False) -> Problem:
        """Returns the refusal for a row in another state; `hidden`: the caller may not see the state."""
        meta: dict[str, Any] | None = {"from": state, "allowed_from": list(self.transitions)}
        detail = Message("{action} is not possible from {state}.", action=self.name, state=state)
        if hidden:
            meta, detail = None, Message("{action} is not possible now.", action=self.name)
        fault = Fault("invalid_transition", detail, pointer=f"/{self.state}", meta=meta)
        return Problem.of([fault], "invalid_transition")


def action(name: str, *, transitions: Mapping[Any, Any] | None = None, state: str = "status",
           body: Schema | type[Schema] | None = None) -> Callable[[Method], Method]:
    """Declares a method of a collection as an action, permitted by `<resource>.<name>`.

    The method takes the row, or the call and the row: `(self, row)` or `(self, call, row)`. It gets the row in its old
    state, and may set columns, or raise `Conflict` or another `Problem`. Then the row gets the next state of
    `transitions`, and is saved. Without `transitions` its state does not change. `call.body` is the body, loaded by
    the schema `body`. Raises TypeError for a method with other parameters, and for an invalid declaration.
    """
    steps: object = transitions or {}
    schema: object = body() if isinstance(body, type) else body or StrictSchema()
    if not isinstance(steps, Mapping):
        raise TypeError(f"the transitions of the action {name!r} say which state follows which: {{'open': 'done'}}")
    if not isinstance(schema, Schema):
        raise TypeError(f"the body of the action {name!r} is a schema, not {type(schema).__name__}")
    moves, body_schema = steps, schema

    def mark(method: Method) -> Method:
        method.action = Action(  # type: ignore[attr-defined]
            name, moves, state, method, body_schema, _takes_call(name, method))
        return method

    return mark


def _takes_call(name: str, method: Callable[..., Any]) -> bool:
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(method).parameters.values()
    if any(parameter.kind not in positional for parameter in parameters) or len(parameters) not in (2, 3):
        raise TypeError(f"the method of the action {name!r} takes (self, row) or (self, call, row), "
                        f"not {inspect.signature(method)}")
    return len(parameters) == 3


def transition(name: str, about: str, transitions: Mapping[Any, Any], *,
               state: str = "status") -> Callable[[Any, Any], None]:
    """Declares an action that only changes the state of the row. `about` is its description."""
    def move(collection: Any, row: Any) -> None:
        pass

    move.__doc__ = about
    return action(name, transitions=transitions, state=state)(move)

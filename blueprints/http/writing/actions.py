"""Actions: named steps of a row's life, such as publishing an article, and the conflicts that stop them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from ..protocol.messages import Message
from ..protocol.problems import Fault, Problem

Method = TypeVar("Method", bound=Callable[..., Any])


class Conflict(Problem):
    """The state of a row does not allow this. Raise it in a collection's own code: 409."""

    def __init__(self, detail: str, code: str = "conflict", faults: Sequence[Fault] = ()) -> None:
        super().__init__(code, detail, faults)


@dataclass(frozen=True)
class Action:
    """`POST /api/{collection}/{id}/{name}`: calls `method`, then moves `state` along `transitions`."""

    name: str
    transitions: Mapping[Any, Any]
    state: str
    method: Callable[..., None]

    @property
    def about(self) -> str:
        """What it does, in one sentence: the docstring of its method."""
        return (self.method.__doc__ or "").strip()

    def conflict(self, state: Any, *, hidden: bool = False) -> Problem:
        """The refusal of a row whose state is none that it starts from; `hidden`: the caller may not see the state."""
        meta: dict[str, Any] | None = {"from": state, "allowed_from": list(self.transitions)}
        detail = Message("{action} is not possible from {state}.", action=self.name, state=state)
        if hidden:
            meta, detail = None, Message("{action} is not possible now.", action=self.name)
        fault = Fault("invalid_transition", detail, pointer=f"/{self.state}", meta=meta)
        return Problem.of([fault], "invalid_transition")


def action(name: str, *, transitions: Mapping[Any, Any], state: str = "status") -> Callable[[Method], Method]:
    """Declare a method of a collection as an action, permitted by `<resource>.<name>`.

    The method gets the row in the state that it leaves, and may set more, or raise `Conflict`; then the row moves
    and is saved.
    """

    def mark(method: Method) -> Method:
        method.action = Action(name, transitions, state, method)  # type: ignore[attr-defined]
        return method

    return mark


def transition(name: str, about: str, transitions: Mapping[Any, Any], *,
               state: str = "status") -> Callable[[Any, Any], None]:
    """Declare an action that does nothing but move the row. `about` is the sentence that describes it."""
    def move(collection: Any, row: Any) -> None:
        pass

    move.__doc__ = about
    return action(name, transitions=transitions, state=state)(move)

"""Strict marshmallow fields for all schemas.

marshmallow is lenient by default: "1" is an Integer, "yes" a Boolean, and a String may hold NUL. These fields accept
exactly their JSON type. Nothing here knows a collection.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, ClassVar

from marshmallow import RAISE, Schema, ValidationError, fields, validate

from models.base import parse_time, read_id, with_read_id
from models.records.mailboxes import LONGEST, mailbox, normalize

from ..protocol import language
from ..protocol.json_body import unstorable
from ..protocol.messages import Message
from .visible import is_visible

Check = Callable[[Any], Any]

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
# The characters of Unicode's White_Space that stand within a line (category Zs).
_BLANKS = re.compile("[ \xa0\u1680\u2000-\u200a\u202f\u205f\u3000]{2,}")
_LIKE_BLANKS = re.compile("[\xa0\u1680\u2000-\u200a\u202f\u205f]")
_EMAIL = re.compile(r"\A[^@\s]{1,64}@[^@\s]+\.[^@\s.]+\Z")


def length(minimum: int, maximum: int) -> validate.Length:
    """Returns a validator for `minimum` to `maximum` characters or entries."""
    if minimum:
        return validate.Length(minimum, maximum, error=Message("Length must be between {min} and {max}."))
    return validate.Length(max=maximum, error=Message("Longer than maximum length {max}."))


def one_of(choices: Sequence[str]) -> validate.OneOf:
    """Returns a validator for one of these words."""
    return validate.OneOf(choices, error=Message("Must be one of: {choices}."))


def values_of(declared: fields.Field[Any] | None) -> tuple[str, ...]:
    """Returns the declared values of a text field; empty if there are none."""
    checks = () if declared is None else declared.validators
    choices = next((check.choices for check in checks if isinstance(check, validate.OneOf)), ())
    return tuple(sorted(choices)) if all(isinstance(value, str) for value in choices) else ()


def _checks(declared: dict[str, Any], *own: Check) -> list[Check]:
    """Returns the field's own checks, followed by those in `validate`: one callable or several, as in marshmallow.

    A check that returns False refuses the value, as in marshmallow 3. Newer versions would accept it.
    """
    further = declared.pop("validate", None) or ()
    return [*own, *map(_refusing, [further] if callable(further) else further)]


def _refusing(check: Check) -> Check:
    if isinstance(check, validate.Validator):
        return check  # raises by itself, and the documentation reads its bounds

    @wraps(check, updated=())
    def refusing(value: Any) -> None:
        if check(value) is False:
            raise ValidationError("Invalid value.")

    return refusing


def _one_blank(several: re.Match[str]) -> str:
    """Replaces several blanks by one: the ordinary one, unless all are the same other blank."""
    kinds = set(several[0])
    return kinds.pop() if len(kinds) == 1 else " "


class StrictSchema(Schema):
    """A schema that refuses unknown fields and keeps its fields in their order."""

    class Meta:
        unknown = RAISE


class Text(fields.String):
    """Text of several lines, `minimum` to `maximum` characters."""

    def __init__(self, *, maximum: int, minimum: int = 0, **kwargs: Any) -> None:
        super().__init__(validate=_checks(kwargs, length(minimum, maximum)), **kwargs)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        text: str = super()._deserialize(value, attr, data, **kwargs)
        if (reason := unstorable(text)) is not None:
            raise ValidationError(reason)
        return text


class Line(Text):
    """Text of one line, 1 to 200 characters (`minimum`, `maximum`): no control character, not only blanks."""

    def __init__(self, *, maximum: int = 200, minimum: int = 1, **kwargs: Any) -> None:
        super().__init__(maximum=maximum, minimum=minimum, **kwargs)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        text = super()._deserialize(value, attr, data, **kwargs)
        if _CONTROL.search(text):
            raise ValidationError("Control characters and line breaks are not allowed.")
        if text and text.isspace():
            raise ValidationError("Must not be blank.")
        return text


class Title(Line):
    """A `Line` without blanks at its ends, and with single blanks inside."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        text = super()._deserialize(value, attr, data, **kwargs).strip()
        return text if text.isascii() and "  " not in text else _BLANKS.sub(_one_blank, text)


class Name(Title):
    """The name of a person or an object: a `Title` without invisible characters."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        text = super()._deserialize(value, attr, data, **kwargs)
        if not text.isascii():
            # A reader cannot distinguish these from the ordinary blank; the ideographic blank is not among them.
            text = _LIKE_BLANKS.sub(" ", text)
        if not is_visible(text):
            raise ValidationError("Invisible characters and marks of direction are not allowed in a name.")
        return text


class Slug(Line):
    """A name for URLs: lower-case letters, digits and single hyphens."""

    def __init__(self, **kwargs: Any) -> None:
        check = validate.Regexp(r"\A[a-z0-9]+(?:-[a-z0-9]+)*\Z", error=Message("Use a-z, 0-9 and single hyphens."))
        super().__init__(maximum=100, validate=_checks(kwargs, check), **kwargs)


class Email(Line):
    """An e-mail address, in the one spelling of its mailbox (RFC 5321, RFC 6531, UTS 46)."""

    def __init__(self, **kwargs: Any) -> None:
        check = validate.Regexp(_EMAIL, error=Message("This is not an e-mail address."))
        super().__init__(maximum=LONGEST, validate=_checks(kwargs, check), **kwargs)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        text = super()._deserialize(value, attr, data, **kwargs)
        if not 0 < len(text) <= LONGEST:
            return text  # it is refused for its length
        address = normalize(text)
        # An address with an invisible character would look like another one.
        if address is None or not is_visible(address):
            raise ValidationError("This is not an e-mail address.")
        return address


class Language(Line):
    """A language tag such as `en`, `es-419` or `zh-Hant-TW` (RFC 5646), in its usual case."""

    def __init__(self, **kwargs: Any) -> None:
        check = validate.Regexp(rf"\A(?:{language.TAG})\Z", error=Message("Use a tag such as en or zh-Hant-TW."))
        # The longest tag without extensions (RFC 5646 section 4.4.1).
        super().__init__(maximum=35, validate=_checks(kwargs, check), **kwargs)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        return language.formatted(super()._deserialize(value, attr, data, **kwargs))


class Currency(Line):
    """An ISO 4217 code: three capital letters."""

    def __init__(self, **kwargs: Any) -> None:
        check = validate.Regexp(r"\A[A-Z]{3}\Z", error=Message("Use an ISO 4217 code such as EUR."))
        super().__init__(maximum=3, validate=_checks(kwargs, check), **kwargs)


class Many(fields.List[Any]):
    """A list of `minimum` to `maximum` entries. A longer one is refused before its entries are validated."""

    def __init__(self, inner: fields.Field[Any], *, maximum: int, minimum: int = 0, **kwargs: Any) -> None:
        self._length = length(minimum, maximum)
        super().__init__(inner, validate=_checks(kwargs, self._length), **kwargs)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> list[Any]:
        if isinstance(value, list):
            self._length(value)
        return super()._deserialize(value, attr, data, **kwargs)


class Int(fields.Integer):
    """A whole JSON number within `minimum` and `maximum`, 64-bit at most; never "1", 1.0 or true."""

    def __init__(self, *, minimum: int = -(2**63), maximum: int = 2**63 - 1, **kwargs: Any) -> None:
        within = validate.Range(minimum, maximum, error=Message(
            "Must be greater than or equal to {min} and less than or equal to {max}."))
        super().__init__(strict=True, validate=_checks(kwargs, within), **kwargs)

    def _validated(self, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.make_error("invalid", input=value)
        return value


class Bool(fields.Boolean):
    """true or false, never "yes" or 1."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(validate=_checks(kwargs), **kwargs)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> bool:
        if not isinstance(value, bool):
            raise self.make_error("invalid", input=value)
        return value


class Id(fields.String):
    """A UUID, loaded in lower case (RFC 9562)."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(validate=_checks(kwargs), **kwargs)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        id = read_id(super()._deserialize(value, attr, data, **kwargs))
        if id is None:
            raise ValidationError("This is not an id.")
        return id


class IdText(Text):
    """Text that may be an id, or `user:<id>`; the id is loaded in lower case."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        return with_read_id(super()._deserialize(value, attr, data, **kwargs))


class Time(fields.String):
    """A time in RFC 3339 with an offset; stored and answered in UTC with microseconds."""

    _up: ClassVar[bool] = False  # True: fractions of a microsecond are rounded up

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(validate=_checks(kwargs), **kwargs)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        text: str = super()._deserialize(value, attr, data, **kwargs)
        try:
            return parse_time(text, up=self._up)
        except ValueError:
            raise ValidationError("This is not an RFC 3339 time with an offset.") from None


class NextTime(Time):
    """Bound for `gte` and `lt`: a time between two microseconds is rounded up."""

    _up = True


class Reference(Id):
    """The id of a row in another collection. The row must exist, and the caller must be able to view it.

    `collection` is the plural name, such as `categories`; a row that fails is an `invalid_reference`.
    `expand` is the name by which a client requests the row itself, such as `category`. Raises TypeError for names that
    are not texts.
    """

    def __init__(self, collection: str, *, expand: str = "", **kwargs: Any) -> None:
        names: tuple[object, object] = collection, expand
        if not isinstance(names[0], str):
            raise TypeError(f'a Reference names a collection as in Reference("articles"), and not by {names[0]!r}')
        if not isinstance(names[1], str):
            raise TypeError(f'a Reference is expanded by a name, as in Reference("articles", expand="article"), and '
                            f"not by {names[1]!r}")
        super().__init__(**kwargs)
        self.collection = collection
        self.expand = expand


def with_read_ids(declared: fields.Field[Any] | None, value: Any) -> Any:
    """Returns a value that is not loaded, such as a read-only one, with ids and addresses as the field loads them."""
    match declared, value:
        case Id(), str():
            return read_id(value) or value
        case Email(), str():
            return mailbox(value)
        case fields.List(inner=inner), list():
            return [with_read_ids(inner, entry) for entry in value]
        case fields.Nested(schema=Schema(fields=declared_fields)), dict():
            return {name: with_read_ids(declared_fields[name], inner) if name in declared_fields else inner
                    for name, inner in value.items()}
    return value

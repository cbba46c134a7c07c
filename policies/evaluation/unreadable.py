"""What rules say to a caller whose address cannot be read: an allow does not match by an address, and a deny does.

Elsewhere a comparison with a missing value does not hold (decision 26): a row without an owner is ordinary data. An
address is missing only where a proxy writes what is none, and the client behind it may sit in any network.
"""

from __future__ import annotations

from ..syntax.expression import (
    AllOf,
    AnyOf,
    Attribute,
    Comparison,
    Expression,
    Negation,
    PluginCall,
    atoms,
    attributes,
    conjunction,
    disjunction,
    negation,
)

ADDRESS = Attribute("env", "ip")
READABLE = Comparison("==", ADDRESS, ADDRESS)
_EFFECT = Attribute("rule", "eft")


def cautious(matcher: Expression, closing: str = "deny") -> Expression:
    """The matcher with the unreadable address spelled out.

    An atom that reads the address also holds if there is none, in lines of the effect `closing`: `deny`, and below a
    negation `allow`. In the others it does not, also where it calls a function of a plugin.
    """
    match matcher:
        case AllOf(parts):
            return conjunction(cautious(part, closing) for part in parts)
        case AnyOf(parts):
            return disjunction(cautious(part, closing) for part in parts)
        case Negation(part):
            return negation(cautious(part, "allow" if closing == "deny" else "deny"))
    if not any(ADDRESS in attributes(atom) for atom in atoms(matcher)):
        return matcher
    closed = conjunction((Comparison("==", _EFFECT, closing), negation(READABLE)))
    return disjunction((conjunction((READABLE, matcher)) if isinstance(matcher, PluginCall) else matcher, closed))

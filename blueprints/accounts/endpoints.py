"""Endpoints of accounts, and the conditions that rules may use once `model.conf` has their lines."""

from gatepost import Condition

from .second_factor.endpoints import routes as second_factor
from .single_sign_on.endpoints import calls_of_providers
from .single_sign_on.endpoints import routes as identities
from .single_sign_on.resource import routes as protected_resource

# Programs with a token have no login. Without `kind`, a condition refuses them.
with_mfa = Condition("with_mfa", "r.sub.mfa == 1 || r.sub.kind == 'service'")
fresh_login = Condition("fresh_login", "r.sub.auth_age < 600 || r.sub.kind == 'service'")

__all__ = ["calls_of_providers", "fresh_login", "identities", "protected_resource", "second_factor", "with_mfa"]

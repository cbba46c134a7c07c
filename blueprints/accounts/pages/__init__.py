"""Pages of the console: the code of a login (`login_code`), one's own `second_factor`, and `second_factor_of_user`;
logins with a provider (`provider_login`), and the `identities` of an account."""

from .identities import routes as identity_pages
from .login_code import routes as login_code_pages
from .provider_login import routes as provider_login_pages
from .second_factor import routes as second_factor_pages
from .second_factor_of_user import routes as second_factor_of_user_pages

__all__ = ["identity_pages", "login_code_pages", "provider_login_pages", "second_factor_of_user_pages",
           "second_factor_pages"]

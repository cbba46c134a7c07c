"""Pages of accounts on the console."""

from .second_factor.pages.login import routes as login_pages
from .second_factor.pages.of_user import routes as second_factor_of_user_pages
from .second_factor.pages.own import routes as second_factor_pages

__all__ = ["login_pages", "second_factor_of_user_pages", "second_factor_pages"]

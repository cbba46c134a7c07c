"""The console's download of everything about the caller."""

from dataclasses import replace

from gatepost import Routes
from gatepost.http.credentials.console_sessions import member

from ..console.pages import refused, served
from . import endpoints as api

pages = Routes("console_export", "One's own data.", when=served)
pages.endpoints.append(replace(
    api.routes.endpoints[0], path="/console/account/export", identify=member, refused=refused, documented=False,
    operation=""))

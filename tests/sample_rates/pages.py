"""The console page: it calls the plugin's endpoint for the caller."""

from __future__ import annotations

from flask import Response

from blueprints.console.pages import Page, enter, page, served, showing
from gatepost import Call, Message, Routes, ask

show = showing(__package__)
routes = Routes("rates_pages", "Exchange rates, as a page.", when=served)
enter(Page("/console/rates", Message("Rates"), "stats.view"))


@routes.get("/console/rates", **page("stats.view"))
def rates(call: Call) -> Response:
    """Show the rates."""
    return show(call, "rates.html", rates=ask(call, "rates_listed")["rates"])

"""A plugin without rows: exchange rates from a background task, a health check, and a console page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from marshmallow import fields

from gatepost import BackgroundTask, Call, CheckResult, Feature, Installation, Routes, Services, State, StrictSchema

routes = Routes("rates", "Exchange rates.")


class Rates:
    """The rates of one process, by currency."""

    def __init__(self) -> None:
        self.known: dict[str, float] = {}

    def fetch(self) -> None:
        self.known = {"CHF": 0.93, "<USD>": 1.08}


def tasks(services: Services) -> Iterator[BackgroundTask]:
    yield BackgroundTask("fetching rates", 3600, services.feature("rates").fetch, at_once=True)


def check(installation: Installation) -> CheckResult:
    return CheckResult(State.OK, f"rates are asked for by {installation.settings.default_tenant}")


class RatesSchema(StrictSchema):
    """The value of one euro by currency."""

    rates = fields.Dict(keys=fields.String(), values=fields.Float(), required=True)


@routes.get("/api/rates", permission="stats.view", answer=RatesSchema())
def listed(call: Call) -> dict[str, Any]:
    """List the rates."""
    return {"rates": call.services.feature("rates").known}


feature = Feature(name="rates", make=lambda services: Rates(), background=tasks, checks={"rates": check},
                  extends={"console": "sample_rates.pages"})

"""Metrics of a process for Prometheus: requests, stages, decisions, waits for the database, policy, limits.

`health/gauges` has the metrics of the instance.

Labels come from declarations (route templates, methods, stages, results), never from the input of a client, so their
number is bounded. Several processes write to files in one folder, and the process that answers adds them up.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from flask import Request, Response, g

from ..protocol import trace

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

    from policies.loading.watch import Watcher
    from settings import Settings

    from .limits import Limits
    from .logs import Answered

METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
REFUSAL_CODES = frozenset(("forbidden", "insufficient_scope", "unauthenticated"))
SAMPLE = 64  # one request in so many measures its stages
BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
WAITS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
STAGES = (0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10.0)


def are_served(settings: Settings) -> bool:
    """True if `/metrics` is served: it has a token, and the feature `public` is not left out."""
    return bool(settings.metrics_token) and "public" not in settings.without


def share_between_processes(folder: Path) -> None:
    """Lets forked processes add up their metrics in `folder`, which is emptied. Call it before all else."""
    folder.mkdir(mode=0o700, exist_ok=True)
    for file in folder.glob("*.db"):
        file.unlink()
    # prometheus-client reads the folder only from there.
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(folder)


class Instance(Protocol):
    """Collector of prometheus-client."""

    def collect(self) -> Iterator[Metric]: ...


class Metrics:
    """Metrics of one app with its policy and limits; `instance` collects those of the instance.

    It is an `Observer` of the database. Other modules count in `unreadable_addresses` and `unknown_facts`.
    """

    def __init__(self, policy: Watcher, limits: Limits, instance: Instance) -> None:
        # Imported here: a start without metrics is faster, and `share_between_processes` must run first.
        from prometheus_client import CollectorRegistry, Counter, Histogram

        self._state, self._instance = _State(policy, limits), instance
        self._registry = CollectorRegistry()
        self._requests = Counter("gatepost_requests", "Requests answered.", ("method", "route", "status"),
                                 registry=self._registry)
        self._seconds = Histogram("gatepost_request_seconds", "Time until an answer was ready.", ("method", "route"),
                                  buckets=BUCKETS, registry=self._registry)
        self._stages = Histogram("gatepost_stage_seconds",
                                 f"Time of each stage, of one request in {SAMPLE}, or of all with Server-Timing.",
                                 ("stage",), buckets=STAGES, registry=self._registry)
        decisions = Counter("gatepost_decisions", "Requests by what the policy said to them.", ("result",),
                            registry=self._registry)
        self._allowed, self._refused = decisions.labels("allowed"), decisions.labels("refused")
        self._waits = Histogram("gatepost_database_wait_seconds",
                                "Waits: for the turn to write (SQLite), for a connection (Postgres).",
                                buckets=WAITS, registry=self._registry)
        self._refused_waits = Counter("gatepost_database_refusals", "Waits that were refused, or lasted too long.",
                                      registry=self._registry)
        self._copies = Histogram("gatepost_checkpoint_seconds", "Time of copies of the log into the file (SQLite).",
                                 buckets=WAITS, registry=self._registry)
        self._held_back = Counter("gatepost_checkpoints_held_back", "Copies of the log that a long read has held back.",
                                  registry=self._registry)
        self.unreadable_addresses = Counter("gatepost_unreadable_addresses", "Requests from an unreadable address.",
                                            registry=self._registry)
        self.unknown_facts = Counter("gatepost_unknown_facts", "Facts that could not be recorded with a decision.",
                                     registry=self._registry)
        self._children_by_labels: dict[tuple[str, str, int], tuple[Any, Any]] = {}
        self._numbers = count()

    def samples(self) -> bool:
        """True if the stages of the next request are to be measured."""
        return next(self._numbers) % SAMPLE == 0

    def count(self, request: Request, response: Response) -> Response:
        """Counts an answer. The answer to a head alone (100) counts with that to the whole request."""
        if response.status_code == 100:
            return response
        route = "none" if request.url_rule is None else request.url_rule.rule
        method = request.method if request.method in METHODS else "other"
        requests, seconds = self._children(method, route, response.status_code)
        requests.inc()
        seconds.observe(trace.elapsed(request.environ))
        call: Answered | None = g.get("call")
        if call is None:
            return response
        if call.endpoint.permission is not None:
            if response.status_code < 400:
                self._allowed.inc()
            elif g.get("problem") in REFUSAL_CODES:
                self._refused.inc()
        for stage, duration in (call.timings or {}).items():
            self._stages.labels(stage).observe(duration)
        return response

    def waited(self, seconds: float) -> None:
        self._waits.observe(seconds)

    def refused(self) -> None:
        self._refused_waits.inc()

    def copied(self, seconds: float, *, held_back: bool) -> None:
        self._copies.observe(seconds)
        if held_back:
            self._held_back.inc()

    def _children(self, method: str, route: str, status: int) -> tuple[Any, Any]:
        key = method, route, status
        children = self._children_by_labels.get(key)
        if children is None:
            children = self._requests.labels(method, route, str(status)), self._seconds.labels(method, route)
            self._children_by_labels[key] = children
        return children

    def text(self) -> tuple[bytes, str]:
        """Returns all metrics in Prometheus' text format, and the media type."""
        from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
        from prometheus_client.multiprocess import MultiProcessCollector

        registry = self._registry
        if folder := os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
            registry = CollectorRegistry()
            MultiProcessCollector(registry, folder)
        text = generate_latest(registry) + generate_latest(self._state) + generate_latest(self._instance)
        return text, CONTENT_TYPE_LATEST


class _State:
    """State of this process, read when Prometheus collects."""

    def __init__(self, policy: Watcher, limits: Limits) -> None:
        self._policy, self._limits = policy, limits

    def collect(self) -> Iterator[Metric]:
        from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily

        policy, limits = self._policy, self._limits
        version = GaugeMetricFamily("gatepost_policy_info", "The version of the policy in force.", labels=("version",))
        version.add_metric((policy.current.version,), 1)
        yield version
        yield GaugeMetricFamily("gatepost_policy_broken", "1 while the policy files are broken and not in force.",
                                value=int(policy.status.error is not None))
        yield CounterMetricFamily("gatepost_policy_reload_failures", "Changes of the policy that were not taken over.",
                                  value=policy.failures)
        yield GaugeMetricFamily("gatepost_policy_look_age_seconds", "Time since the last completed look at the files.",
                                value=policy.age)
        yield GaugeMetricFamily("gatepost_limits_degraded", "1 while processes count limits each for itself.",
                                value=int(limits.state != "ok"))

"""The app on one screen: the framework, and the blueprints that `blueprints/__init__.py` lists."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from flask import Flask
from werkzeug.middleware.proxy_fix import ProxyFix

import gatepost_start  # noqa: F401 - checks the following imports, so it comes first
from gatepost.assembly import assemble, load_registry
from gatepost.collections.plugins.contents import Plugin
from gatepost.collections.routes import answer_options, refuse_strays
from gatepost.http.operations import logs
from gatepost.http.operations.garbage import collection_paused
from gatepost.http.pipeline import browsers, compression, errors, negotiation, uri
from gatepost.http.pipeline.application import Application
from gatepost.http.protocol import versions
from gatepost.http.protocol.answer_headers import AnswerHeaders


@collection_paused()
def create_app(config: Mapping[str, Any] | None = None, collections: Iterable[Plugin] = (), *,
               reads_copies: bool = False) -> Flask:
    """Creates the WSGI application of one instance.

    config        overrides settings by name
    collections   further collections, routes, or modules of them to serve, besides installed plugins
    reads_copies  open a read-only database for reading; for a command that serves no requests

    Raises `SettingError`, `KeyFileError`, `PluginError`, `FeatureError`, `PolicyError`, `UnderWay` and `NotReady`, each
    with a sentence for the operator.
    """
    registry, live = load_registry(config, tuple(collections))
    settings = live.current
    app = Application("gatepost", static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = settings.body_limit
    app.mount = settings.mount
    services, departures = assemble(app, registry, live, reads_copies=reads_copies)

    for blueprint in services.registry.blueprints:
        app.register_blueprint(blueprint)
    refuse_strays(app)
    answer_options(app)
    errors.install(app)

    logs.hide(services.registry.secret_paths)
    # Functions that get each request before its endpoint, and each response after it, in this order.
    app.arrivals = [services.addresses.look, errors.refuse_for_the_server, uri.refuse_unusable]
    app.departures = [browsers.telling(live), compression.compress, *departures,
                      logs.request_lines(live, services.registry.secret_paths),
                      *(() if services.metrics is None else (services.metrics.count,))]

    # WSGI middleware, the innermost first.
    negotiation.refuse_unknown_versions(app)
    app.wsgi_app = versions.VersionPrefix(app.wsgi_app)  # type: ignore[method-assign]
    app.wsgi_app = AnswerHeaders(  # type: ignore[method-assign]
        app.wsgi_app, (("API-Version", versions.CURRENT), *browsers.PROTECTION))
    if deep := settings.trusted_proxies:
        app.wsgi_app = ProxyFix(app.wsgi_app, x_for=deep, x_proto=deep, x_host=deep)  # type: ignore[method-assign]
    return app

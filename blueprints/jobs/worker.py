"""A process that only runs jobs: `gatepost worker`."""

from __future__ import annotations

import signal
from threading import Event
from types import FrameType

import click

from gatepost.commands.context import load_settings
from gatepost.commands.instance import AppFactory, app_for, open_instance
from gatepost.commands.plugins import refuse_clashes
from gatepost.commands.printing import echo
from gatepost.commands.server import reload_on_hangup
from gatepost.http.operations import logs
from gatepost.http.request.call import Services


@click.command()
@click.pass_obj
def worker(create_app: AppFactory) -> None:
    """Run jobs until SIGTERM or Ctrl-C, without serving requests.

    Serving processes run jobs as well, unless the setting run_jobs is off. A worker that stops returns its job to the
    queue; another process starts that job again.

    \b
    Example: gatepost worker
    """
    refuse_clashes()
    with open_instance() as instance:
        instance.tenant()
    logs.configure(load_settings().log_level)
    services: Services = app_for(create_app, serves=True, run_jobs=True).extensions["gatepost"]
    ended = Event()

    def end(number: int, frame: FrameType | None) -> None:
        ended.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    reload_on_hangup(services)
    try:
        services.ensure_running()
        echo("Running jobs (Ctrl-C stops)")
        # A signal that arrives just before the wait blocks does not interrupt it; its handler runs at the next pause.
        while not ended.wait(timeout=1):
            pass
    finally:
        services.stop()

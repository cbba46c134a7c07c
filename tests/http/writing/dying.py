"""`gatepost serve`, killed right after the commit of a request with an `Idempotency-Key`, before its answer is sent."""

from __future__ import annotations

import os
import signal
import threading

from gatepost.http.pipeline import idempotency
from gatepost_start.command import cli
from models.engine.database import Database

if __name__ == "__main__":
    remember, transact, done = idempotency.remember, Database.transact, threading.local()

    def remembering(call, response):
        remember(call, response)
        done.claimed = call.claim is not None

    def dying(database, work, **how):
        result = transact(database, work, **how)
        if getattr(done, "claimed", False):
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    idempotency.remember, Database.transact = remembering, dying
    cli()

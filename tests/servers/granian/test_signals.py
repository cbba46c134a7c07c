"""Signals of a process with threads, tested in a separate process."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.running import ROOT

pytestmark = pytest.mark.slow

PREPARED = """
import os, signal, threading
from gatepost.servers.granian import server as signals

def say(number, frame):
    with lock:
        os.write(1, signal.Signals(number).name.encode())
    handled.set()

lock, handled = threading.Lock(), threading.Event()
signals.hold()
for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(each, say)
"""


def printed(program: str) -> str:
    return subprocess.run([sys.executable, "-c", PREPARED + program], cwd=ROOT, check=True, text=True, timeout=60,
                          stdout=subprocess.PIPE).stdout


def test_a_signal_that_comes_before_the_main_thread_waits_is_handled_later():
    assert printed("""
os.kill(os.getpid(), signal.SIGTERM)
os.write(1, b"held ")
signals.handle()
handled.wait()
""") == "held SIGTERM"


def test_a_handler_waits_for_a_lock_that_the_first_thread_holds():
    assert printed("""
signals.handle()
with lock:
    os.kill(os.getpid(), signal.SIGHUP)
    os.write(1, b"locked ")
handled.wait()
""") == "locked SIGHUP"


def test_a_process_that_was_forked_handles_its_own():
    assert printed("""
signals.handle()
child = os.fork()
if not child:
    os.kill(os.getpid(), signal.SIGINT)
    os.write(1, b"child ")
    signals.handle()
    handled.wait()
    os._exit(0)
os.waitpid(child, 0)
""") == "child SIGINT"

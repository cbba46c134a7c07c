"""Caches are bounded: a client with always different requests does not make the process grow."""

from __future__ import annotations

import gc
import tracemalloc

import pytest

ROUNDS = 20
MEBIBYTE = 2**20


@pytest.mark.slow
def test_long_queries_are_not_remembered(client):
    def ask(number):
        answer = client.get("/api/articles", query_string={"fields": ",".join(["id"] * 5000), "limit": number})
        assert answer.status_code == 200

    ask(1)
    tracemalloc.start()
    try:
        for number in range(2, ROUNDS + 2):
            ask(number)
        gc.collect()
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # One such query takes 300 kB after parsing.
    assert kept < 3 * MEBIBYTE

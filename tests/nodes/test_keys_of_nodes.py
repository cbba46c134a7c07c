"""The output of `gatepost doctor --nodes` about each node's keys, and the nodes that a rotation waits for."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from blueprints.nodes.survey import survey
from gatepost.commands.keys import without_key
from gatepost.health.check_result import State
from gatepost.http.operations.program import described
from models.base import new_id, now
from models.engine.connect import open_database
from models.tables import node
from models.tables.instance import note_fingerprint
from models.tables.node import Node
from models.tables.policy_version import newest_version
from tests.databases import new_database

OLD, NEXT, OTHER = "a" * 32, "b" * 32, "c" * 32
BEHIND, LACKS = "gatepost keys rotate", "which another node has prepared"
FOREIGN = "copy secret.key from a node that has it"


@pytest.fixture(params=["sqlite", "postgres"])
def database(request):
    database = open_database(new_database(request.param, request), pool_size=2)
    yield database
    database.close_all()


def alive(database, newest, **nodes):
    """Nodes of a database that knows `newest`. Each node signs with the first key, and has prepared the second."""
    def write():
        note_fingerprint(newest)
        for folder, (signs, prepared) in nodes.items():
            node.report(Node(id=new_id(), host=socket.gethostname(), folder=f"/{folder}", pid=1,
                             version=described(), policy_version=newest_version() or "none",
                             key_fingerprint=signs, prepared_fingerprint=prepared, started_at=now()))

    database.transact(write)


@pytest.mark.parametrize(("newest", "one", "two", "said_of_one", "said_of_two"), [
    (OLD, (OLD, None), (OLD, None), None, None),
    (OLD, (OLD, NEXT), (OLD, None), None, LACKS),
    (OLD, (OLD, NEXT), (OLD, NEXT), None, None),
    (OLD, (OLD, NEXT), (OLD, OTHER), LACKS, LACKS),
    (NEXT, (NEXT, None), (OLD, NEXT), None, BEHIND),
    (NEXT, (NEXT, None), (OLD, None), None, FOREIGN),
    (NEXT, (NEXT, None), (OLD, OTHER), LACKS, FOREIGN),
    (NEXT, (NEXT, None), (NEXT, None), None, None),
    (NEXT, (NEXT, OTHER), (OLD, NEXT), None, BEHIND),
])
def test_each_step_of_a_rotation_is_told(database, newest, one, two, said_of_one, said_of_two):
    alive(database, newest, one=one, two=two)
    for found, said in zip(survey(database), (said_of_one, said_of_two), strict=True):
        assert found.state is (State.OK if said is None else State.DEGRADED), found
        assert [sentence in found.detail for sentence in (LACKS, BEHIND, FOREIGN)] == [
            said == sentence for sentence in (LACKS, BEHIND, FOREIGN)]


@pytest.mark.parametrize(("two", "key", "lacking"), [
    ((OLD, NEXT), NEXT, False),
    ((NEXT, None), NEXT, False),
    ((OLD, None), NEXT, True),
    ((OLD, OTHER), NEXT, True),
    ((OLD, None), None, True),
    ((OLD, NEXT), None, True),
])
def test_a_rotation_waits_for_other_nodes_and_not_for_its_own(database, two, key, lacking):
    alive(database, OLD, one=(OLD, None), two=two)
    assert without_key(database, Path("/one"), key) == ([f"{socket.gethostname()}:/two"] if lacking else [])

"""Requests with as many records as fit, by a client that may write: others are served meanwhile."""

from pathlib import Path

from barnabas.records.encode import encode_batch
from barnabas.wire.errors import ErrorCode
from tests.broker.raw_client import RawClient, now_ms
from tests.broker.verbs import BY_NAME, create_topic
from tests.hostile.measured_broker import LONGEST_TURN_S, MeasuredNode
from tests.hostile.test_decompression import request

_PARTITIONS = 32
_ATTEMPTS = 10
"""The same work costs more on a busy machine: the shortest attempt counts."""


def _dear() -> bytes:
    """Nearly a megabyte, not compressed, of headers that have neither a name nor a value: no other
    bytes take longer to check."""
    headers = tuple(("", None) for _ in range(300))
    return bytes(encode_batch([(now_ms(), None, None, headers) for _ in range(1_700)]))


def test_many_batches_of_one_request_are_stored_in_turns(tmp_path: Path) -> None:
    with MeasuredNode(tmp_path) as node, RawClient(node.host, node.port) as client:
        create_topic(client, "t", _PARTITIONS)
        records, took = _dear(), []
        while not took or (min(took) >= LONGEST_TURN_S and len(took) < _ATTEMPTS):
            node.turns.reset()
            answer = client.ask(request("t", list(range(_PARTITIONS)), records), BY_NAME)
            errors = {each.error_code for each in answer.responses[0].partition_responses}
            assert errors == {ErrorCode.NONE}
            client.ask(request("t", [0], records), BY_NAME)  # by now the turn has been noted
            took.append(node.turns.longest_s)
        assert min(took) < LONGEST_TURN_S
        node.stop()

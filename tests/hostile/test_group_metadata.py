"""Members that say very much of themselves, in many groups: it is bounded, and given back."""

from contextlib import ExitStack

from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from tests.broker.raw_client import RawClient
from tests.broker.verbs import find_coordinator
from tests.conftest import MakeBroker
from tests.hostile.onlooker import MB, Onlooker, resident
from tests.support.wait import wait_until

LIMIT = 32 * MB
GROUPS = 60
METADATA = 2 * MB
_WITHOUT_ID = 3
"""The last version in which a member joins without having been given an id first."""


def _join(group: str, size: int) -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id=group,
        session_timeout_ms=6_000,
        rebalance_timeout_ms=6_000,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol("range", b"x" * size)],
    )


def test_what_members_say_is_bounded_in_all_groups_together(make_broker: MakeBroker) -> None:
    broker = make_broker(group_metadata_max_bytes=str(LIMIT), group_initial_rebalance_delay_ms="0")
    with RawClient(broker.host, broker.port) as client:
        find_coordinator(client, "g")
        with Onlooker(broker) as onlooker, ExitStack() as stack:
            codes = []
            for number in range(GROUPS):
                one = stack.enter_context(RawClient(broker.host, broker.port))
                codes.append(one.ask(_join(f"group-{number}", METADATA), _WITHOUT_ID).error_code)
            assert set(codes) == {ErrorCode.NONE, ErrorCode.GROUP_MAX_SIZE_REACHED}
            assert codes.count(ErrorCode.NONE) * METADATA <= LIMIT
            honest = client.ask(_join("honest", 100), _WITHOUT_ID)
            assert honest.error_code == ErrorCode.NONE
            # Besides what is kept, a request and an answer are under way.
            assert onlooker.grown < LIMIT + 80 * MB

        def is_given_back() -> bool:
            return resident(broker.pid) < onlooker.before + LIMIT // 2

        wait_until(is_given_back, "memory of groups without members is not given back")
        assert client.ask(_join("later", METADATA), _WITHOUT_ID).error_code == ErrorCode.NONE

"""Topics for tests, made by asking the cluster as any client would."""

from collections.abc import Mapping

from barnabas.embedded.errors import ClusterError
from barnabas.embedded.settings import Setting, as_text
from barnabas.embedded.view import View
from barnabas.embedded.wait import wait_for, wait_until
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
    CreateTopicsRequest,
)

_REQUEST_TIMEOUT_MS = 5_000
_LATER = frozenset(
    {
        ErrorCode.NOT_CONTROLLER,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.INVALID_REPLICATION_FACTOR,
    }
)
"""What a cluster answers that is still finding itself, as after a kill."""


def create_topic(
    view: View,
    topic: str,
    partitions: int,
    replication_factor: int,
    configs: Mapping[str, Setting],
    timeout_s: float,
) -> None:
    """Create it and wait until each node knows a leader for each of its partitions."""
    named = [CreatableTopicConfig(name, as_text(value)) for name, value in configs.items()]
    asked = CreatableTopic(topic, partitions, replication_factor, configs=named)
    request = CreateTopicsRequest([asked], _REQUEST_TIMEOUT_MS)
    last = "no node answers"

    def answer() -> CreatableTopicResult | None:
        nonlocal last
        (result,) = view.ask_any(request, 2 * _REQUEST_TIMEOUT_MS / 1000).topics
        last = result.error_message or ErrorCode(result.error_code).name
        return None if result.error_code in _LATER else result

    result = wait_for(answer, timeout_s, lambda: f"topic {topic!r} was not created: {last}")
    if result.error_code:
        raise ClusterError(f"topic {topic!r} was not created: {last}")
    wait_until(
        lambda: view.is_led_everywhere(topic, result.num_partitions),
        timeout_s,
        lambda: f"topic {topic!r} has no leaders: {view.partitions(topic)}",
    )

"""A queue's core from what the application says."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from barnabas.client.connect.address import BootstrapServers
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.option_checks import check_at_least
from barnabas.client.connect.security_settings import SecurityValue, security_settings
from barnabas.client.consumer.consumer_options import IsolationName
from barnabas.client.delays.movers import DelayedMovers
from barnabas.client.producer.producer_core import ProducerCore
from barnabas.client.producer.record_producer import RecordProducer
from barnabas.client.results.job_results import JobResults
from barnabas.client.results.result_sends import ResultSends
from barnabas.client.rights.right import Right
from barnabas.client.share.dead_letters import DeadLetters
from barnabas.client.share.group_settings import ISOLATION, START
from barnabas.client.share.queue_core import QueueCore
from barnabas.client.share.queue_rights import worker_rights
from barnabas.client.share.retry_policy import RetryPolicy
from barnabas.client.share.settlement import MAX_DELAY_S
from barnabas.errors import InvalidArgument
from barnabas.formats import BYTES, Format, FormatName, decoder, encoder, format_of

StartName: TypeAlias = Literal["earliest", "latest"]


def topics_of(topics: str | Iterable[str]) -> list[str]:
    """Each name once."""
    names = [topics] if isinstance(topics, str) else list(dict.fromkeys(topics))
    if not names or not all(isinstance(each, str) for each in names):
        raise InvalidArgument(f"a queue reads a topic, or several of them, not {topics!r}")
    return names


def producer_of(
    bootstrap_servers: BootstrapServers,
    *,
    client_id: str,
    security: Mapping[str, SecurityValue] | None,
) -> ProducerCore:
    """What `put` and dead letters are sent with."""
    cluster = ClusterClient(
        bootstrap_servers, client_id=client_id, security=security_settings(security)
    )
    return ProducerCore(cluster, RecordProducer(cluster, linger_ms=0))


def core_of(
    bootstrap_servers: BootstrapServers,
    topics: Sequence[str],
    *,
    group: str,
    start: StartName | None,
    isolation: IsolationName | None,
    prefetch: int,
    max_lock_renewal_s: float,
    retry_delay_s: float | Sequence[float],
    dead_letters: str | None,
    max_deliveries: int,
    key_format: FormatName | Format,
    value_format: FormatName | Format,
    result_format: FormatName | Format,
    results_of: str | Iterable[str],
    close_timeout_s: float,
    client_id: str,
    security: Mapping[str, SecurityValue] | None,
    producer: ProducerCore,
) -> QueueCore:
    """Make it, or say which argument cannot be right."""
    if not group:
        raise InvalidArgument(f"group={group!r}: give the share group a name")
    settings = {
        START: _one_of(("earliest", "latest"), start, "start"),
        ISOLATION: _one_of(("read_committed", "read_uncommitted"), isolation, "isolation"),
    }
    check_at_least(1, prefetch=prefetch, max_deliveries=max_deliveries)
    check_at_least(0, max_lock_renewal_s=max_lock_renewal_s, close_timeout_s=close_timeout_s)
    if dead_letters in topics:
        raise InvalidArgument(f"dead_letters={dead_letters!r} is the topic that the queue reads")
    cluster = ClusterClient(
        bootstrap_servers, client_id=client_id, security=security_settings(security)
    )
    core = QueueCore(
        cluster,
        group,
        topics,
        prefetch=prefetch,
        settings={name: value for name, value in settings.items() if value is not None},
        max_lock_renewal_s=max_lock_renewal_s,
        retries=RetryPolicy(_pauses_of(retry_delay_s), max_deliveries),
        dead_letters=None if dead_letters is None else DeadLetters(dead_letters, producer, cluster),
        producer=producer,
        movers=DelayedMovers(bootstrap_servers, topics, client_id=client_id, security=security),
        results=JobResults(cluster, decoder(result_format, "result_format")),
        result_sends=ResultSends(
            cluster,
            producer,
            encoder(result_format, "result_format"),
            topics_of(results_of) if results_of else (),
        ),
        rights=_rights_of(topics, group, dead_letters) if security else (),
    )
    core.close_timeout_s = close_timeout_s
    core.decode_key = _decoder(key_format, "key_format")
    core.decode_value = _decoder(value_format, "value_format")
    return core


def _rights_of(topics: Sequence[str], group: str, dead_letters: str | None) -> list[Right]:
    return [
        right
        for each in topics
        for right in worker_rights(
            each, group, dead_letters=dead_letters, delays=False, results=False
        )
    ]


def _one_of(known: tuple[str, ...], name: str | None, argument: str) -> str | None:
    if name is not None and name not in known:
        raise InvalidArgument(f"{argument}={name!r} is unknown: it is one of {', '.join(known)}")
    return name


def _pauses_of(retry_delay_s: float | Sequence[float]) -> tuple[float, ...]:
    pauses = (
        tuple(retry_delay_s) if isinstance(retry_delay_s, Sequence) else (float(retry_delay_s),)
    )
    if not pauses:
        raise InvalidArgument("retry_delay_s is empty: give at least one pause, or 0")
    for each in pauses:
        check_at_least(0, retry_delay_s=each)
        if each > MAX_DELAY_S:
            raise InvalidArgument(f"retry_delay_s={each:g}: it must be at most {MAX_DELAY_S:g}")
    return pauses


def _decoder(choice: FormatName | Format, argument: str) -> Callable[[bytes | None], Any] | None:
    """None stands for bytes as they are."""
    return None if format_of(choice, argument) is BYTES else decoder(choice, argument)

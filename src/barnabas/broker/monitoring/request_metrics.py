"""Metrics of requests, by API."""

from barnabas.broker.net.connection_limits import ConnectionLimits
from barnabas.broker.net.request_errors import RequestErrors
from barnabas.broker.net.request_times import AllRequestTimes
from barnabas.metrics.exposition import Samples, counter, gauge
from barnabas.metrics.metric import Kind, Metric
from barnabas.wire.errors import ErrorCode

_PREFIX = "kafka_network_requestmetrics_"
_MS = 1000
_ERROR_CODES = frozenset(ErrorCode)


def _times(name: str, meaning: str, alarm: str = "") -> Metric:
    labels = ("request", "quantile")
    return Metric(f"{_PREFIX}{name}", Kind.SUMMARY, f"{meaning}, in milliseconds", labels, alarm)


_REQUESTS = counter(f"{_PREFIX}requests_total", "Requests answered", "request")
_ERRORS = counter(
    f"{_PREFIX}errors_total",
    "Errors in answers: one for each partition, topic or group that failed",
    "request",
    "error",
    alarm="NOT_ENOUGH_REPLICAS, KAFKA_STORAGE_ERROR, CORRUPT_MESSAGE or UNKNOWN_SERVER_ERROR "
    "growing for 5 minutes: clients fail",
)
_TOTAL = _times(
    "totaltimems",
    "Time from a request's arrival to its answer",
    "the 0.99 quantile of Produce above what your producers tolerate, for 10 minutes",
)
_LOCAL = _times("localtimems", "Time that the node worked on a request")
_REMOTE = _times(
    "remotetimems",
    "Time that a request waited: Produce for replicas, Fetch for records, JoinGroup for members",
)
_BYTES = counter(f"{_PREFIX}requestbytes_total", "Bytes of requests", "request")
_ANSWERS = Metric(
    "barnabas_response_size_bytes", Kind.HISTOGRAM, "Answers by size", ("request", "le")
)
_WAITING = gauge(
    "kafka_server_delayedoperationpurgatory_purgatorysize",
    "Requests that wait",
    "delayedoperation",
)
_CONNECTIONS = gauge(
    "kafka_server_socket_server_metrics_connection_count", "Open connections", "listener"
)
_ACCEPTED = counter(
    "kafka_server_socket_server_metrics_connection_creation_total", "Connections accepted"
)
_ARRIVING = gauge(
    "barnabas_arriving_request_bytes",
    "Memory of large requests that are still arriving; queued.max.request.bytes limits it",
)
_UNREAD = gauge(
    "barnabas_unread_response_bytes",
    "Memory of answers that clients have not read; queued.max.response.bytes limits it",
    alarm="above 0.8 of the limit for 10 minutes: the connections that hold most will be closed",
)
METRICS = (
    *(_REQUESTS, _ERRORS, _TOTAL, _LOCAL, _REMOTE, _BYTES, _ANSWERS, _WAITING),
    *(_CONNECTIONS, _ACCEPTED, _ARRIVING, _UNREAD),
)


def collect(times: AllRequestTimes, errors: RequestErrors, samples: Samples) -> None:
    samples.of(_ERRORS)
    for (api_key, code), count in sorted(errors.counts.items()):
        name = ErrorCode(code).name if code in _ERROR_CODES else str(code)
        samples.add(_ERRORS, count, request=times.by_key[api_key].name, error=name)
    for api in times.used():
        samples.add(_REQUESTS, api.count, request=api.name)
        samples.add(_BYTES, api.request_bytes, request=api.name)
        samples.add_quantiles(_TOTAL, api.total, _MS, request=api.name)
        samples.add_quantiles(_LOCAL, api.local, _MS, request=api.name)
        if any(api.remote.counts):
            samples.add_quantiles(_REMOTE, api.remote, _MS, request=api.name)
        samples.add_histogram(_ANSWERS, api.answer_bytes, request=api.name)
        if api.waiting or any(api.remote.counts):
            samples.add(_WAITING, api.waiting, delayedoperation=api.name)


def collect_connections(connections: ConnectionLimits, samples: Samples) -> None:
    by_listener: dict[str, int] = {}
    for connection in connections.connections:
        name = connection.listener.name
        by_listener[name] = by_listener.get(name, 0) + 1
    for name, count in by_listener.items():
        samples.add(_CONNECTIONS, count, listener=name)
    samples.add(_ACCEPTED, connections.accepted)
    samples.add(_ARRIVING, connections.arriving.total)
    samples.add(_UNREAD, connections.unread.total)

"""`/metrics`: this instance and its connectors, for Prometheus.

Names are those that the JMX exporter's example rules make of Kafka Connect's metrics. Only the
leader reports the states of connectors, so that sums over instances are right. Pipeline metrics
come from the Spark drivers of this instance, each with the connector's name.
"""

from barnabas.connect.rest.api_context import ApiContext
from barnabas.connect.rest.connectors import status
from barnabas.metrics.exposition import CONTENT_TYPE, Samples, counter, gauge
from barnabas.web.messages import Request, Response

_STATES = ("running", "paused", "stopped", "failed", "restarting", "unassigned")
_LEADER = gauge("barnabas_connect_leader", "1 on the instance that runs the connectors")
_READY = gauge("barnabas_connect_ready", "1 if a connector could start at once")
_COUNT = gauge("kafka_connect_worker_connector_count", "Connectors; reported by the leader")
_TASKS = gauge("kafka_connect_worker_task_count", "Tasks; reported by the leader")
_STATE = gauge(
    "kafka_connect_connector_status",
    "1 for the state that a connector is in; reported by the leader",
    "connector",
    "status",
)
_TASK_STATE = gauge(
    "kafka_connect_connector_tasks",
    "Tasks of a connector by state; reported by the leader",
    "connector",
    "status",
)
_RESTARTS = counter(
    "barnabas_connect_driver_starts_total", "Starts of Spark drivers by this instance"
)


async def metrics(context: ApiContext, _request: Request) -> Response:
    """GET /metrics."""
    samples = Samples()
    leads = context.leadership.is_leader
    samples.add(_LEADER, int(leads))
    samples.add(_READY, int(context.runner.is_ready))
    samples.add(_RESTARTS, context.runner.driver_starts)
    if leads:
        _add_connectors(context, samples)
    text = b"".join(samples.encoded())
    drivers = merged(await context.runner.driver_metrics())
    return Response(body=text + drivers, headers={"Content-Type": CONTENT_TYPE})


def _add_connectors(context: ApiContext, samples: Samples) -> None:
    names = sorted(context.topics.definitions)
    shown = {name: status(context, name) for name in names}
    samples.add(_COUNT, len(names))
    samples.add(_TASKS, sum(len(each["tasks"]) for each in shown.values()))
    for name, each in shown.items():
        tasks = [task["state"].lower() for task in each["tasks"]]
        for state in _STATES:
            is_in = each["connector"]["state"].lower() == state
            samples.add(_STATE, int(is_in), connector=name, status=state)
            samples.add(_TASK_STATE, tasks.count(state), connector=name, status=state)


def merged(texts: list[str]) -> bytes:
    """Merge texts: all lines of a metric have to be together."""
    families: dict[str, list[str]] = {}
    for text in texts:
        family: list[str] = []
        for line in text.splitlines():
            if line.startswith("# HELP "):
                name = line.split(" ", 3)[2]
                is_known = name in families
                family = families.setdefault(name, [])
                if is_known:
                    continue
            elif line.startswith("# TYPE ") and line in family:
                continue
            family.append(line)
    return "".join(f"{line}\n" for family in families.values() for line in family).encode()

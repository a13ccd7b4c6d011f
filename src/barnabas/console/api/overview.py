"""How the cluster is, what it does, and what has happened."""

from typing import Any

from barnabas.console.endpoint import Call, Endpoint, Parameter
from barnabas.console.watch.health import verdict
from barnabas.console.watch.watch import Watch
from barnabas.diagnosis.status import UP

_EVENTS = 30


async def overview(call: Call) -> dict[str, Any]:
    watch = call.cluster.watch
    looked = await watch.look()
    since = call.number("since")
    topics = () if looked is None else looked.topics
    rows = [row for row in topics if not row.internal]
    groups = watch.groups_of_readers
    return {
        "cluster_id": None if looked is None else looked.sample.cluster_id,
        "at_ms": None if looked is None else looked.at_ms,
        "error": watch.error,
        "failing_since_ms": watch.failing_since_ms,
        "health": health_of(watch),
        "nodes": nodes_of(watch),
        "totals": {
            "topics": len(rows),
            "partitions": sum(row.partitions for row in rows),
            "internal_partitions": sum(row.partitions for row in topics if row.internal),
            "records": sum(row.records or 0 for row in rows),
            "size": sum(row.size for row in rows),
            "groups": len(groups),
            "lag": sum(row.lag or 0 for row in groups),
        },
        "series": [list(each) for each in watch.throughput if each.at_ms > since],
        "slowest": [
            {"id": row.id, "lag": row.lag, "state": row.state}
            for row in sorted(groups, key=lambda row: -(row.lag or 0))[:5]
            if row.lag
        ],
        "busiest": [
            {"name": row.name, "records_s": row.records_s, "bytes_in_s": row.bytes_in_s}
            for row in sorted(rows, key=lambda row: -row.records_s)[:5]
            if row.records_s
        ],
        "events": [each._asdict() for each in watch.events.newest(_EVENTS)],
    }


def health_of(watch: Watch) -> dict[str, Any]:
    """The doctor's findings; None of a level means that the checks have not run yet."""
    if watch.facts is None:
        return {"level": None, "sentence": "", "findings": [], "not_checked": {}}
    level, sentence = verdict(watch.facts, watch.findings)
    return {
        "level": level,
        "sentence": sentence,
        "findings": [
            {
                "severity": each.severity.name.lower(),
                "check": each.check,
                "what": each.what,
                "fix": each.fix,
            }
            for each in watch.findings
        ],
        "not_checked": dict(watch.facts.unknown),
    }


def nodes_of(watch: Watch) -> list[dict[str, Any]]:
    """Those of the last check, with what the newest sample says."""
    looked = watch.last
    if looked is None:
        return []
    rates = {row.node_id: row for row in looked.rates.brokers}
    known = {} if watch.facts is None else {each.node_id: each for each in watch.facts.status.nodes}
    nodes = []
    for node_id in sorted({*known, *rates}):
        status, rate = known.get(node_id), rates.get(node_id)
        state = UP if rate is not None else "down"
        if status is not None and status.state != UP:
            state = status.state
        address = looked.sample.addresses.get(node_id)
        nodes.append(
            {
                "id": node_id,
                "address": str(address) if address else status and status.address,
                "rack": status and status.rack,
                "state": state if rate is None or status is None else status.state,
                "controller": status is not None and status.is_controller,
                "role": status and status.role,
                "leaders": 0 if rate is None else rate.leaders,
                "replicas": status.replicas if status is not None else None,
                "records_s": rate and rate.records_s,
                "bytes_in_s": rate and rate.bytes_in_s,
                "bytes_out_s": rate and rate.bytes_out_s,
                "size": 0 if rate is None else rate.size,
                "cpu_percent": rate and rate.cpu_percent,
                "connections": rate and rate.connections,
            }
        )
    return nodes


ENDPOINTS = (
    Endpoint(
        "GET",
        "/api/overview",
        "Health, nodes, totals, plots and events.",
        overview,
        (Parameter("since", "integer", "Points of plots after this time (ms).", 0, minimum=0),),
    ),
)

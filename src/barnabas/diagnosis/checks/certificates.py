"""Certificates of nodes, as clients with TLS get them."""

from collections.abc import Iterator

from barnabas.diagnosis.facts import Facts
from barnabas.diagnosis.finding import Finding, critical, warning
from barnabas.quantities import counted

_DAY_MS = 86_400_000
_CRITICAL_DAYS = 7


def expiring(facts: Facts) -> Iterator[Finding]:
    for node in facts.nodes:
        if node.certificate_expires_ms is None:
            continue
        days = (node.certificate_expires_ms - facts.now_ms) // _DAY_MS
        if days < facts.limits.certificate_days:
            yield (critical if days < _CRITICAL_DAYS else warning)(
                "certificates",
                f"the certificate of node {node.node_id} expires in {counted(days, 'day')}",
                "barnabas security renew, or put new files in place: nodes read them again",
            )

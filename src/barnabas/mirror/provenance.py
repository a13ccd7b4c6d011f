"""The header that says which clusters a record has passed.

Every flow that marks provenance adds a header with the name of its source, so a record that came
from A by way of B has two: A and B. A flow leaves out records that have passed its target, as they
are there already. That ends every loop, also rings of several clusters, as long as all flows of the
loop mark provenance and call clusters by the same names.
"""

from typing import NamedTuple

from barnabas.mirror.flow import Flow
from barnabas.records.record import Header, Record, Row

HEADER = "barnabas-mirror-cluster"


class Provenance(NamedTuple):
    """What a flow adds, and what it leaves out."""

    added: Header
    left_out: bytes

    def has_passed_target(self, record: Record) -> bool:
        return any(name == HEADER and value == self.left_out for name, value in record.headers)

    def marked(self, record: Record) -> Row:
        """The record with one more header."""
        timestamp, key, value, headers, _ = record
        return timestamp, key, value, (*headers, self.added)


def provenance_of(flow: Flow) -> Provenance | None:
    """None if the flow marks nothing."""
    if not flow.provenance:
        return None
    return Provenance((HEADER, flow.source.name.encode()), flow.target.name.encode())

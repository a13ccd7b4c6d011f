"""Of a coordinator only the newest connection is heard."""

from dataclasses import dataclass

from barnabas.broker.coordinator.marker_connections import MarkerConnections


@dataclass
class Connection:
    age_s: float


def test_an_older_connection_is_not_heard_any_more() -> None:
    connections = MarkerConnections()
    older, newer = Connection(9.0), Connection(1.0)
    assert connections.is_newest("node-1", older)
    assert connections.is_newest("node-1", older)
    assert connections.is_newest("node-1", newer)
    assert not connections.is_newest("node-1", older)
    assert connections.is_newest("node-1", newer)


def test_clients_are_told_apart() -> None:
    connections = MarkerConnections()
    assert connections.is_newest("node-1", Connection(1.0))
    assert connections.is_newest("node-2", Connection(9.0))

"""When each broker was last heard of. Never agreed on: a new controller begins anew."""

from collections.abc import Iterable
from dataclasses import dataclass

from barnabas.controller.controller_config import ControllerConfig
from barnabas.metadata.image import MetadataImage

NOTHING_READ = -1
_MOST_FORGIVEN = 2
"""How many sessions' worth of silence the controller leaves out because it stood still itself."""


@dataclass(slots=True)
class BrokerSession:
    """One broker, as long as it is heard of."""

    deadline_ms: int | None
    """When it is fenced unless it is heard of; None while it is fenced anyway."""
    forgiven_ms: int = 0
    """How much of its silence counts for nothing, as the controller stood still itself."""
    metadata_offset: int = NOTHING_READ
    """How much of the metadata it has replayed."""
    caught_up_offset: int | None = None
    """How much it has to have replayed to be let in: all there was when it first called."""
    leave_offset: int | None = None
    """How much the others have to have replayed before it may shut down: who leads in its place."""


class BrokerSessions:
    """The sessions of all brokers, by id."""

    def __init__(self, config: ControllerConfig, image: MetadataImage, now_ms: int) -> None:
        self._config = config
        deadline_ms = now_ms + config.session_timeout_ms
        self._sessions = {
            broker.id: BrokerSession(None if broker.fenced else deadline_ms)
            for broker in image.brokers.values()
        }

    def heard(
        self, broker_id: int, metadata_offset: int, metadata_end_offset: int
    ) -> BrokerSession:
        """A broker has called, and has replayed so much of what there is."""
        session = self._sessions.setdefault(broker_id, BrokerSession(None))
        session.metadata_offset = metadata_offset
        if session.caught_up_offset is None:
            session.caught_up_offset = metadata_end_offset
        return session

    def keep(self, broker_id: int, now_ms: int, *, fenced: bool) -> None:
        """It is well until its time is up, or fenced and not waited for."""
        session = self._sessions[broker_id]
        session.deadline_ms = None if fenced else now_ms + self._config.session_timeout_ms
        session.forgiven_ms = 0

    def shorten(self, broker_id: int, now_ms: int) -> None:
        """Its connection has broken."""
        session = self._sessions.get(broker_id)
        if session is not None and session.deadline_ms is not None:
            grace_ends_ms = now_ms + self._config.disconnect_grace_ms
            session.deadline_ms = min(session.deadline_ms, grace_ends_ms)

    def forgive(self, stalled_ms: int) -> None:
        """The controller stood still for so long, and could not have heard of anybody.

        Up to a limit: a controller that is always slow still notices that a broker is gone. That
        a broker is fenced later than it thinks is safe: it stops leading by its own clock.
        """
        for session in self._sessions.values():
            if session.deadline_ms is not None:
                limit_ms = _MOST_FORGIVEN * self._config.session_timeout_ms
                forgiven_ms = min(stalled_ms, limit_ms - session.forgiven_ms)
                session.forgiven_ms += forgiven_ms
                session.deadline_ms += forgiven_ms

    def end(self, broker_id: int) -> None:
        self._sessions.pop(broker_id, None)

    def expired(self, now_ms: int) -> list[int]:
        """Whose time is up."""
        return [
            broker_id
            for broker_id, session in self._sessions.items()
            if session.deadline_ms is not None and session.deadline_ms <= now_ms
        ]

    def next_deadline_ms(self) -> int | None:
        deadlines = (session.deadline_ms for session in self._sessions.values())
        return min((deadline for deadline in deadlines if deadline is not None), default=None)

    def have_replayed(self, broker_ids: Iterable[int], offset: int) -> bool:
        """Whether all of them know what was agreed on before `offset`."""
        return all(
            broker_id in self._sessions and self._sessions[broker_id].metadata_offset >= offset
            for broker_id in broker_ids
        )

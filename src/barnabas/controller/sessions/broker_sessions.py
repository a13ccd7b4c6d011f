"""When each broker last sent a heartbeat, and whether it keeps up with the metadata log.

It is soft state, which a new controller begins without. A broker that does not keep up would not
know that it leads. Two things are told apart:

- A broker is *behind* if it has not replayed what was in the log at its heartbeat before. That may
  pass in a moment, so elections only prefer others to it.
- A broker is *stuck* if it has replayed nothing for a while, although others have replayed more:
  its disk is full, most likely. Others take over what it leads. The comparison is with other
  brokers, because all of them stand still while nothing can be committed. A stuck broker is so
  until it has caught up with them.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from barnabas.controller.controller_config import ControllerConfig
from barnabas.metadata.image import MetadataImage

NOTHING_READ = -1
_MOST_FORGIVEN = 2
"""How many session timeouts a session is extended at most because the controller stalled."""


@dataclass(slots=True)
class BrokerSession:
    """The session of one broker."""

    deadline_ms: int | None
    """When the broker is fenced unless it sends a heartbeat; None while it is fenced."""
    heard_ms: int
    """When it last sent a heartbeat, or when this controller began."""
    is_disconnected: bool = False
    """Whether its connection has broken since."""
    forgiven_ms: int = 0
    """How much the session was extended because the controller stalled."""
    metadata_offset: int = NOTHING_READ
    """How far it has replayed the metadata log."""
    is_behind: bool = False
    """Whether it has yet to replay what was in the metadata log at the heartbeat before."""
    seen_end_offset: int = 0
    """The end of the metadata log at its last heartbeat."""
    others_offset: int = NOTHING_READ
    """The most that another broker had replayed at that time."""
    stalled_ms: int | None = None
    """Since when it has replayed nothing, although another broker has replayed more."""
    is_stuck: bool = False
    """Whether that was so for long, and it has not caught up since."""
    caught_up_offset: int | None = None
    """How far it must have replayed to be unfenced: the end of the log at its first heartbeat."""
    leave_offset: int | None = None
    """How far the others must have replayed before it may shut down, to know the new leaders."""


class BrokerSessions:
    """The sessions of all brokers, by id."""

    def __init__(self, config: ControllerConfig, image: MetadataImage, now_ms: int) -> None:
        self._config = config
        deadline_ms = now_ms + config.session_timeout_ms
        self._sessions = {
            broker.id: BrokerSession(None if broker.fenced else deadline_ms, now_ms)
            for broker in image.brokers.values()
        }

    def heard(
        self, broker_id: int, metadata_offset: int, metadata_end_offset: int, now_ms: int
    ) -> BrokerSession:
        """A broker sent a heartbeat, with how far it has replayed."""
        session = self._sessions.setdefault(broker_id, BrokerSession(None, now_ms))
        self._watch_progress(session, metadata_offset, now_ms)
        session.metadata_offset = metadata_offset
        session.is_behind = metadata_offset < session.seen_end_offset
        session.seen_end_offset = metadata_end_offset
        session.others_offset = max(
            (other.metadata_offset for id_, other in self._sessions.items() if id_ != broker_id),
            default=NOTHING_READ,
        )
        if session.caught_up_offset is None:
            session.caught_up_offset = metadata_end_offset
        return session

    def _watch_progress(self, session: BrokerSession, metadata_offset: int, now_ms: int) -> None:
        if metadata_offset >= session.others_offset:
            session.stalled_ms = None
            session.is_stuck = False
        elif metadata_offset > session.metadata_offset:
            session.stalled_ms = None
        elif session.stalled_ms is None:
            session.stalled_ms = now_ms
        elif now_ms - session.stalled_ms >= (
            self._config.stuck_sessions * self._config.session_timeout_ms
        ):
            session.is_stuck = True

    def keep(self, broker_id: int, now_ms: int, *, fenced: bool) -> None:
        """Restart the session, or end its deadline if the broker is fenced."""
        session = self._sessions[broker_id]
        session.deadline_ms = None if fenced else now_ms + self._config.session_timeout_ms
        session.heard_ms = now_ms
        session.is_disconnected = False
        session.forgiven_ms = 0

    def shorten(self, broker_id: int, now_ms: int) -> None:
        """The broker's connection broke."""
        session = self._sessions.get(broker_id)
        if session is not None and session.deadline_ms is not None:
            session.is_disconnected = True
            grace_ends_ms = now_ms + self._config.disconnect_grace_ms
            session.deadline_ms = min(session.deadline_ms, grace_ends_ms)

    def forgive(self, stalled_ms: int) -> None:
        """Extend all sessions: the controller stalled and could not receive heartbeats.

        There is a limit, so that a controller that is always slow still notices dead brokers. It is
        safe to fence a broker later than it expects: it stops leading by its own clock.
        """
        for session in self._sessions.values():
            if session.stalled_ms is not None:
                session.stalled_ms += stalled_ms
            if session.deadline_ms is not None:
                limit_ms = _MOST_FORGIVEN * self._config.session_timeout_ms
                forgiven_ms = min(stalled_ms, limit_ms - session.forgiven_ms)
                session.forgiven_ms += forgiven_ms
                session.deadline_ms += forgiven_ms

    def end(self, broker_id: int) -> None:
        self._sessions.pop(broker_id, None)

    def expired(self, now_ms: int) -> list[int]:
        """The brokers whose session has ended."""
        return [
            broker_id
            for broker_id, session in self._sessions.items()
            if session.deadline_ms is not None and session.deadline_ms <= now_ms
        ]

    def silence(self, broker_id: int, now_ms: int) -> tuple[int, bool]:
        """For how many milliseconds a broker has sent no heartbeat, and whether its connection
        broke."""
        session = self._sessions[broker_id]
        return now_ms - session.heard_ms, session.is_disconnected

    def next_deadline_ms(self) -> int | None:
        deadlines = (session.deadline_ms for session in self._sessions.values())
        return min((deadline for deadline in deadlines if deadline is not None), default=None)

    def behind(self) -> set[int]:
        """The brokers that do not keep up with the metadata log, be it for a moment."""
        return {
            broker_id
            for broker_id, session in self._sessions.items()
            if session.is_behind or session.is_stuck
        }

    def stuck(self) -> dict[int, int]:
        """The brokers that are stuck, and how far they have replayed the metadata log."""
        return {
            broker_id: session.metadata_offset
            for broker_id, session in self._sessions.items()
            if session.is_stuck
        }

    def replayed(self, broker_id: int) -> int:
        """How far a broker has replayed the metadata log."""
        session = self._sessions.get(broker_id)
        return NOTHING_READ if session is None else session.metadata_offset

    def have_replayed(self, broker_ids: Iterable[int], offset: int) -> bool:
        """Whether all of them have replayed the metadata log up to `offset`."""
        return all(
            broker_id in self._sessions and self._sessions[broker_id].metadata_offset >= offset
            for broker_id in broker_ids
        )

"""One member of a group."""

from dataclasses import dataclass

from barnabas.wire.messages.group_records import MemberMetadata


@dataclass(slots=True)
class Member:
    """A member's metadata, as it joined with it, and its assignment.

    `deadline_ms` is when the member's session ends. It is None while one of its requests is parked:
    it can't send heartbeats then, and the deadlines of the rebalance apply. A new member is the
    exception, see `GroupConfig.new_member_join_timeout_ms`.
    """

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: dict[str, bytes]
    """Metadata by protocol name, in the member's order of preference."""
    assignment: bytes = b""
    is_new: bool = False
    """Whether its first join is not answered yet."""
    deadline_ms: int | None = None

    @property
    def is_static(self) -> bool:
        return self.group_instance_id is not None

    def vote(self, candidates: set[str]) -> str:
        """The candidate that the member prefers; it supports all of them."""
        return next(name for name in self.protocols if name in candidates)

    def touch(self, now_ms: int) -> None:
        """Restart its session."""
        self.deadline_ms = now_ms + self.session_timeout_ms

    def to_record(self, protocol_name: str, assignment: bytes) -> MemberMetadata:
        return MemberMetadata(
            member_id=self.member_id,
            group_instance_id=self.group_instance_id,
            client_id=self.client_id,
            client_host=self.client_host,
            rebalance_timeout=self.rebalance_timeout_ms,
            session_timeout=self.session_timeout_ms,
            subscription=self.protocols[protocol_name],
            assignment=assignment,
        )

    @classmethod
    def from_record(cls, record: MemberMetadata, protocol_name: str) -> "Member":
        """A record has the metadata of the selected protocol only; the rest is lost."""
        return cls(
            member_id=record.member_id,
            group_instance_id=record.group_instance_id,
            client_id=record.client_id,
            client_host=record.client_host,
            session_timeout_ms=record.session_timeout,
            # Version 0 of the record has only one timeout.
            rebalance_timeout_ms=(
                record.rebalance_timeout
                if record.rebalance_timeout >= 0
                else record.session_timeout
            ),
            protocols={protocol_name: record.subscription},
            assignment=record.assignment,
        )

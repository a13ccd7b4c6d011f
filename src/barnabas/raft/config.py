"""Settings of the quorum, named after Kafka's `controller.quorum.*`, all times in milliseconds."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RaftConfig:
    fetch_timeout_ms: int = 1_500
    """How long a follower believes in a leader that does not answer its fetches."""
    election_timeout_ms: int = 300
    """How long a round of votes may take; the real time is drawn between this and its double."""
    request_timeout_ms: int = 1_000
    """After how long a fetch is sent again. Less than `fetch_timeout_ms`, or one lost message
    would be an election."""
    retry_backoff_ms: int = 20
    """How long a follower waits after an answer that did not help."""
    fetch_max_wait_ms: int = 500
    """How long a leader keeps a fetch that it has nothing to answer to: what an idle quorum does is
    little more than one fetch per follower in that time."""
    fetch_max_bytes: int = 1 << 20
    fetch_snapshot_max_bytes: int = 1 << 20

    def __post_init__(self) -> None:
        if not self.fetch_max_wait_ms < self.request_timeout_ms < self.fetch_timeout_ms:
            raise ValueError("fetch_max_wait_ms < request_timeout_ms < fetch_timeout_ms must hold")

    @property
    def check_quorum_ms(self) -> int:
        """A leader that no majority has fetched from for so long steps down.

        Longer than its followers' patience: they elect the next one, it only must not stay behind.
        """
        return self.fetch_timeout_ms * 3 // 2

    @property
    def max_forgiven_ms(self) -> int:
        """How much of a leader's silence a follower that stood still itself leaves out at most."""
        return self.fetch_timeout_ms * 4

    @property
    def leader_check_ms(self) -> int:
        """How often a leader looks for voters that are silent."""
        return self.fetch_timeout_ms // 4

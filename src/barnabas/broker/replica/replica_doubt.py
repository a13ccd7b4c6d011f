"""Whether a replica may lack acknowledged records, and what follows from that.

A replica in doubt leaves the in-sync set and the eligible leaders before this node is unfenced, and
fetches what it lacks from another replica.
"""

from dataclasses import dataclass


@dataclass(slots=True)
class ReplicaDoubt:
    """True as long as there is a reason to doubt."""

    reason: str = ""
    """Why the replica may lack acknowledged records; empty if it has all of them."""
    suspect_from: int | None = None
    """From this offset on the log is refetched: a power loss may have changed it. Offsets and
    epochs are not covered by a batch's checksum."""
    lacks_end: bool = False
    """Whether the newest records may be missing: then the replica does not lead."""
    refetch_upto: int = 0
    """Where the log ended before its suspect records were truncated. The replica does not lead
    before it has caught up: the metadata log may still have to tell that the controller once
    elected it, before it knew of the doubt."""
    must_lead: bool = False
    """No other replica can lead: an incomplete log is better than none."""

    def __bool__(self) -> bool:
        return bool(self.reason)

    @property
    def is_only_hole(self) -> bool:
        """Whether the log itself is the only evidence: it is not truncated before the controller
        knows.

        Otherwise a node that is killed in between would consider the rest complete at its next
        start. Until the controller knows, the high watermark checkpoint shows a missing end, and
        `broker.state` shows a power loss.
        """
        return bool(self.reason) and not self.lacks_end

    def settle(self) -> None:
        """No other node relies on this replica any longer. Suspect records stay suspect until they
        are truncated, when another node leads."""
        self.reason = ""
        self.lacks_end = self.must_lead = False

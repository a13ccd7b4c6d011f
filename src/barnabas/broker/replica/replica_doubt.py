"""Whether a replica may lack something that it has acknowledged, and what follows from it.

A replica in doubt leaves the in-sync set and the eligible leaders before this node counts again,
and fetches from another replica what it lacks.
"""

from dataclasses import dataclass


@dataclass(slots=True)
class ReplicaDoubt:
    """True as long as there is a reason to doubt."""

    reason: str = ""
    """Why the replica may lack acknowledged records; empty if it has all of them."""
    suspect_from: int | None = None
    """From this offset on the log is fetched again: a loss of power may have changed it. Offsets
    and epochs are not covered by a batch's checksum."""
    lacks_end: bool = False
    """Whether the newest records may be missing: then the replica does not lead."""
    must_lead: bool = False
    """No other replica can lead: most of the log is better than none of it."""

    def __bool__(self) -> bool:
        return bool(self.reason)

    @property
    def is_only_hole(self) -> bool:
        """Whether the log itself is the only evidence: it is not cut before the controller knows.

        Else a node that is killed in between would take the rest for whole at its next start. An
        end that is missing is known from the high watermark checkpoint, and a loss of power from
        `broker.state`, until the controller knows.
        """
        return bool(self.reason) and not self.lacks_end

    def settle(self) -> None:
        """No other node counts on this replica any longer. What is suspect stays so until it is cut
        off, when another node leads."""
        self.reason = ""
        self.lacks_end = self.must_lead = False

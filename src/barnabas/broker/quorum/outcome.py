"""How a proposal or a read can fail."""


class NotLeader(Exception):  # noqa: N818 - reads as the fact it states
    """This node is not the leader of the quorum: nothing was changed; ask the leader."""


class OutcomeUnknown(Exception):  # noqa: N818 - reads as the fact it states
    """Leadership was lost after the proposal: it may or may not be committed."""


class QuorumStopped(OutcomeUnknown):
    """The replica has stopped: it was closed, or its disk has failed."""

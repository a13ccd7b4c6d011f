"""How a proposal or a read can fail."""


class NotLeader(Exception):  # noqa: N818 - reads as the fact it states
    """This node does not lead the quorum: nothing was changed, ask who does."""


class OutcomeUnknown(Exception):  # noqa: N818 - reads as the fact it states
    """It was proposed, and then leadership was lost: it may come to be committed, or not."""


class QuorumStopped(OutcomeUnknown):
    """The replica has stopped: it was closed, or its disk has failed."""

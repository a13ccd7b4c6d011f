"""Which epochs can be true: they grow by one with each election, and elections take time.

A replica takes a greater epoch from any sender, which is Raft's rule. One that
is absurd would stop every election for good, as there is none beyond the largest number. So:

- no epoch is greater than `MAX_EPOCH`, which a thousand elections an hour reach in 228 years;
- a *request* may raise the epoch by `MAX_JUMP` at most. A replica that was away for long is behind
  by more, perhaps; it hears the epoch in the *answers* to what it asks itself;
- those it believes only while it hears no leader. Who follows a living leader, or is one, has
  missed no elections, whatever a single replica says.

Hence no replica gets stuck: one that is behind hears no leader, since it refuses the leader's
requests, and asks for votes in time.
"""

from barnabas.raft.messages import FetchRequest, Message, Response, VoteRequest

MAX_EPOCH = 2_000_000_000
MAX_JUMP = 100_000


def is_plausible(message: Message, own_epoch: int, *, hears_leader: bool) -> bool:
    """Whether a replica at `own_epoch` may take this message for what it says."""
    epoch = message.epoch
    match message:
        case VoteRequest(last_epoch=last_epoch) | FetchRequest(last_fetched_epoch=last_epoch):
            if last_epoch > epoch:
                return False  # a log has no entry of an epoch that its replica does not know
    if epoch - own_epoch <= MAX_JUMP:
        return epoch <= MAX_EPOCH
    return epoch <= MAX_EPOCH and isinstance(message, Response) and not hears_leader

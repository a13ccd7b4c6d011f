"""What groups of the newer protocols share: consumer groups and share groups.

state.py        persistent: epochs, members, target and current assignments, by replay
group.py        the pending state, records in flight, sessions
target.py       the group epoch, and the target assignment that belongs to it
assignment.py   assignments and member states
assignor.py     what an assignor gets and gives
refusal.py      why a heartbeat is refused, and checks of what it says
topics.py       the topics of the cluster, and a hash of those that a group is subscribed to
"""

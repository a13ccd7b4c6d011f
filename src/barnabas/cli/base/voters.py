"""How many nodes of a cluster on one machine vote."""

MOST_VOTERS = 5


def useful_voters(nodes: int) -> int:
    """An even number of voters tolerates no more failures than one less, and five are enough."""
    return min(nodes - (nodes % 2 == 0), MOST_VOTERS)

"""Whether a partition keeps enough copies of its committed records when it gives replicas up."""

from collections.abc import Collection

from barnabas.metadata.image import PartitionImage


def keeps_enough(partition: PartitionImage, staying: Collection[int], min_isr: int) -> bool:
    """Whether the copies of all but the `staying` replicas may be deleted.

    Those in sync and the eligible leaders have all committed records. A record was acknowledged
    because `min.insync.replicas` of them have it, so as many have to stay; where fewer have it
    already, none of them goes.
    """
    holders = {*partition.isr, *partition.elr}
    kept = holders.intersection(staying)
    return kept == holders or len(kept) >= min(min_isr, len(staying))

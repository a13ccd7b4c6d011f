"""Translation of offsets: where a group goes on in the target that is at an offset of the source.

    segment         Segment: a stretch of offsets that grow together, exact or merged
    segment_format  segments as bytes, for the topic of offset syncs
    recent_runs     what is committed with a position, for the process that takes over
    translation     Translation: one partition
    translations    Translations: all partitions of a flow

All are pure. A translated offset never passes a record that the group has not read. It may be too
small: then the group reads records again.
"""

"""Decisions about topics, configs and producer ids: a request in, records and an answer out.

Nothing here changes state. The records a decision returns are persisted and then replayed into
the `MetadataImage`, which is what the next decision looks at.
"""

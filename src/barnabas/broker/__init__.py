"""The node: one process, one event loop. Network, dispatch, handlers, partitions."""

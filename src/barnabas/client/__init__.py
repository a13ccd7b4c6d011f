"""The client side of the protocol: connections, metadata, producing, consuming, administration."""

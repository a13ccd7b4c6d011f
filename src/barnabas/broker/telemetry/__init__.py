"""Metrics that clients push to this node (KIP-714).

subscriptions       which metrics which clients push, from the cluster's metadata
client_instances    the clients that ask and push, and what they are refused for
client_series       the last values that they pushed
telemetry           all of it, for the handlers
"""

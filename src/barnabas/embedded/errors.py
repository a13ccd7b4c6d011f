"""What goes wrong with a cluster under test, in words that name the fix."""

from barnabas.errors import BarnabasError


class ClusterError(BarnabasError):
    """The cluster could not do what the test has asked for."""

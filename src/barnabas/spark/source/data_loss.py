"""Records that were deleted before they were read: an error, or a warning in the log."""

import logging

from barnabas.errors import DataLost

_log = logging.getLogger("barnabas.spark")
_ADVICE = (
    'To continue without them, set the option failOnDataLoss to "false": lost records are '
    "then only a warning"
)


def report_loss(what: str, *, fail: bool) -> None:
    """Raise `DataLost`, or warn."""
    if fail:
        raise DataLost(f"{what}. {_ADVICE}")
    _log.warning("%s", what)

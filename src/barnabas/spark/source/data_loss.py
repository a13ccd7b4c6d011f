"""Records that are gone before they were read: an error, or a warning in the log."""

import logging

from barnabas.errors import DataLost

_log = logging.getLogger("barnabas.spark")
_ADVICE = (
    'If going on without them is right, set the option failOnDataLoss to "false": what is lost is '
    "then only a warning"
)


def report_loss(what: str, *, fail: bool) -> None:
    """Raise `DataLost`, or warn."""
    if fail:
        raise DataLost(f"{what}. {_ADVICE}")
    _log.warning("%s", what)

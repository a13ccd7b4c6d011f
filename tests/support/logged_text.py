"""What tests read of the log stays as pytest writes it, whatever ran before them."""

import pytest


def keep_format(config: pytest.Config) -> None:
    """Let nobody change how pytest's handlers write.

    pytest gives its handlers to each logger that keeps its records to itself, and loggers of
    PySpark, which keep errors of queries so, make every handler that they get write JSON. After a
    failed query in the same process records had no `message`.
    """
    plugin = config.pluginmanager.get_plugin("logging-plugin")
    assert plugin is not None
    for handler in (plugin.caplog_handler, plugin.report_handler):
        handler.setFormatter = lambda _: None

"""Warns where anybody who reaches the brokers can run code on the machine of the service."""

import logging

from barnabas.aio.admin import Admin
from barnabas.connect.settings import ServiceSettings
from barnabas.errors import BarnabasError, BrokerError, ErrorCode

_log = logging.getLogger("barnabas.connect")


async def warn_if_open(settings: ServiceSettings) -> None:
    """Log it if the cluster has no access rules."""
    try:
        async with Admin(settings.bootstrap, security=settings.security) as admin:
            await admin.acls()
    except BrokerError as error:
        if error.code is not ErrorCode.SECURITY_DISABLED:
            return  # rules are in force, and this user may not see them
    except BarnabasError as error:
        _log.debug("can't ask for access rules: %s", error)
        return
    else:
        return
    what = (
        "run any code on this machine (--allow-code)"
        if settings.allow_code
        else "start connectors that read and write files and databases as this user"
    )
    _log.warning(
        "the cluster has no access rules: anyone who reaches its brokers can write %s, and so %s; "
        "see docs/connect.md, 'Who can run code'",
        settings.configs_topic,
        what,
    )

"""`barnabas server --check`: what a start with these settings would refuse, and what it ignores."""

from collections.abc import Mapping
from pathlib import Path

from barnabas.broker.net.cluster_secret import SETTING as SECRET
from barnabas.broker.settings.config import BrokerConfig, ConfigError
from barnabas.broker.start_check import check_start
from barnabas.cli.base import exit_codes
from barnabas.cli.server.local_nodes import (
    check_not_secured,
    check_single_directory,
    plan_nodes,
)
from barnabas.cli.server.secure import SecuredData


def check_settings(properties: Mapping[str, str], nodes: int | None, *, secure: bool) -> int:
    """Print which settings have no effect. Raises `ConfigError` if any are refused."""
    refused = None
    without_effect: Mapping[str, str] = {}
    try:
        without_effect = BrokerConfig(properties).without_effect
        if secure:
            _check_secured(properties, nodes)
        else:
            _check(properties, nodes)
    except ConfigError as error:
        refused, without_effect = error, without_effect or error.without_effect
    for name, why in sorted(without_effect.items()):
        print(f"{name} has no effect: {why}")
    if refused is not None:
        raise refused
    print("a node can start with these settings")
    return exit_codes.OK


def _check(properties: Mapping[str, str], nodes: int | None) -> None:
    if nodes is None:
        check_start(BrokerConfig(properties))
    check_not_secured(properties)
    if nodes is None:
        check_single_directory(properties)
        return
    for node in plan_nodes(properties, nodes):
        has_secret = SECRET in properties or Path(node.properties[SECRET]).exists()
        check_start(BrokerConfig(node.properties), has_secret=has_secret)


def _check_secured(properties: Mapping[str, str], nodes: int | None) -> None:
    """Certificates and users are looked at once the first start has made them."""
    data = SecuredData(properties)
    settings = data.check(properties, is_alone=nodes is None)
    planned = plan_nodes(settings, nodes) if nodes else []
    if data.files.exist:
        alone = {**settings, **data.files.node_settings(1)}
        for each in [node.properties for node in data.secured(planned)] or [alone]:
            check_start(BrokerConfig(each))

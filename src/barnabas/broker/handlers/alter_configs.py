"""AlterConfigs, versions 0-2, and IncrementalAlterConfigs, versions 0-1.

The older one replaces all settings of a resource by those it names, the newer one changes only
those. Each resource succeeds or fails as a whole.
"""

from collections.abc import Iterable

from barnabas.broker.dispatch import RequestContext
from barnabas.broker.node import Node
from barnabas.controller.configs import OPERATION_SET, ConfigChange, alter_configs
from barnabas.controller.decision import Refusal
from barnabas.log import StorageError
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages import alter_configs as plain
from barnabas.wire.messages import incremental_alter_configs as incremental


def handle(
    node: Node, request: plain.AlterConfigsRequest, _: RequestContext
) -> plain.AlterConfigsResponse:
    response = plain.AlterConfigsResponse()
    for resource in request.resources:
        changes = [ConfigChange(c.name, OPERATION_SET, c.value) for c in resource.configs]
        error, message = _alter(
            node, resource, changes, replace=True, validate_only=request.validate_only
        )
        response.responses.append(
            plain.AlterConfigsResourceResponse(
                error, message, resource.resource_type, resource.resource_name
            )
        )
    return response


def handle_incremental(
    node: Node, request: incremental.IncrementalAlterConfigsRequest, _: RequestContext
) -> incremental.IncrementalAlterConfigsResponse:
    response = incremental.IncrementalAlterConfigsResponse()
    for resource in request.resources:
        changes = [ConfigChange(c.name, c.config_operation, c.value) for c in resource.configs]
        error, message = _alter(
            node, resource, changes, replace=False, validate_only=request.validate_only
        )
        response.responses.append(
            incremental.AlterConfigsResourceResponse(
                error, message, resource.resource_type, resource.resource_name
            )
        )
    return response


def _alter(
    node: Node,
    resource: plain.AlterConfigsResource | incremental.AlterConfigsResource,
    changes: Iterable[ConfigChange],
    *,
    replace: bool,
    validate_only: bool,
) -> tuple[int, str | None]:
    try:
        decision = alter_configs(
            node.image,
            node.config.settings,
            resource.resource_type,
            resource.resource_name,
            list(changes),
            replace=replace,
        )
        if not validate_only:
            node.commit(decision)
    except Refusal as refusal:
        return refusal.error_code, refusal.message
    except StorageError as error:
        return ErrorCode.KAFKA_STORAGE_ERROR, str(error)
    return 0, None

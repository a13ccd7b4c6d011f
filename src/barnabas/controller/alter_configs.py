"""AlterConfigs and IncrementalAlterConfigs: each resource succeeds or fails as a whole."""

from barnabas.controller.cluster_settings import ELECTION_SETTINGS
from barnabas.controller.configs import (
    OPERATION_SET,
    BrokerSettings,
    ConfigChange,
    alter_configs,
)
from barnabas.controller.decision import Refusal
from barnabas.controller.draft import Draft
from barnabas.controller.partition_changes import change_partition
from barnabas.metadata.partition_image import NO_LEADER
from barnabas.wire.messages import alter_configs as plain
from barnabas.wire.messages import incremental_alter_configs as incremental
from barnabas.wire.messages.metadata_records import ConfigRecord


def replace_configs(
    draft: Draft, settings: BrokerSettings, request: plain.AlterConfigsRequest
) -> plain.AlterConfigsResponse:
    """AlterConfigs: settings that are not named go back to their defaults."""
    response = plain.AlterConfigsResponse()
    for resource in request.resources:
        changes = [ConfigChange(c.name, OPERATION_SET, c.value) for c in resource.configs]
        error, message = _alter(draft, settings, resource, changes, True, request.validate_only)
        response.responses.append(
            plain.AlterConfigsResourceResponse(
                error, message, resource.resource_type, resource.resource_name
            )
        )
    _elect_where_needed(draft)
    return response


def change_configs(
    draft: Draft, settings: BrokerSettings, request: incremental.IncrementalAlterConfigsRequest
) -> incremental.IncrementalAlterConfigsResponse:
    """IncrementalAlterConfigs: only settings that are named change."""
    response = incremental.IncrementalAlterConfigsResponse()
    for resource in request.resources:
        changes = [ConfigChange(c.name, c.config_operation, c.value) for c in resource.configs]
        error, message = _alter(draft, settings, resource, changes, False, request.validate_only)
        response.responses.append(
            incremental.AlterConfigsResourceResponse(
                error, message, resource.resource_type, resource.resource_name
            )
        )
    _elect_where_needed(draft)
    return response


def _alter(
    draft: Draft,
    settings: BrokerSettings,
    resource: plain.AlterConfigsResource | incremental.AlterConfigsResource,
    changes: list[ConfigChange],
    replace: bool,
    validate_only: bool,
) -> tuple[int, str | None]:
    try:
        decision = alter_configs(
            draft.image,
            settings,
            resource.resource_type,
            resource.resource_name,
            changes,
            replace=replace,
        )
    except Refusal as refusal:
        return refusal.error_code, refusal.message
    if not validate_only:
        draft.write_all(decision.records)
    return 0, None


def _elect_where_needed(draft: Draft) -> None:
    """Elect leaders of partitions that waited for a setting that has changed.

    Unclean elections may be allowed now, for offline partitions. And if `min.insync.replicas` is
    lower than before, the leader can commit without the eligible leaders.
    """
    if not any(isinstance(r, ConfigRecord) and r.name in ELECTION_SETTINGS for r in draft.records):
        return
    for topic in draft.image.topics.values():
        for partition in topic.partitions:
            if partition.leader == NO_LEADER or partition.elr:
                change_partition(draft, topic, partition)

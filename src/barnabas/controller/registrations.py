"""BrokerRegistration and UnregisterBroker."""

from barnabas.controller.draft import Draft
from barnabas.controller.liveness import distrust, elect_for_brokers
from barnabas.metadata.features import BEFORE_FEATURES, FeatureRange, MetadataVersion
from barnabas.metadata.image import BrokerImage, MetadataImage
from barnabas.wire.endpoint import SecurityProtocol
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from barnabas.wire.messages.metadata_records import (
    BrokerEndpoint,
    BrokerFeature,
    RegisterBrokerRecord,
    UnregisterBrokerRecord,
)
from barnabas.wire.messages.unregister_broker import (
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)

_PROTOCOLS = frozenset(SecurityProtocol)


def epoch_error(image: MetadataImage, broker_id: int, broker_epoch: int) -> ErrorCode:
    """Whether the broker is registered, in this epoch."""
    broker = image.brokers.get(broker_id)
    if broker is None:
        return ErrorCode.BROKER_ID_NOT_REGISTERED
    if broker.epoch != broker_epoch:
        return ErrorCode.STALE_BROKER_EPOCH
    return ErrorCode.NONE


def register_broker(
    draft: Draft, request: BrokerRegistrationRequest, *, is_controller: bool = False
) -> BrokerRegistrationResponse:
    """Give a broker an epoch. It is fenced until its heartbeats show that it has caught up.

    A node that does not support the levels in force is refused: it could not read the metadata.

    Its disk must be that of its last registration: a disk with an older epoch is an old copy, and
    one without the directory is wiped. Both have lost records in every partition. A broker that
    does not know whether it has all that it wrote under that epoch reports which of its partitions
    have lost records, before it claims to have caught up (`lost_replicas`).

    Another process with the same id replaces the former one at once if it has the same directory,
    because it holds the directory's lock, so the former process is dead. Otherwise the former one
    must be fenced.

    A broker on the controller's node has the metadata. It is unfenced at once if it shares no
    partition with others and has lost nothing: it continues to lead its partitions in the same
    epoch, because no other broker could have led them, and no other log can diverge. So a single
    node restarts without a change of each of its partitions.
    """
    image = draft.image
    before = image.brokers.get(request.broker_id)
    if request.broker_id < 0 or not _has_endpoints(request):
        return BrokerRegistrationResponse(error_code=ErrorCode.INVALID_REGISTRATION)
    if image.features.unsupported_by(_supported(request)) is not None:
        return BrokerRegistrationResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    wiped = _is_wiped(image, before, request.log_dirs)
    recorded, vouched = _previous_epoch(request)
    if wiped and before is not None and not before.fenced:
        return BrokerRegistrationResponse(error_code=ErrorCode.DUPLICATE_BROKER_REGISTRATION)
    epoch = image.next_broker_epoch
    current = not wiped and _is_current(before, recorded)
    trusted = current and vouched
    draft.write(
        RegisterBrokerRecord(
            broker_id=request.broker_id,
            incarnation_id=request.incarnation_id,
            broker_epoch=epoch,
            end_points=[
                BrokerEndpoint(e.name, e.host, e.port, e.security_protocol)
                for e in request.listeners
            ],
            features=_recorded_features(image, request),
            rack=request.rack or None,
            fenced=not (is_controller and _goes_on(image, request.broker_id, trusted=trusted)),
            log_dirs=request.log_dirs,
        )
    )
    if not current:
        distrust(draft, request.broker_id, wiped=wiped)
    elect_for_brokers(draft, [request.broker_id])
    return BrokerRegistrationResponse(broker_epoch=epoch)


def _supported(request: BrokerRegistrationRequest) -> dict[str, FeatureRange]:
    return {
        **BEFORE_FEATURES,
        **{
            each.name: FeatureRange(each.min_supported_version, each.max_supported_version)
            for each in request.features
        },
    }


def _recorded_features(
    image: MetadataImage, request: BrokerRegistrationRequest
) -> list[BrokerFeature]:
    """From their level on: an older node leaves them out of its snapshots, so that images
    differ."""
    if image.features.metadata_version < MetadataVersion.FEATURE_LEVELS:
        return []
    return [
        BrokerFeature(each.name, each.min_supported_version, each.max_supported_version)
        for each in request.features
    ]


def _has_endpoints(request: BrokerRegistrationRequest) -> bool:
    """Whether it names listeners, each once, with protocols that there are."""
    names = [listener.name for listener in request.listeners]
    return (
        bool(names)
        and len(set(names)) == len(names)
        and all(each.security_protocol in _PROTOCOLS for each in request.listeners)
    )


def _is_wiped(image: MetadataImage, before: BrokerImage | None, log_dirs: list[bytes]) -> bool:
    """Whether a directory of the last registration is missing.

    An unregistered broker counts as wiped, except the first one: partitions that exist before any
    registration were created by the single broker of a release without registrations.
    """
    if before is None:
        return image.next_broker_epoch > 0
    return not set(before.log_dirs) <= set(log_dirs)


def unvouched(epoch: int) -> int:
    """The previous epoch as a broker sends it that may have lost records since."""
    return -2 - epoch


def _previous_epoch(request: BrokerRegistrationRequest) -> tuple[int, bool]:
    """The epoch of the disk, -1 if it is not known; and whether no written record is lost."""
    epoch = request.previous_broker_epoch
    return (unvouched(epoch), False) if epoch < -1 else (epoch, epoch >= 0)


def _is_current(before: BrokerImage | None, recorded_epoch: int) -> bool:
    """Whether the disk is of the last epoch in which the broker was unfenced."""
    return before is not None and recorded_epoch >= 0 and recorded_epoch >= before.active_epoch


def _goes_on(image: MetadataImage, broker_id: int, *, trusted: bool) -> bool:
    """Whether it is the only replica of all its partitions, and trusted."""
    alone = [broker_id]
    return all(
        trusted and partition.replicas == alone
        for topic in image.topics.values()
        for partition in topic.partitions
        if broker_id in partition.replicas
    )


def unregister_broker(draft: Draft, request: UnregisterBrokerRequest) -> UnregisterBrokerResponse:
    """Remove a broker that is down. Its replicas stay assigned to it: move them before.

    A broker that is up is refused: it would register again as a wiped broker whose data is not
    trusted, and records that only it has would not be available.
    """
    broker = draft.image.brokers.get(request.broker_id)
    if broker is None:
        return UnregisterBrokerResponse(
            error_code=ErrorCode.BROKER_ID_NOT_REGISTERED,
            error_message=f"broker {request.broker_id} is not registered",
        )
    if not broker.fenced:
        return UnregisterBrokerResponse(
            error_code=ErrorCode.INVALID_REQUEST,
            error_message=f"broker {broker.id} is up: stop it first",
        )
    draft.write(UnregisterBrokerRecord(broker.id, broker.epoch))
    elect_for_brokers(draft, [broker.id])
    return UnregisterBrokerResponse(error_message=None)

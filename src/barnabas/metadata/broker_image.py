"""What is agreed on about one broker."""

from dataclasses import dataclass, field, replace
from typing import Self

from barnabas.metadata.features import FeatureRange, FeatureRanges
from barnabas.wire.endpoint import Endpoint, SecurityProtocol
from barnabas.wire.messages.metadata_records import (
    BrokerEndpoint,
    BrokerFeature,
    BrokerRegistrationChangeRecord,
    RegisterBrokerRecord,
)

NEVER = -1
"""The active epoch of a broker that was never unfenced."""


@dataclass(frozen=True, slots=True)
class BrokerImage:
    """A registered broker; a change makes a new one.

    `epoch` is the number of its registration. `active_epoch` is that of the newest registration
    under which it was not fenced, so under which it may have acknowledged anything: a broker
    that returns and has kept all it wrote up to that epoch has lost nothing.
    """

    id: int
    epoch: int
    incarnation_id: bytes
    endpoints: list[Endpoint]
    rack: str | None
    log_dirs: list[bytes]
    fenced: bool
    in_controlled_shutdown: bool
    active_epoch: int = NEVER
    features: FeatureRanges = field(default_factory=dict)
    """The levels that it supports, if its registration says so."""

    @property
    def is_active(self) -> bool:
        """Whether it may lead, be in sync, and be given replicas."""
        return not self.fenced and not self.in_controlled_shutdown

    @classmethod
    def registered(cls, record: RegisterBrokerRecord, before: Self | None) -> Self:
        """The broker as `record` says, `before` being what it was until then."""
        active_epoch = NEVER if before is None else before.active_epoch
        return cls(
            record.broker_id,
            record.broker_epoch,
            record.incarnation_id,
            [
                Endpoint(e.name, e.host, e.port, SecurityProtocol(e.security_protocol))
                for e in record.end_points
            ],
            record.rack,
            record.log_dirs,
            record.fenced,
            record.in_controlled_shutdown,
            active_epoch if record.fenced else record.broker_epoch,
            {
                each.name: FeatureRange(each.min_supported_version, each.max_supported_version)
                for each in record.features
            },
        )

    def changed(self, record: BrokerRegistrationChangeRecord) -> "BrokerImage":
        """1 sets and -1 unsets what was so; being shut down ends with the registration."""
        fenced = {1: True, -1: False}.get(record.fenced, self.fenced)
        return replace(
            self,
            fenced=fenced,
            in_controlled_shutdown=self.in_controlled_shutdown or record.in_controlled_shutdown > 0,
            log_dirs=record.log_dirs or self.log_dirs,
            active_epoch=self.active_epoch if fenced else self.epoch,
        )

    def records(self) -> list[RegisterBrokerRecord]:
        """The records that make this broker out of nothing.

        An active epoch that is not this registration's takes a registration of its own.
        """
        own = self._record(self.epoch, fenced=self.fenced)
        if not self.fenced or self.active_epoch == NEVER:
            return [own]
        return [self._record(self.active_epoch, fenced=False), own]

    def _record(self, epoch: int, *, fenced: bool) -> RegisterBrokerRecord:
        return RegisterBrokerRecord(
            broker_id=self.id,
            incarnation_id=self.incarnation_id,
            broker_epoch=epoch,
            end_points=[BrokerEndpoint(*endpoint) for endpoint in self.endpoints],
            features=[BrokerFeature(name, *levels) for name, levels in self.features.items()],
            rack=self.rack,
            fenced=fenced,
            in_controlled_shutdown=self.in_controlled_shutdown,
            log_dirs=self.log_dirs,
        )

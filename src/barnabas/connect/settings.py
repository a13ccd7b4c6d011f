"""What the service is started with."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Timing:
    """When an instance is taken to be dead. All in seconds.

    A leader's drivers stop their queries `lease_s` after the last heartbeat that the brokers have
    acknowledged; another instance takes over `takeover_s` after it has seen one. The first has to
    be shorter, so that a leader that only seems dead has stopped by then.
    """

    heartbeat_s: float = 0.5
    lease_s: float = 4.0
    takeover_s: float = 5.0


@dataclass(frozen=True)
class ServiceSettings:
    """One instance."""

    bootstrap: str
    checkpoints: str
    """A folder, or a URL of a file system that all instances share."""
    pipelines: Path
    """The folder of `pipeline.file`."""
    host: str = "127.0.0.1"
    port: int = 8083
    advertised: str | None = None
    """The URL under which other instances reach this one."""
    group: str = "connect"
    """The name of the service: instances with the same one belong together."""
    configs_topic: str = "connect-configs"
    status_topic: str = "connect-status"
    replication_factor: int | None = None
    master: str = "local[*]"
    conf: Mapping[str, str | int | bool] = field(default_factory=dict)
    """Spark's settings for all drivers."""
    memory: str | None = None
    """The heap of a driver's JVM, as `2g`."""
    restarts: int = 10
    reports: bool = True
    """Whether progress is reported for the console."""
    timing: Timing = Timing()
    max_body_bytes: int = 1 << 20
    security: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Encryption and sign-in by Kafka's names of settings."""
    allow_code: bool = False
    """Whether connectors may have SQL, classes and Spark settings (`code_settings`)."""
    instances: tuple[str, ...] = ()
    """URLs of all instances, to which requests may be passed on (`web.known_instances`)."""
    public_hosts: tuple[str, ...] = ()
    """Other names under which clients reach it."""

    @property
    def known_hosts(self) -> frozenset[str]:
        """The names that a request may ask for."""
        urls = (*self.instances, *([] if self.advertised is None else [self.advertised]))
        named = (urlsplit(each).hostname or "" for each in urls)
        return frozenset((self.host, *self.public_hosts, *named))

    @property
    def logs(self) -> Path:
        """Where logs, locks and statuses of drivers are."""
        return Path(".barnabas/connect") if "://" in self.checkpoints else Path(self.checkpoints)

"""What a flow has yet to copy, looked at again and again."""

from time import time

from barnabas.mirror.flow import Flow
from barnabas.mirror.groups.driver_note import DriverNote
from barnabas.mirror.operations.mirror_clients import MirrorClients
from barnabas.mirror.operations.never_copied import never_copied
from barnabas.mirror.operations.progress_wait import Remaining
from barnabas.mirror.operations.status import MirrorStatus, collect_status
from barnabas.quantities import counted, some

_NEW_DRIVER_S = 600.0


class RemainingRecords:
    """Of one flow. Make it when the wait begins."""

    def __init__(self, flow: Flow, clients: MirrorClients) -> None:
        self._flow = flow
        self._clients = clients
        self._began: dict[tuple[str, int], int] | None = None

    async def look(self) -> Remaining:
        flow = self._flow
        found = await collect_status(flow, self._clients)
        missing = await never_copied(flow, self._clients)
        unbegun, words = len(missing), []
        if not found.mirrored:
            unbegun += 1
            words.append(f"{flow.name} has copied nothing yet")
        elif found.lag is None:
            unbegun += 1
            words.append(f"{flow.name} has a partition that {flow.source.name} does not have")
        elif found.lag:
            words.append(f"{flow.name}: {counted(found.lag, 'offset')}")
        if missing:
            words.append(f"{flow.name} has copied nothing of {some(missing)}")
        is_starting = bool(words) and not self._has_moved(found) and await self._has_new_driver()
        if is_starting:
            words[-1] += ", its driver is starting"
        return Remaining(unbegun, found.lag or 0, tuple(words), is_starting)

    def _has_moved(self, found: MirrorStatus) -> bool:
        """Whether anything was copied since the first look; heartbeats count here."""
        positions = {(each.topic, each.partition): each.position for each in found.partitions}
        if self._began is None:
            self._began = positions
        return positions != self._began

    async def _has_new_driver(self) -> bool:
        """Whether one has begun a short while ago: the first thing it does is to write a note.

        It writes another one when it has a problem, so such a note says nothing about its start.
        """
        note = await DriverNote(self._flow, self._clients.target).read()
        if note is None or note.problems:
            return False
        return time() - note.timestamp_ms / 1000 < _NEW_DRIVER_S

"""What a flow has yet to copy, looked at again and again."""

from barnabas.mirror.flow import Flow
from barnabas.mirror.operations.mirror_clients import MirrorClients
from barnabas.mirror.operations.never_copied import never_copied
from barnabas.mirror.operations.progress_wait import Remaining
from barnabas.mirror.operations.status import collect_status
from barnabas.quantities import counted, some


class RemainingRecords:
    """Of one flow. Make it when the wait begins."""

    def __init__(self, flow: Flow, clients: MirrorClients) -> None:
        self._flow = flow
        self._clients = clients

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
        return Remaining(unbegun, found.lag or 0, tuple(words))

"""Members of a group at rest, all in this process: `idle_members BOOTSTRAP TOPIC PROTOCOL COUNT`.

They keep their memberships and read nothing. It prints a line when all of them have partitions or
know that they get none, and goes on until its input ends.
"""

import asyncio
import sys

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.group.classic_member import ClassicMember
from barnabas.client.group.consumer_member import ConsumerMember

GROUP = "at-rest"


async def _classic(cluster: ClusterClient, topic: str, count: int) -> None:
    members = [ClassicMember(cluster, GROUP, [topic]) for _ in range(count)]

    async def stay(member: ClassicMember) -> None:
        while True:
            await member.rejoin_needed.wait()
            await member.join()

    staying = [asyncio.create_task(stay(each)) for each in members]
    while any(each.rejoin_needed.is_set() for each in members):
        await asyncio.sleep(0.5)
    await _until_told(staying)


async def _consumer(cluster: ClusterClient, topic: str, count: int) -> None:
    members = [ConsumerMember(cluster, GROUP, [topic]) for _ in range(count)]

    async def stay(member: ConsumerMember) -> None:
        member.start()
        while True:
            await member.changed.wait()
            member.changed.clear()
            if member.failure is not None:
                raise member.failure
            if member.assignment is not None:
                member.acknowledge(member.assignment)

    staying = [asyncio.create_task(stay(each)) for each in members]
    while any(each.assignment is None for each in members):
        await asyncio.sleep(0.5)
        for each in staying:
            if each.done():
                each.result()
    await _until_told(staying)


async def _until_told(staying: list["asyncio.Task[None]"]) -> None:
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    for each in staying:
        each.cancel()
    await asyncio.gather(*staying, return_exceptions=True)


async def main() -> None:
    bootstrap, topic, protocol, count = sys.argv[1:]
    async with ClusterClient(bootstrap, retry_timeout_ms=120_000) as cluster:
        await cluster.topics([topic])
        await (_classic if protocol == "classic" else _consumer)(cluster, topic, int(count))


if __name__ == "__main__":
    asyncio.run(main())

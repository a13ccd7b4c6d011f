"""The clients: producer, consumer, groups, connections, administration and queues."""

from tools.mutations.mutation import Mutation

CLIENT = (
    Mutation(
        name="producer-duplicate-is-a-failure",
        file="client/producer/batch_completion.py",
        old="in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):",
        new="in (ErrorCode.NONE,):",
        breaks="A record that arrived at the second attempt is reported as failed.",
        areas=("client/producer/test_record_producer.py", "client/producer"),
    ),
    Mutation(
        name="producer-commits-without-flush",
        file="client/producer/transaction.py",
        old="        self._state = _State.ENDING\n        await self._producer.flush()\n",
        new="        self._state = _State.ENDING\n",
        breaks="A transaction commits without its last records.",
        areas=("client/producer/test_transactions.py", "client/producer"),
    ),
    Mutation(
        name="consumer-commits-message-at-work",
        file="client/consumer/committer.py",
        old="            return max(low, message.offset)\n",
        new="            return max(low, message.offset + 1)\n",
        breaks="A message that is being processed during a crash is never processed.",
        areas=("client/consumer/test_committer.py", "client/consumer"),
    ),
    Mutation(
        name="consumer-hides-after-abort",
        file="client/consumer/completed_fetch.py",
        old="        if not aborted.hide(header, batch) and not header.is_control:\n",
        new="        if not header.is_control and not aborted.hide(header, batch):\n",
        breaks="After an aborted transaction, committed records of that producer are skipped.",
        areas=("client/consumer/test_isolation.py", "client/consumer", "api/test_consumer.py"),
    ),
    Mutation(
        name="assignor-overlaps-ranges",
        file="client/group/assignors.py",
        old="            end = start + share + (index < remainder)\n",
        new="            end = start + share + (index <= remainder)\n",
        breaks="A member is assigned a partition that does not exist.",
        areas=("client/group/test_assignors.py",),
    ),
    Mutation(
        name="client-believes-old-leaders",
        file="client/connect/cluster_metadata.py",
        old="        old if old.leader_epoch > new.leader_epoch else new\n",
        new="        old if old.leader_epoch < new.leader_epoch else new\n",
        breaks="A client keeps sending to the former leader of a partition.",
        areas=("client/connect/test_cluster_client.py", "client/test_failover.py"),
    ),
    Mutation(
        name="group-reset-beyond-the-end",
        file="client/admin/group_reset.py",
        old="min(max(wanted[each], first), end)",
        new="max(wanted[each], first)",
        breaks="A reset commits an offset that is out of range.",
        areas=("cli/admin/test_groups.py",),
    ),
    Mutation(
        name="queue-dead-letter-too-late",
        file="client/share/settlement.py",
        old="message.delivery_count >= self._retries.max_deliveries",
        new="message.delivery_count > self._retries.max_deliveries",
        breaks="A message that always fails is dropped by the broker instead of kept.",
        areas=("client/share", "api/queues"),
    ),
    Mutation(
        name="seek-to-end-goes-to-start",
        file="aio/positions.py",
        old="self._core.seek_to_time(LATEST, partitions)",
        new="self._core.seek_to_time(EARLIEST, partitions)",
        breaks="A consumer that asks for the end reads everything again.",
        areas=("api/test_generate_sync.py", "api/test_consumer.py"),
    ),
)

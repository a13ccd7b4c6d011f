"""The rule "decide, persist, replay" broken, in one of its three places at a time."""

from typing import Any
from unittest.mock import patch

from barnabas.controller.draft import Draft
from barnabas.coordination.decision import CoordinatorDecision, CoordinatorRecord
from barnabas.groups.classic.group import ClassicGroup
from barnabas.groups.offsets import commit
from barnabas.groups.offsets.group_offsets import propose_offset
from barnabas.metadata.records import MetadataRecord
from barnabas.transactions.image import TransactionImage
from barnabas.transactions.transaction import Transaction
from barnabas.wire.messages.metadata_records import BrokerRegistrationChangeRecord
from tests.sim.variant import Variant


def commit_while_deciding(group: ClassicGroup, *arguments: Any) -> CoordinatorRecord:
    record = propose_offset(group, *arguments)
    group._images.replay(*record)
    return record


def change_while_deciding(
    self: Transaction, image: TransactionImage, decision: CoordinatorDecision
) -> None:
    original_propose(self, image, decision)
    self._images.replay(*decision.records[-1])


original_propose = Transaction.propose


def believe_without_a_record(self: Draft, record: MetadataRecord) -> None:
    self.image.replay(record)
    if not isinstance(record, BrokerRegistrationChangeRecord):
        self.records.append(record)


VARIANTS: dict[str, Variant] = {
    "change committed offsets while deciding": Variant(
        [patch.object(commit, "propose_offset", commit_while_deciding)]
    ),
    "change a transaction while deciding": Variant(
        [patch.object(Transaction, "propose", change_while_deciding)], "transactions"
    ),
    "let the controller believe what it does not write": Variant(
        [patch.object(Draft, "write", believe_without_a_record)]
    ),
}

"""How groups are printed and written as JSON, with what each type has of its own.

All types have members and partitions. `_VIEWS` says which columns they have, by type.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import NamedTuple

from barnabas.cli.base.output import Cell, print_line, print_table
from barnabas.client.admin.descriptions import GroupOffset
from barnabas.client.admin.group_members import GroupMembers, GroupType, MemberDescription
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.coordination.mirror_groups import is_of_mirror
from barnabas.quantities import counted

Offsets = Mapping[TopicPartition, GroupOffset]


class _Column(NamedTuple):
    name: str
    cell: Callable[[MemberDescription], Cell]


class _OffsetColumn(NamedTuple):
    name: str
    cell: Callable[[GroupOffset], Cell]


class _View(NamedTuple):
    """What is particular about the groups of a type."""

    columns: tuple[_Column, ...]
    offset_columns: tuple[_OffsetColumn, ...]


def _names(partitions: list[TopicPartition] | None) -> str:
    return " ".join(map(str, partitions or ()))


def _target(member: MemberDescription) -> Cell:
    """What it moves to; nothing if it is there."""
    return None if member.target == member.partitions else _names(member.target)


def _in_flight(count: str) -> Callable[[GroupOffset], Cell]:
    def cell(offset: GroupOffset) -> Cell:
        return None if offset.in_flight is None else int(getattr(offset.in_flight, count))

    return cell


def _deliveries(offset: GroupOffset) -> Cell:
    """`1:30,2:4`: of the records in flight 30 were delivered once, and 4 twice."""
    if offset.in_flight is None:
        return None
    counts = offset.in_flight.deliveries.items()
    return ",".join(f"{count}:{records}" for count, records in counts) or None


_OFFSETS = (
    _OffsetColumn("committed", lambda each: each.committed),
    _OffsetColumn("end", lambda each: each.end),
    _OffsetColumn("lag", lambda each: each.lag),
    _OffsetColumn("member", lambda each: each.member_id),
)
_SHARE_OFFSETS = (
    _OffsetColumn("start", lambda each: each.committed),
    _OffsetColumn("end", lambda each: each.end),
    _OffsetColumn("backlog", lambda each: each.lag),
    _OffsetColumn("in flight", _in_flight("acquired")),
    _OffsetColumn("released", _in_flight("released")),
    _OffsetColumn("done", _in_flight("done")),
    _OffsetColumn("deliveries", _deliveries),
)
_MEMBER = (
    _Column("member", lambda each: each.member_id),
    _Column("client", lambda each: each.client_id),
    _Column("host", lambda each: each.host),
)
_PARTITIONS = _Column("partitions", lambda each: _names(each.partitions))
_VIEWS = {
    GroupType.CLASSIC: _View((*_MEMBER, _PARTITIONS), _OFFSETS),
    GroupType.CONSUMER: _View(
        (
            *_MEMBER,
            _Column("protocol", lambda each: each.protocol.value),
            _Column("epoch", lambda each: each.epoch),
            _PARTITIONS,
            _Column("target", _target),
        ),
        _OFFSETS,
    ),
    GroupType.SHARE: _View(
        (*_MEMBER, _Column("epoch", lambda each: each.epoch), _PARTITIONS),
        _SHARE_OFFSETS,
    ),
}
"""By type: another type is one entry here."""


def print_group(group: GroupMembers, offsets: Offsets) -> None:
    """A line for the group, a table of its partitions, a table of its members."""
    lag = sum(each.lag or 0 for each in offsets.values())
    is_share = group.group_type is GroupType.SHARE
    said = [group.state, counted(len(group.members), "member")]
    if is_of_mirror(group.group_id):
        said.append("recorded by a mirror")
    else:
        said.append(f"backlog {lag}" if is_share else f"lag {lag}")
    if group.assignor:
        said.append(f"assignor {group.assignor}")
    if group.epoch is not None:
        said.append(f"epoch {group.epoch}")
        if group.assignment_epoch != group.epoch:
            said.append(f"assignment of epoch {group.assignment_epoch}")
    print_line(f"{group.group_type} group {group.group_id}: {', '.join(said)}".strip())
    view = _VIEWS.get(group.group_type, _VIEWS[GroupType.CLASSIC])
    if offsets:
        print_table(
            ("topic", "partition", *(column.name for column in view.offset_columns)),
            [
                (*partition, *(column.cell(each) for column in view.offset_columns))
                for partition, each in offsets.items()
            ],
        )
    if group.members:
        print_line()
        print_table(
            [each.name for each in view.columns],
            [[column.cell(member) for column in view.columns] for member in group.members],
        )


def group_as_json(group: GroupMembers, offsets: Offsets) -> dict[str, object]:
    """The same for programs; what a type does not have is null."""
    return {
        "group": group.group_id,
        "type": group.group_type.value,
        "state": group.state,
        "assignor": group.assignor,
        "epoch": group.epoch,
        "assignment_epoch": group.assignment_epoch,
        "members": [
            {
                "member_id": member.member_id,
                "group_instance_id": member.group_instance_id,
                "client_id": member.client_id,
                "host": member.host,
                "rack": member.rack,
                "protocol": member.protocol.value,
                "epoch": member.epoch,
                "topics": member.topics,
                "topic_regex": member.topic_regex,
                "partitions": [list(each) for each in member.partitions],
                "target": None if member.target is None else [list(e) for e in member.target],
            }
            for member in group.members
        ],
        "offsets": [
            {
                "topic": partition.topic,
                "partition": partition.partition,
                "committed_offset": offset.committed,
                "end_offset": offset.end,
                "lag": offset.lag,
                "member_id": offset.member_id,
                "in_flight": None if offset.in_flight is None else asdict(offset.in_flight),
            }
            for partition, offset in offsets.items()
        ],
    }

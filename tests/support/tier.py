"""Which tests belong to which tier: `make test` (quick) or `make test-all` (everything).

A folder that is not listed in `EXTRACTS` is quick as a whole. Of a listed folder `make test` runs
only the tests named there: those that prove the most per second. Single tests that it leaves out
are in `thorough_tests.txt`, and files of which it runs a third in `SAMPLED`. Of the tests with a
real Spark it runs those in `quick_pipelines.py`.

A test anywhere that takes long is marked with `@pytest.mark.long`, and a test that needs the
machine to itself with `@pytest.mark.alone`: those run one by one after all others.

`pytest` alone runs everything it is given; `pytest --quick` leaves out what `make test` does.
"""

import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from tests.support.quick_pipelines import QUICK_PIPELINES

_VARIABLE = "PYTEST_QUICK"

EXTRACTS: Mapping[str, tuple[str, ...]] = {
    "api/test_engine_processes.py": (
        "test_a_client_that_was_forgotten_is_closed_at_exit_without_noise",
        "test_a_producer_that_was_forgotten_still_sends_what_it_has",
        "test_after_a_fork_the_child_has_an_engine_of_its_own",
        "test_ctrl_c_ends_a_program_that_waits",
    ),
    "api/typed/test_type_checkers.py": (),
    "changes/mysql/test_incremental.py": (
        "test_a_table_is_read_again_in_chunks_among_its_changes",
    ),
    "cluster": (
        "test_access_rules.py::test_without_rights",
        "test_checker.py",
        "test_cuts.py::test_a_leader[both ways]",
        "test_damage.py::test_a_damaged_leader_among_three[truncated]",
        "test_disks.py::test_a_wiped_follower",
        "test_exactly_once.py::test_a_zombie_is_fenced_by_the_next_coordinator",
        "test_freezes.py::test_the_controller",
        "test_kills.py::test_leaders_in_a_row",
        "test_kills.py::test_the_controller",
        "test_kills.py::test_two_of_three",
        "test_network.py",
        "test_rolling.py::test_default_clients_see_no_error",
        "test_share_groups.py::test_each_record_is_accepted_once",
        "test_sign_in.py::test_every_client_by_every_mechanism",
        "test_tls.py::test_clients",
        "test_workload.py::test_what_a_wiped_broker_has_lost_is_found",
    ),
    "console/test_attacks.py": (
        "test_a_body_that_is_too_large_is_not_kept",
        "test_no_header_is_injected",
        "test_strange_requests_are_refused",
    ),
    "console/test_browser.py": (
        "test_messages_are_read_searched_sent_and_followed",
        "test_the_overview_says_how_the_cluster_is",
    ),
    "console/test_browser_cluster.py": (),
    "console/test_browser_pipelines.py": (),
    "foreign_clients/test_auto_create.py": (
        "test_producing_creates_the_topic[aiokafka]",
        "test_producing_creates_the_topic[kafka-python]",
        "test_producing_fails_where_topics_are_not_created[confluent-kafka]",
    ),
    "foreign_clients/test_durability.py": (
        "test_a_full_disk[confluent-kafka]",
        "test_a_group_goes_on_where_it_was_after_kill",
        "test_a_torn_tail_is_cut_off",
        "test_acknowledged_records_survive_in_mid_stream[aiokafka-kill -9]",
        "test_acknowledged_records_survive_in_mid_stream[confluent-kafka-kill -9]",
        "test_acknowledged_records_survive_in_mid_stream[kafka-python-kill -9]",
    ),
    "foreign_clients/test_many.py": (
        "test_one_record_wakes_all_who_wait[aiokafka]",
        "test_one_record_wakes_all_who_wait[confluent-kafka]",
    ),
    "foreign_clients/test_produce_and_consume.py": (
        "test_a_consumer_is_woken_by_what_is_produced",
        "test_a_key_always_goes_to_the_same_partition",
        "test_a_message_of_ten_megabytes[confluent-kafka]",
        "test_a_message_over_the_limit_is_refused",
        "test_a_timestamp_is_given_when_the_producer_has_none",
        "test_an_idempotent_producer_stores_each_record_once",
        "test_every_compression_and_acks",
        "test_log_append_time",
    ),
    "foreign_clients/test_quotas.py": ("test_confluent_kafka",),
    "foreign_clients/test_record_checks.py": ("test_records_without_a_timestamp_are_kept",),
    "foreign_clients/test_transactions.py": (
        "test_a_member_that_lost_its_partitions_commits_nothing",
        "test_a_transaction_of_many_batches_and_segments[confluent-kafka-zstd]",
        "test_a_transaction_outlives_the_broker_that_served_it[confluent-kafka]",
        "test_a_transaction_that_takes_too_long_is_aborted",
        "test_a_zombie_is_fenced",
        "test_a_zombie_that_only_commits_is_told_so",
        "test_consume_transform_produce",
        "test_nothing_of_a_transaction_is_seen_before_it_is_committed",
        "test_offsets_are_committed_with_the_transaction",
        "test_one_transaction_after_the_other",
        "test_readers_wait_for_the_oldest_transaction",
        "test_retries_of_an_idempotent_producer_are_stored_once[confluent-kafka]",
        "test_the_end_of_a_partition_is_where_committed_records_end",
        "test_what_was_aborted_is_never_seen",
        "test_who_wants_stable_offsets_waits_for_the_transaction",
    ),
    "raft/test_known_bad.py": (
        "test_the_simulator_finds[vote before it is durable]",
        "test_the_simulator_finds[truncate to the high watermark]",
    ),
    # They show what the simulator is good for, and change with it.
    "sim/test_known_bad.py": (
        "test_the_simulator_finds[acknowledge with fewer replicas than min.insync.replicas]",
        "test_the_simulator_finds[assign a partition that another member owns]",
        "test_the_simulator_finds[commit what the leader has]",
        "test_the_simulator_finds[deliver records that another member holds]",
        "test_the_simulator_finds[never truncate]",
        "test_the_simulator_finds[show offsets of a transaction before its marker]",
        "test_the_simulator_finds[take a wiped disk for the same]",
        "test_the_simulator_finds[trust a disk that lost its tail]",
    ),
    # Every API of the route table; a few stand for the others.
    "hostile/test_every_field.py": (
        "test_the_largest_fields_keep_no_other_client_waiting[CreateTopicsRequest]",
        "test_the_largest_fields_keep_no_other_client_waiting[DeleteGroupsRequest]",
        "test_the_largest_fields_keep_no_other_client_waiting[SaslAuthenticateRequest]",
        "test_the_largest_fields_before_sign_in[ApiVersionsRequest]",
        "test_the_largest_fields_before_sign_in[SaslAuthenticateRequest]",
    ),
    "hostile/test_three_nodes.py": (
        "test_no_node_keeps_its_clients_waiting[CreatePartitionsRequest]",
        "test_no_node_keeps_its_clients_waiting[DeleteTopicsRequest]",
    ),
    "hostile/test_access_rules.py": (
        "test_judging_many_names_keeps_no_other_client_waiting[alice-FindCoordinatorRequest]",
        "test_judging_many_names_keeps_no_other_client_waiting[carol-DescribeGroupsRequest]",
        "test_judging_many_names_keeps_no_other_client_waiting[carol-MetadataRequest]",
    ),
    "test_reach.py": (),
    "test_wheel.py": (),
    # Every program is a process.
    "examples/test_patterns.py": (
        "test_a_program_prints_what_its_page_says[exactly-once]",
        "test_a_program_prints_what_its_page_says[hello]",
        "test_a_program_prints_what_its_page_says[retries]",
        "test_a_program_prints_what_its_page_says[work-queue]",
    ),
    # Every command of a page is a process.
    "examples/test_documents.py": (
        "test_every_snippet_about_clusters_runs_with_three_nodes[README.md]",
        "test_every_snippet_about_clusters_runs_with_three_nodes[quickstart.md]",
        "test_a_snippet_that_fails_or_prints_something_else_is_noticed",
        "test_handlers_say_which_versions_they_serve",
    ),
}
"""Folders or files below tests/, and the tests that `make test` runs of each, by node id."""


def _thorough_tests() -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for line in Path(__file__).with_name("thorough_tests.txt").read_text().splitlines():
        if not line.startswith("#"):
            file, _, test = line.partition("::")
            found[file].append(test)
    return dict(found)


THOROUGH_TESTS: Mapping[str, list[str]] = _thorough_tests()
"""Files below tests/, and the tests that `make test` leaves out of each, by node id."""


SAMPLED = (
    "controller/test_lost_nothing.py",
    "share/test_share_partition_model.py",
    "wire/test_foreign_codecs.py",
    "wire/test_hostile_input.py",
)
"""Files that ask the same of many messages or seeds: `make test` asks it of every third."""
_OF_A_SAMPLE = 3


def is_quick() -> bool:
    """Whether this is a run of `make test`: fewer seeds, fewer examples."""
    return os.environ.get(_VARIABLE) == "1"


def set_quick() -> None:
    os.environ[_VARIABLE] = "1"  # workers and modules that are about to be imported look there


def is_in_quick_tier(node_id: str) -> bool:
    """By the tables, where the innermost folder counts; markers are looked at elsewhere."""
    file, _, test = node_id.removeprefix("tests/").partition("::")
    if any(_begins(test, each) for each in THOROUGH_TESTS.get(file, ())):
        return False
    places = [place for place in EXTRACTS if _begins(node_id, f"tests/{place}")]
    if not places:
        return True
    place = max(places, key=len)
    inside = node_id.removeprefix(f"tests/{place}").lstrip("/:")
    return any(_begins(inside, each) for each in EXTRACTS[place])


def _begins(node_id: str, prefix: str) -> bool:
    rest = node_id.removeprefix(prefix)
    return rest != node_id and rest[:1] in ("", "/", ":", "[")


def split(items: Iterable[pytest.Item]) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """What the quick tier runs, and what it leaves out."""
    kept: list[pytest.Item] = []
    left: list[pytest.Item] = []
    cases: Counter[str] = Counter()
    for item in items:
        is_long = item.get_closest_marker("long") is not None
        is_kept = not is_long and is_in_quick_tier(item.nodeid) and not _is_left_pipeline(item)
        function, _, case = item.nodeid.removeprefix("tests/").partition("[")
        if case and function.partition("::")[0] in SAMPLED:
            is_kept = is_kept and not cases[function] % _OF_A_SAMPLE
            cases[function] += 1
        (kept if is_kept else left).append(item)
    return kept, left


def needs_session(item: pytest.Item) -> bool:
    """Whether it uses the Spark session that tests of a worker share."""
    return isinstance(item, pytest.Function) and "spark" in item.fixturenames


def _is_left_pipeline(item: pytest.Item) -> bool:
    if not needs_session(item) and item.get_closest_marker("drivers") is None:
        return False
    inside = item.nodeid.removeprefix("tests/")
    return not any(_begins(inside, each) for each in QUICK_PIPELINES)


def examples(usual: int) -> int:
    """How many examples or seeds are tried: few in `make test`, which tries the same every time."""
    return max(5, usual // 5) if is_quick() else usual

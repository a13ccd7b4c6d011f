"""Options mean what they mean to Spark's own source, and what is wrong is said at once."""

import pytest

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.offsets.isolation import IsolationLevel
from barnabas.client.offsets.list_offsets import EARLIEST, LATEST
from barnabas.errors import InvalidArgument
from barnabas.spark.source.log_offsets import _for_each
from barnabas.spark.source.options import BatchOptions, StreamOptions, batch_options, stream_options
from barnabas.spark.source.positions import Positions, json_of, offsets_of
from barnabas.spark.source.subscription import Assigned, Named, Pattern

LEAST = {"kafka.bootstrap.servers": "host:1", "subscribe": "orders"}


def batch(**given: str) -> BatchOptions:
    return batch_options(LEAST | given)


def stream(**given: str) -> StreamOptions:
    return stream_options(LEAST | given)


def test_a_batch_is_all_there_is_and_a_stream_what_comes() -> None:
    assert (batch().source.starting, batch().ending) == (Positions(EARLIEST), Positions(LATEST))
    assert stream().source.starting == Positions(LATEST)
    assert batch().source.fail_on_data_loss
    assert batch().source.consumer.isolation is IsolationLevel.READ_COMMITTED
    assert batch().source.subscription == Named(("orders",))


def test_names_are_taken_in_any_case() -> None:
    options = stream_options(
        {
            "Kafka.Bootstrap.Servers": "host:1",
            "SUBSCRIBEPATTERN": "a.*",
            "MaxOffsetsPerTrigger": "7",
            "maxtriggerdelay": "2 min",
            "GroupID": "Billing",
            "failondataloss": "FALSE",
        }
    )
    assert options.source.subscription == Pattern("a.*")
    assert options.max_offsets_per_trigger == 7
    assert options.max_trigger_delay_ms == 120_000
    assert options.group_id == "Billing"
    assert not options.source.fail_on_data_loss


def test_single_partitions_and_offsets_of_each() -> None:
    given = {
        "kafka.bootstrap.servers": "host:1",
        "assign": '{"orders": [0, 2]}',
        "startingOffsets": '{"orders": {"0": 23, "2": -2}}',
        "endingOffsetsByTimestamp": '{"orders": {"0": 1700000000000, "2": 0}}',
    }
    options = batch_options(given)
    named = (TopicPartition("orders", 0), TopicPartition("orders", 2))
    assert options.source.subscription == Assigned(named)
    assert options.source.starting == Positions(each=dict(zip(named, (23, -2), strict=True)))
    times = dict(zip(named, (1_700_000_000_000, 0), strict=True))
    assert options.ending == Positions(each=times, are_times=True)


def test_offsets_of_some_and_a_place_for_all_others() -> None:
    options = batch(startingOffsets='{"orders": {"0": 23}, "*": -2}')
    first, second = TopicPartition("orders", 0), TopicPartition("orders", 1)
    assert options.source.starting == Positions(EARLIEST, {first: 23})
    assert options.source.starting.places == {EARLIEST, 23}
    assert _for_each(options.source.starting, [first, second]) == {first: 23, second: EARLIEST}
    with pytest.raises(InvalidArgument, match="must name exactly the partitions that are read"):
        _for_each(options.source.starting, [second])


def test_a_time_for_all_goes_before_other_starts() -> None:
    options = batch(
        startingTimestamp="5",
        startingOffsetsByTimestamp='{"orders": {"0": 6}}',
        startingOffsets="earliest",
    )
    assert options.source.starting == Positions(5, are_times=True)


def test_offsets_have_the_form_of_spark_s_checkpoints() -> None:
    offsets = {TopicPartition("b", 1): 5, TopicPartition("a", 0): 0}
    assert json_of(offsets) == {"a": {"0": 0}, "b": {"1": 5}}
    assert offsets_of("it", json_of(offsets)) == offsets


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"assign": '{"a": [0]}'}, "one of subscribe, subscribePattern and assign"),
        ({"subscribe": " , "}, "names no topic"),
        ({"startingOffsets": "latest"}, "is empty"),
        ({"startingOffsets": '{"orders": {"0": -1}}'}, "is empty"),
        ({"startingOffsets": "soon"}, '"earliest", "latest" or JSON'),
        ({"startingOffsets": '{"orders": 3}'}, "expected"),
        ({"startingOffsets": '{"orders": {"zero": 3}}'}, "expected a partition and offset"),
        ({"startingOffsets": '{"orders": {"0": -3}}'}, "not negative"),
        ({"startingOffsets": '{"*": 3}'}, r'"\*" is -2 \(earliest\) or -1 \(latest\)'),
        ({"endingOffsets": "earliest"}, "is empty"),
        ({"startingTimestamp": "today"}, "milliseconds"),
        ({"startingOffsetsByTimestampStrategy": "guess"}, '"error" or "latest"'),
        ({"minPartitions": "0"}, "at least 1"),
        ({"failOnDataLoss": "no"}, '"true" or "false"'),
        ({"failOnDataLos": "true"}, "did you mean failOnDataLoss"),
        ({"kafka.isolation.level": "serializable"}, "read_committed"),
        ({"kafka.security.protocol": "TLS"}, "unknown security.protocol 'TLS'"),
        ({"kafka.ssl.keystore.location": "x"}, "has no effect with security.protocol=PLAINTEXT"),
        ({"kafka.auto.offset.reset": "latest"}, "use startingOffsets"),
        ({"kafka.fetch.max.byte": "1"}, "did you mean kafka.fetch.max.bytes"),
        ({"kafka.request.timeout.ms": "long"}, "is a number"),
        ({"kafka.bootstrap.servers": ""}, "no bootstrap servers"),
    ],
)
def test_what_cannot_be_right_is_refused_and_explained(given: dict[str, str], said: str) -> None:
    with pytest.raises(InvalidArgument, match=said):
        batch_options(LEAST | given)


def test_a_stream_has_no_end() -> None:
    with pytest.raises(InvalidArgument, match="a stream does not end"):
        stream(endingOffsets="latest")
    with pytest.raises(InvalidArgument, match="maxTriggerDelay must be a duration"):
        stream(maxTriggerDelay="soon")


def test_tuning_reaches_the_fetches() -> None:
    tuning = batch(**{"kafka.max.partition.fetch.bytes": "123"}).source.consumer.tuning
    assert tuning.partition_max_bytes == 123

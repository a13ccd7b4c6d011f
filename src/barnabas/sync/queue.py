"""Job queues for many workers, on share groups."""

# Made from ../aio/queue.py by `make sync`: change it there.

import logging
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from time import monotonic
from types import TracebackType
from typing import Any

from barnabas.client.connect.address import BootstrapServers
from barnabas.client.connect.option_checks import check_at_least
from barnabas.client.connect.security_settings import SecurityValue
from barnabas.client.consumer.consumer_options import IsolationName
from barnabas.client.delays.delayed_record import due_ms_of
from barnabas.client.delays.delayed_sends import DelayedSends, now_ms
from barnabas.client.durations import Duration
from barnabas.client.producer.sent_record import Sent
from barnabas.client.results.job_ids import reply_to
from barnabas.client.results.submitted_job import SubmittedJob
from barnabas.client.share.queue_core import CLOSE_TIMEOUT_S
from barnabas.client.share.queue_message import QueueMessage
from barnabas.client.share.queue_options import StartName, core_of, producer_of, topics_of
from barnabas.errors import ClientClosed, InvalidArgument
from barnabas.formats import Format, FormatName, choose, encoder
from barnabas.records.record import Header
from barnabas.sync.waiting import Client
from barnabas.sync.workers import run_workers

_GOODBYE_S = 5.0  # for closing after an interrupt or a cancellation
_PREFETCH_PER_WORKER = 2

_log = logging.getLogger("barnabas.queue")

Handler = Callable[[QueueMessage], object]
SendJob = Callable[[Sequence[Header]], Coroutine[Any, Any, Sent]]


class Queue(Client):
    """Takes jobs from topics as a member of a share group; each job goes to one worker.

        with barnabas.Queue("localhost:9092", "jobs", group="workers") as queue:
            for job in queue:
                print(job.value)

    A record is locked for one worker, and delivered to another if it is not done in time. There may
    be more workers than partitions, and jobs complete in any order.

    - A job is accepted when the loop asks for the next one. If an exception or a `break` ends the
      loop, its job is released, unless you have called `job.accept()`.
    - `job.release(delay=5)` delivers it again, `job.reject()` never.
    - `run(handler, concurrency=8)` handles several jobs at a time.
    - `submit(value)` queues a job whose result can be waited for: what its handler returns.

    A lock lasts 30 s by default, and is renewed for `max_lock_renewal_s` while the worker is alive.
    A job may be delivered twice if a worker dies or a broker fails before it is accepted.

    Needs Barnabas, or Kafka 4.2 with share groups enabled (share.version=1). Many threads or tasks
    may share a queue.
    """

    def __init__(
        self,
        bootstrap_servers: BootstrapServers = "localhost:9092",
        topics: str | Iterable[str] = (),
        *,
        group: str,
        start: StartName | None = "earliest",
        isolation: IsolationName | None = "read_committed",
        prefetch: int = 16,
        max_lock_renewal_s: float = 300.0,
        retry_delay_s: float | Sequence[float] = 0.0,
        dead_letters: str | None = None,
        max_deliveries: int = 4,
        key: type[Any] | Format[Any] | None = None,
        value: type[Any] | Format[Any] | None = None,
        key_format: FormatName | Format = "bytes",
        value_format: FormatName | Format = "bytes",
        result: type[Any] | Format[Any] | None = None,
        result_format: FormatName | Format | None = None,
        results_of: str | Iterable[str] = (),
        close_timeout_s: float = CLOSE_TIMEOUT_S,
        client_id: str = "barnabas",
        security: Mapping[str, SecurityValue] | None = None,
    ) -> None:
        """The client connects when it is first used.

        - `group`: the share group; its members share the jobs.
        - `start`: where a new group starts, "earliest" or "latest"; `isolation`: whether records of
          open and aborted transactions are delivered. These are group settings, which the queue
          sets if the group has no value yet. None uses the broker's default.
        - `prefetch`: maximum number of records locked for this worker, at least one from each
          broker.
        - `max_lock_renewal_s`: how long a lock is renewed: the longest time that a job may wait and
          run in this worker. 0: never; a lock then lasts as long as the group's setting says.
        - `retry_delay_s`: the pause before a failed job is delivered again, or one for each
          delivery: (1, 10, 60). See `QueueMessage.release` for what it can't do.
        - `dead_letters`: a topic for jobs that are rejected, can't be decoded, or have failed
          `max_deliveries` times. Without it, the broker drops them after its delivery limit.
        - `max_deliveries`: must be less than the broker's limit (share.delivery.count.limit of the
          group, 5 by default), whose last delivery is kept for jobs that kill their workers.
          `InvalidArgument` is raised if it is not, and the limit can be read.
        - `key`, `value`: types of keys and values, such as a dataclass: `value=Mail`.
        - `key_format`, `value_format`: how keys and values are encoded and decoded, instead.
        - `result`, `result_format`: the same for results of jobs; JSON by default.
        - `results_of`: topics whose jobs are continued here (`put(..., continues=job)`): results go
          to their topics of results too, and to no others.
        - `close_timeout_s`: how long closing waits for responses.
        - `security`: Kafka's client settings for encryption and authentication, such as
          {"security.protocol": "SSL", "ssl.ca.location": "ca.pem"}.
        """
        key_format = choose(key, key_format, "key")
        value_format = choose(value, value_format, "value")
        if result is not None or result_format is None:
            result_format = "json" if result is None else choose(result, "bytes", "result")
        names = topics_of(topics)
        self._topics = names
        self._encode_key = None if key_format == "bytes" else encoder(key_format, "key_format")
        self._encode_value = (
            None if value_format == "bytes" else encoder(value_format, "value_format")
        )
        self._producer = producer_of(bootstrap_servers, client_id=client_id, security=security)
        self._core = core_of(
            bootstrap_servers,
            names,
            group=group,
            start=start,
            isolation=isolation,
            prefetch=prefetch,
            max_lock_renewal_s=max_lock_renewal_s,
            retry_delay_s=retry_delay_s,
            dead_letters=dead_letters,
            max_deliveries=max_deliveries,
            key_format=key_format,
            value_format=value_format,
            result_format=result_format,
            results_of=results_of,
            close_timeout_s=close_timeout_s,
            client_id=client_id,
            security=security,
            producer=self._producer,
        )
        self._delays = DelayedSends(
            self._core.cluster, self._producer.send, self._core.look_for_delayed
        )
        self._current: set[QueueMessage] = set()
        super().__init__(self._core)

    # -- jobs in -------------------------------------------------------------------------------

    def put(
        self,
        value: Any,
        key: Any = None,
        *,
        headers: Sequence[Header] = (),
        timestamp_ms: int | None = None,
        delay: Duration | None = None,
        at: datetime | None = None,
        continues: QueueMessage | None = None,
    ) -> Sent:
        """Queue a record for the topic, and return an object to wait for its delivery.

        It is sent at once. For many records, a `Producer` is faster. Leaving the block waits until
        all are delivered.

        With a `delay`, such as "10m", a timedelta or seconds, or at a time, workers get it then and
        not before. Until then it is in the topic TOPIC.delayed, which is created with the first.
        Its timestamp is the time when it was moved to the topic.

        With `continues`, it is the next step of a job: that one is accepted when this one is
        stored, and its submitter gets the result of this one.
        """
        send = self._sender(value, key, timestamp_ms, delay, at)
        if continues is None:
            return self._wait(send(headers))
        reply = reply_to(continues.headers)
        sent = self._wait(send([*headers, *(reply.headers if reply else ())]))
        continues.continued_by = sent
        return sent

    def submit(
        self,
        value: Any,
        key: Any = None,
        *,
        headers: Sequence[Header] = (),
        delay: Duration | None = None,
        at: datetime | None = None,
    ) -> SubmittedJob:
        """Queue a record whose result can be waited for: `queue.submit(4).result()`.

        The result is what the handler of `run` returns, or `job.accept(result)`. It is stored in
        the topic TOPIC.results, before the job is accepted, and expires after a day. With its `id`,
        any process can wait for it: `submitted`.
        """
        send = self._sender(value, key, None, delay, at)
        assert self._core.results is not None
        return self._wait(self._core.results.submit(self._topic(), headers, send))

    def submitted(self, job_id: str) -> SubmittedJob:
        """A job that was submitted earlier, perhaps by another process, by its `id`."""
        assert self._core.results is not None
        return self._wait(self._core.results.submitted(self._topic(), job_id))

    def _topic(self) -> str:
        if len(self._topics) != 1:
            raise InvalidArgument("this queue reads several topics: use a Producer to send")
        return self._topics[0]

    def _sender(
        self,
        value: Any,
        key: Any,
        timestamp_ms: int | None,
        delay: Duration | None,
        at: datetime | None,
    ) -> SendJob:
        """What sends a record with some headers, now or later."""
        topic = self._topic()
        if self._encode_value is not None:
            value = self._encode_value(value)
        if self._encode_key is not None:
            key = self._encode_key(key)
        due_ms = due_ms_of(delay, at, now_ms())
        if due_ms is None:
            return lambda headers: self._producer.send(
                topic, value, key, headers, None, timestamp_ms
            )
        if timestamp_ms is not None:
            raise InvalidArgument("a delayed record has the timestamp of its delivery")
        return lambda headers: self._delays.send(topic, value, key, headers, due_ms)

    # -- jobs out ------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[QueueMessage]:
        """Yield jobs; ends when the queue is stopped or closed."""
        while (message := self._next(None)) is not None:
            self._current.add(message)
            try:
                yield message
            except GeneratorExit:  # the loop was left in the middle of this turn
                if not self._registration.closed:
                    self._left(message, None)
                raise
            self._current.discard(message)
            self._core.finish(message)
            self._breathe()

    def get(self, timeout_s: float | None = None) -> QueueMessage | None:
        """Return one job, or None after `timeout_s`, or when the queue is stopped.

        You have to accept, release or reject it. Closing the queue releases it. As long as no
        broker could be reached yet, `BrokerUnreachable` is raised after `timeout_s` instead.
        """
        check_at_least(0, timeout_s=timeout_s)
        return self._next(timeout_s)

    def run(self, handler: Handler, *, concurrency: int = 1, stop_timeout_s: float = 30.0) -> None:
        """Call `handler(job)` for each job, up to `concurrency` at a time, until `stop` is called.

            queue.run(handle, concurrency=8)

        A job is accepted when its handler returns, unless the handler released or rejected it. What
        it returns is the result of a job that was submitted. If
        the handler raises, the error is logged, and the job is delivered again after
        `retry_delay_s` or becomes a dead letter. After Ctrl-C or SIGTERM, running jobs have
        `stop_timeout_s` to finish; after SIGTERM this returns as after `stop`, unless the program
        handles that signal itself.
        """
        check_at_least(1, concurrency=concurrency)
        check_at_least(0, stop_timeout_s=stop_timeout_s)
        prefetch = _PREFETCH_PER_WORKER * concurrency
        self._core.held.prefetch = max(self._core.held.prefetch, prefetch)

        def work() -> None:
            while (message := self._next(None)) is not None:
                self._handle(handler, message)

        run_workers(concurrency, work, self.stop, stop_timeout_s)

    def stop(self) -> None:
        """End all loops and `run` after their current jobs. Can be called from threads and signals.

        A stopped queue returns no further jobs: close it.
        """
        self._core.stop()

    def pause(self) -> None:
        """Lock and return no further jobs until `resume`; jobs that you have stay locked for you.

        Prefetched jobs are released. Can be called from any thread.
        """
        self._core.pause()

    def resume(self) -> None:
        """Continue after `pause`."""
        self._core.resume()

    def flush(self) -> None:
        """Wait until brokers have answered all acknowledgements so far."""
        self._wait(self._core.flush())

    def _handle(self, handler: Handler, message: QueueMessage) -> None:
        try:
            result = self._call(handler, message)
            self._core.finish(message, result)
        except Exception as error:  # noqa: BLE001 - whatever a handler raises
            _log_failure(message, error)
            self._core.fail(message, error)
        except BaseException as error:  # interrupted or cancelled
            self._left(message, error)
            raise
        self._breathe()

    def _next(self, timeout_s: float | None) -> QueueMessage | None:
        self._registration.check()
        deadline = None if timeout_s is None else monotonic() + timeout_s
        while True:
            message = self._core.take()
            if message is not None or self._core.is_stopped:
                return message
            left_s = None if deadline is None else max(0.0, deadline - monotonic())
            try:
                self._wait(self._core.wait_for_messages(left_s))
            except ClientClosed:
                return None
            if left_s == 0.0:
                return self._core.take()

    def _left(self, message: QueueMessage, error: BaseException | None) -> None:
        """The application has left a job in the middle."""
        self._current.discard(message)
        if message.is_settled:
            return
        if error is None:
            message.release()
        else:
            self._core.fail(message, error)

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for message in list(self._current):
            if not self._registration.closed:
                self._left(message, error)
        if error is not None and not isinstance(error, Exception):  # interrupted: do not take long
            self._core.close_timeout_s = min(self._core.close_timeout_s, _GOODBYE_S)
        super().__exit__(error_type, error, traceback)


def _log_failure(message: QueueMessage, error: Exception) -> None:
    """One line; the traceback is logged for those who debug."""
    _log.warning(
        "%s-%d at offset %d: delivery %d failed: %s: %s",
        message.source.topic,
        message.source.partition,
        message.offset,
        message.delivery_count,
        type(error).__name__,
        error,
        exc_info=error if _log.isEnabledFor(logging.DEBUG) else None,
        extra={
            "topic": message.source.topic,
            "partition": message.source.partition,
            "offset": message.offset,
        },
    )

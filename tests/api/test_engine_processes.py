"""The end of a program with clients that were not closed, forks, and running without uvloop."""

import subprocess
import sys
from pathlib import Path
from uuid import uuid4

from barnabas import Admin

ROOT = Path(__file__).parents[2]

BEGIN = """
import asyncio, os, signal, sys, threading, time
from tests.api.clock import AioClock, Clock, Core

class Loud(Core):
    async def close(self):
        await super().close()
        print("closed", flush=True)

def interrupt_when(condition):
    def press():
        while not condition():
            time.sleep(0.001)
        os.kill(os.getpid(), signal.SIGINT)
    threading.Thread(target=press).start()
"""


def run(
    program: str, *options: str, timeout_s: float = 60, status: int = 0
) -> "subprocess.CompletedProcess[str]":
    done = subprocess.run(
        [sys.executable, *options, "-c", BEGIN + program],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    assert done.returncode == status, done.stderr
    return done


def test_a_producer_that_was_forgotten_still_sends_what_it_has(bootstrap: str) -> None:
    topic = f"topic-{uuid4()}"
    with Admin(bootstrap) as admin:
        admin.create_topic(topic)
        program = f"""
from barnabas import Producer
producer = Producer({bootstrap!r}, linger_ms=60_000)
for _ in range(100):
    producer.send({topic!r}, b"value")
"""
        assert run(program).stderr == ""
        assert list(admin.offsets(topic).values()) == [100]
        done = run(program + f"producer.send({topic!r}, bytes(2_000_000))")
        assert "DeliveryFailed: 1 record was not delivered" in done.stderr
        assert list(admin.offsets(topic).values()) == [200]


def test_a_client_that_was_forgotten_is_closed_at_exit_without_noise() -> None:
    done = run("clock = Clock(Loud()); clock.age_s()")
    assert done.stdout == "closed\n"
    assert done.stderr == ""


def test_whoever_asks_is_warned_of_it() -> None:
    done = run("clock = Clock(Loud()); clock.age_s()", "-W", "default::ResourceWarning")
    assert done.stdout == "closed\n"
    assert "this Clock was not closed before the program ended: use it in a `with`" in done.stderr


def test_a_client_that_a_dead_function_held_is_closed_too() -> None:
    program = """
def use():
    core = Loud()
    core.closing_s = 0.2
    Clock(core).age_s()
use()
"""
    done = run(program, "-W", "default::ResourceWarning")
    assert done.stdout == "closed\n"
    assert "this Clock was not closed: use it in a `with` block" in done.stderr
    assert done.stderr.count("was not closed") == 1


def test_one_for_asyncio_is_closed_after_its_loop() -> None:
    program = """
async def main():
    global clock
    clock = AioClock(Loud())
    await clock.age_s()
asyncio.run(main())
"""
    done = run(program)
    assert (done.stdout, done.stderr) == ("closed\n", "")


def test_closing_that_is_cancelled_may_outlive_its_loop() -> None:
    program = """
ended = threading.Event()
class Stubborn(Core):
    async def close(self):
        self.closing.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            while not ended.is_set():
                await asyncio.sleep(0.001)
            print("closed", flush=True)
async def main():
    global clock
    clock = AioClock(Stubborn())
    closing = asyncio.create_task(clock.close())
    while not clock.core.closing.is_set():
        await asyncio.sleep(0.001)
    closing.cancel()
    await closing
try:
    asyncio.run(main())
except asyncio.CancelledError:
    print("ended", flush=True)
    ended.set()
"""
    done = run(program)
    assert (done.stdout, done.stderr) == ("ended\nclosed\n", "")


def test_what_fails_at_exit_is_printed() -> None:
    done = run("clock = Clock(Loud()); clock.core.failing = LookupError('3 records were lost')")
    assert "LookupError: 3 records were lost" in done.stderr


def test_a_client_that_does_not_come_to_its_end_holds_nobody_up_for_long() -> None:
    program = """
from barnabas.client import engine
engine.EXIT_TIMEOUT_S = 0.2
clock = Clock(Loud())
clock.core.closing_s = 600
"""
    done = run(program)
    assert done.stdout == ""
    assert "ClientClosed: closing this Clock was interrupted" in done.stderr


def test_an_exception_ends_the_program_and_is_the_only_one_shown() -> None:
    done = run("clock = Clock(Loud()); clock.age_s(); raise LookupError('mine')", status=1)
    assert done.stdout == "closed\n"
    assert done.stderr.count("Traceback") == 1


def test_a_daemon_thread_that_waits_does_not_speak_up_at_exit() -> None:
    program = """
clock = Clock(Loud())
threading.Thread(target=clock.sleep, args=[60], daemon=True).start()
while clock.core.said != ["sleeps"]:
    time.sleep(0.001)
"""
    done = run(program)
    assert (done.stdout, done.stderr) == ("closed\n", "")


def test_ctrl_c_ends_a_program_that_waits() -> None:
    program = """
signal.signal(signal.SIGINT, signal.default_int_handler)
with Clock(Loud()) as clock:
    interrupt_when(lambda: clock.core.said)
    clock.sleep(60)
"""
    done = run(program, status=-2)
    assert done.stdout == "closed\n"
    assert done.stderr.count("Traceback") == 1
    assert done.stderr.rstrip().endswith("KeyboardInterrupt")


STRIKE = """
import gc, warnings
from opcode import opname

gc.disable()
warnings.simplefilter("ignore")  # of coroutines that an interrupt kept from being awaited
AFTER = {"CALL", "CALL_FUNCTION_EX", "CALL_KW", "JUMP_BACKWARD", "RESUME"}

class Struck(BaseException):
    pass

def is_struck(do, step):
    # Interrupt it at the n-th of the points where Python looks for signals.
    left, last = step, {}
    def trace(frame, event, _):
        nonlocal left
        frame.f_trace_opcodes = True
        if event == "opcode":
            before = last.get(id(frame))
            last[id(frame)] = opname[frame.f_code.co_code[frame.f_lasti]]
            if before in AFTER:
                left -= 1
                if not left:
                    sys.settrace(None)
                    raise Struck
        return trace
    sys.settrace(trace)
    try:
        do()
    except Struck:
        return True
    finally:
        sys.settrace(None)
    assert left > 0, "the interrupt was swallowed"
    return False

def struck_everywhere(do, afterwards):
    step = 1
    while is_struck(do, step):
        afterwards()
        step += 1
    return step
"""


def test_an_interrupt_at_any_point_of_a_wait_is_heard_and_does_no_harm() -> None:
    program = """
with Clock() as clock:
    for seconds in (0, 0.005):
        assert struck_everywhere(lambda: clock.sleep(seconds), clock.age_s) > 20
"""
    run(STRIKE + program)


def test_an_interrupt_at_any_point_of_closing_is_heard_and_closing_goes_on() -> None:
    program = """
from contextlib import suppress
from barnabas.errors import ClientClosed

clocks = [Clock()]

def close_again():
    with suppress(ClientClosed):  # if it was cut short
        clocks[-1].close()
    clocks.append(Clock())
    clocks[-1].core.closing_s = 0.002 * (len(clocks) % 2)

assert struck_everywhere(lambda: clocks[-1].close(), close_again) > 10
"""
    run(STRIKE + program)


def test_an_interrupt_at_any_point_of_waiting_for_a_record_is_heard_and_does_no_harm() -> None:
    program = """
from barnabas.client.producer.batch_result import BatchResult, DeliveryOutcome

def again():
    global result, begun, settling
    if settling is not None:
        if begun.locked():  # it was struck before it said that it waits
            begun.release()
        settling.join(30)
        assert not settling.is_alive()
    begun = threading.Lock()
    begun.acquire()
    result = BatchResult(begun.release)  # written in C: it can't be struck halfway
    settling = threading.Thread(target=settle, args=(begun, result))
    settling.start()

def settle(begun, result):
    # Not before it waits, however busy the machine is: otherwise there is nothing to strike.
    begun.acquire()
    time.sleep(0.002)
    result.settle(DeliveryOutcome(0, 1))

settling = None
again()
assert struck_everywhere(lambda: result.wait(60), again) > 5
"""
    run(STRIKE + program)


def test_ctrl_c_while_closing_is_all_that_is_shown() -> None:
    program = """
signal.signal(signal.SIGINT, signal.default_int_handler)
clock = Clock(Loud())
clock.core.closing_s = 600
interrupt_when(clock.core.closing.is_set)
clock.close()
"""
    done = run(program, status=-2)
    assert done.stdout == ""
    assert done.stderr.count("Traceback") == 1
    assert done.stderr.rstrip().endswith("KeyboardInterrupt")


def test_after_a_fork_the_child_has_an_engine_of_its_own() -> None:
    program = """
from barnabas.errors import UsedAfterFork
clock = Clock(Loud())
clock.age_s()
child = os.fork()
if not child:
    try:
        clock.age_s()
    except UsedAfterFork as error:
        print("told:", error, flush=True)
    clock.close()
    with Clock() as own:
        print("own:", own.age_s() >= 0, flush=True)
    sys.exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
print("parent's:", clock.age_s() >= 0, flush=True)
clock.close()
"""
    done = run(program, "-W", "default::ResourceWarning")
    told, *rest = done.stdout.splitlines()
    assert "this Clock was made before the process was forked" in told
    assert rest == ["own: True", "parent's: True", "closed"]
    assert done.stderr == ""


def test_a_child_that_sends_with_its_parents_producer_is_told(bootstrap: str) -> None:
    topic = f"topic-{uuid4()}"
    with Admin(bootstrap) as admin:
        admin.create_topic(topic)
        program = f"""
from barnabas import Producer
from barnabas.errors import UsedAfterFork
with Producer({bootstrap!r}, linger_ms=60_000) as producer:
    producer.send({topic!r}, b"first")  # so there is an open batch with room
    if not (child := os.fork()):
        try:
            producer.send({topic!r}, b"second")
        except UsedAfterFork:
            os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    producer.send({topic!r}, b"second")
"""
        assert run(program).stderr == ""
        assert list(admin.offsets(topic).values()) == [2]


def test_a_forked_worker_that_inherits_a_client_ends_quietly() -> None:
    program = """
from multiprocessing import get_context
clock = Clock(Loud())
clock.age_s()
def work():
    with Clock() as own:
        return own.age_s() >= 0
with get_context("fork").Pool(2) as pool:
    print([pool.apply(work) for _ in range(4)], flush=True)
print(clock.age_s() >= 0, flush=True)
clock.close()
"""
    done = run(program, "-W", "default::ResourceWarning")
    assert done.stdout == "[True, True, True, True]\nTrue\nclosed\n"
    assert done.stderr == ""


def test_uvloop_is_used_if_it_is_there_and_not_missed_if_not() -> None:
    program = """
with Clock(Loud()) as clock:
    clock.age_s()
    print(type(clock._registration.loop).__module__, flush=True)
"""
    assert run(program).stdout == "uvloop\nclosed\n"
    done = run("sys.modules['uvloop'] = None" + program)
    assert done.stdout == "asyncio.unix_events\nclosed\n"
    assert done.stderr == ""

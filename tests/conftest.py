"""Fixtures: broker processes, and their logs in the report of a test that fails.

`BARNABAS_TEST_BOOTSTRAP=host:port` lets the client tests run against another broker, a real Kafka
for instance, which shows that they ask for Kafka's behaviour and not only for ours. Tests that
start, stop or configure a broker of their own are skipped then.

In CI (`CI=true`) a test that is skipped for another reason than one that is expected there fails.
"""

import os
import random
import signal
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.support import costs, forked_workers, groups, logged_text, tier
from tests.support.broker import BrokerProcess
from tests.support.machine import EXPECTED_SKIPS, in_ci, leave_bare_machine
from tests.support.progress import Progress

leave_bare_machine()

# A busy machine is no defect.
_PROFILE = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("all", **_PROFILE)
# The same few examples every time: what a random one finds is found by `make test-all`.
settings.register_profile("quick", max_examples=10, derandomize=True, database=None, **_PROFILE)

ELSEWHERE = os.environ.get("BARNABAS_TEST_BOOTSTRAP")

# A shell ignores SIGINT on behalf of what it runs in the background, and programs inherit that:
# the ones that tests interrupt must not.
signal.signal(signal.SIGINT, signal.default_int_handler)

MakeBroker = Callable[..., BrokerProcess]


@pytest.fixture(scope="session")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a broker that all tests share; each uses topics and groups of its own."""
    if ELSEWHERE:
        yield ELSEWHERE
        return
    settings = {
        "auto.create.topics.enable": "false",
        "group.initial.rebalance.delay.ms": "0",
        "log.retention.check.interval.ms": "3600000",  # some tests send records of long ago
    }
    with BrokerProcess(tmp_path_factory.mktemp("shared"), settings) as broker:
        yield broker.bootstrap
        broker.stop()


@pytest.fixture
def make_broker(tmp_path: Path) -> Iterator[MakeBroker]:
    """Starts brokers of the test's own, and ends those that are left."""
    if ELSEWHERE:
        pytest.skip("needs a broker of its own")
    brokers: list[BrokerProcess] = []

    def make(**settings: str) -> BrokerProcess:
        named = {name.replace("_", "."): value for name, value in settings.items()}
        broker = BrokerProcess(tmp_path / f"broker-{len(brokers)}", named)
        brokers.append(broker)
        broker.start()
        return broker

    yield make
    for broker in brokers:
        broker.kill()


@pytest.fixture
def broker(make_broker: MakeBroker) -> BrokerProcess:
    """A broker of the test's own, which it may stop, kill and start again."""
    return make_broker(group_initial_rebalance_delay_ms="0")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="run what `make test` runs, not more")
    parser.addoption("--rest", action="store_true", help="run only what --quick leaves out")
    parser.addoption("--by-area", action="store_true", help="show progress by area, not by test")
    parser.addoption("--shuffle", metavar="SEED", help="run in a random order")
    forked_workers.add_option(parser)


def pytest_configure(config: pytest.Config) -> None:
    forked_workers.start(config)
    if config.getoption("--quick"):
        tier.set_quick()
    config.option.loadscopereorder = False  # xdist would begin with the groups of most tests
    settings.load_profile("quick" if tier.is_quick() else "all")
    if costs.VARIABLE in os.environ:
        config.pluginmanager.register(costs.Costs(Path(os.environ[costs.VARIABLE])))
    if config.getoption("--by-area") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Progress())


def pytest_sessionstart(session: pytest.Session) -> None:
    logged_text.keep_format(session.config)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests that share something run in one worker: four would start it each."""
    quick, rest = tier.split(items)
    if tier.is_quick() or config.getoption("--rest"):
        items[:], left = (quick, rest) if tier.is_quick() else (rest, quick)
        config.hook.pytest_deselected(items=left)
    seed = config.getoption("--shuffle")
    if seed is not None:
        _shuffle(items, seed)
    groups.assign_groups(items)


def _shuffle(items: list[pytest.Item], seed: str) -> None:
    """Files in random order, and so the tests of each: what a file shares is made once."""
    draw = random.Random(seed)
    files: dict[str, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.nodeid.partition("::")[0], []).append(item)
    shuffled = list(files.values())
    draw.shuffle(shuffled)
    for tests in shuffled:
        draw.shuffle(tests)
    items[:] = [item for tests in shuffled for item in tests]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and in_ci() and not hasattr(report, "wasxfail"):
        _fail_unexpected_skip(report)
    if report.failed:
        for broker in BrokerProcess.running:
            report.sections.append((f"log of {broker.bootstrap}", broker.log_tail()))
    return report


def _fail_unexpected_skip(report: pytest.TestReport) -> None:
    assert isinstance(report.longrepr, tuple)
    reason = report.longrepr[2].removeprefix("Skipped: ")
    if not EXPECTED_SKIPS.match(reason):
        report.outcome = "failed"
        report.longrepr = f"skipped, which CI must not do: {reason}"

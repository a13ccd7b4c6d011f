"""The current state of the demo, for its displays."""

import time
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from examples.demo.watch import ClusterView
from examples.demo.website import Website

Status: TypeAlias = dict[str, Any]
"""Of a pipeline, as `barnabas.spark.pipelines` tells it."""

COUNTING = "views_per_minute"


class Happening(NamedTuple):
    """Something worth telling, and when it happened."""

    at_s: float
    text: str


class Sample(NamedTuple):
    """How far everything was at a time."""

    at_s: float
    acknowledged: int
    taken: int
    """Events that the pipeline which counts has read."""


@dataclass(slots=True)
class Stage:
    """The website, the cluster, the pipelines, and what has happened so far."""

    website: Website
    topic: str
    console: str | None = None
    """Its address."""
    started: float = field(default_factory=time.monotonic)
    cluster: ClusterView = field(default_factory=ClusterView)
    pipelines: dict[str, Status] = field(default_factory=dict)
    happenings: list[Happening] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    killed_s: float | None = None
    whole_again_s: float | None = None

    @property
    def elapsed_s(self) -> float:
        return time.monotonic() - self.started

    def tell(self, text: str) -> None:
        self.happenings.append(Happening(self.elapsed_s, text))

    @property
    def taken(self) -> int:
        """Records that Spark has processed, to rows or to dead letters."""
        return self.figure(COUNTING, "rows_in") + self.figure(COUNTING, "dead_letters")

    def sample(self) -> None:
        self.samples.append(Sample(self.elapsed_s, self.website.acknowledged, self.taken))

    def update_cluster(self, seen: ClusterView) -> None:
        """Nodes that come and go, another controller, other leaders: each is worth telling."""
        known, self.cluster = self.cluster, seen
        if not known.up:
            return
        for node_id, up in seen.up.items():
            if up != known.up.get(node_id, up):
                self.tell(f"node {node_id} is {'back' if up else 'gone'}")
        if seen.controller != known.controller:
            self.tell(f"node {seen.controller} is the controller now")
        moved = [
            f"node {leader} leads partition {partition}"
            for partition, leader in seen.leaders.items()
            if leader != known.leaders.get(partition) and leader in seen.up
        ]
        if moved:
            self.tell(f"new leaders: {', '.join(moved)}")
        if seen.is_whole and not known.is_whole:
            self.whole_again_s = self.elapsed_s
            self.tell("every replica is in sync")

    def heard_from_spark(self, status: Status) -> None:
        """How one of the pipelines is."""
        if not self.pipelines:
            self.tell("Spark is there, and the pipelines begin")
        name, state = status["pipeline"], status["state"]
        known = self.pipelines.get(name, {}).get("state", state)
        if state in ("waiting", "failed") and state != known:
            again = ", and is started again" if state == "waiting" else ""
            self.tell(f"{name} has failed{again}: {status['error']}")
        elif state == "running" != known:
            self.tell(f"{name} goes on")
        self.pipelines[name] = status

    def figure(self, pipeline: str, name: str) -> int:
        """One of what a pipeline counts, up to now."""
        return self.pipelines.get(pipeline, {}).get(name) or 0

    @property
    def got_on(self) -> int:
        """Something that grows as long as Spark gets anything done."""
        return sum((each["batch"] or 0) + each["rows_in"] for each in self.pipelines.values())

    @property
    def knows_the_time(self) -> bool:
        """Whether all that depend on event time have seen how late it is."""
        return all(
            self.pipelines.get(name, {}).get("watermark") for name in (COUNTING, "clicked_views")
        )

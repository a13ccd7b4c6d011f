"""Inside Starlette and FastAPI, and with OpenTelemetry."""

import json
import subprocess
import sys
from pathlib import Path

import barnabas
from tests.support.wait import LIMIT_S, wait_until


def test_an_application_lives_as_long_as_a_web_service(servers: str, topic: str) -> None:
    from fastapi import FastAPI
    from starlette.testclient import TestClient

    app = barnabas.App(servers)
    seen: list[str] = []

    @app.handler(topic, group=f"g-{topic}")
    async def handle(value: str) -> None:
        seen.append(value)

    service = FastAPI(lifespan=app.lifespan_of())

    @service.get("/metrics")
    def metrics() -> str:
        return app.metrics()

    with TestClient(service) as client, barnabas.Producer(servers, value=str) as producer:
        producer.send(topic, "hello")
        wait_until(lambda: seen)
        handled = 'barnabas_app_handled_total{handler=\\"handle\\"} 1'
        wait_until(lambda: handled in client.get("/metrics").text)
        assert app.is_ready
    assert seen == ["hello"]
    assert not app.is_ready


TRACED = """
import json
import barnabas
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

spans = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(spans))
trace.set_tracer_provider(provider)
app = barnabas.App()

@app.handler("orders", group="g", produces="out")
def handle(value: str) -> str:
    return value

with app.test() as run:
    parent = b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    run.send("orders", "x", headers=[("traceparent", parent)])
    (span,) = spans.get_finished_spans()
    out = run.records("out")[0]
print(json.dumps({
    "name": span.name,
    "trace": f"{span.context.trace_id:x}",
    "parent": f"{span.parent.span_id:x}",
    "offset": span.attributes["messaging.kafka.offset"],
    "sent": dict(out.headers)["traceparent"].decode(),
}))
"""


def test_each_attempt_has_a_span_in_the_trace_of_its_record(tmp_path: Path) -> None:
    program = tmp_path / "traced.py"
    program.write_text(TRACED)
    done = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, check=False, timeout=LIMIT_S
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "name": "process handle",
        "trace": "af7651916cd43dd8448eb211c80319c",
        "parent": "b7ad6b7169203331",
        "offset": 0,
        "sent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    }


PRODUCED = """
import json
import sys
import barnabas
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

servers, topic = sys.argv[1:]
spans = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(spans))
trace.set_tracer_provider(provider)
with barnabas.Producer(servers, value=str) as producer:
    producer.send(topic, "without a span")
    with trace.get_tracer("t").start_as_current_span("order"):
        producer.send(topic, "x", headers=[("own", b"1")])
with barnabas.Consumer(servers, topic, value=str) as consumer:
    got = {}
    while len(got) < 2:
        for message in consumer.poll():
            got[message.value] = [name for name, _ in message.headers]
            with barnabas.tracing.span("bill", message):
                pass
order = next(each for each in spans.get_finished_spans() if each.name == "order")
bill = [each for each in spans.get_finished_spans() if each.name == "process bill"]
children = [each for each in bill if each.parent and each.parent.span_id == order.context.span_id]
print(json.dumps([got, len(bill), len(children)]))
"""


def test_a_plain_producer_sends_its_span_and_a_consumer_continues_it(
    servers: str, topic: str, tmp_path: Path
) -> None:
    program = tmp_path / "produced.py"
    program.write_text(PRODUCED)
    done = subprocess.run(
        [sys.executable, str(program), servers, topic],
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
    )
    assert done.returncode == 0, done.stderr
    headers, spans, children = json.loads(done.stdout)
    assert headers == {"without a span": [], "x": ["own", "traceparent"]}
    assert (spans, children) == (2, 1)

"""The text format, as Prometheus' own library reads it."""

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from barnabas.metrics.exposition import Samples, gauge
from barnabas.metrics.histogram import Histogram
from barnabas.metrics.metric import Kind, Metric

_GAUGE = gauge("barnabas_test", "A gauge with a \\ and\na second line", "name")


def read(samples: Samples) -> dict[str, list[tuple[str, dict[str, str], float]]]:
    text = b"".join(samples.encoded()).decode()
    return {
        family.name: [(each.name, each.labels, each.value) for each in family.samples]
        for family in text_string_to_metric_families(text)
    }


@given(st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\r"), max_size=30))
def test_any_text_can_be_a_label(text: str) -> None:
    samples = Samples()
    samples.add(_GAUGE, 7, name=text)
    samples.add(_GAUGE, 0.5)
    family = read(samples)["barnabas_test"]
    assert family == [("barnabas_test", {"name": text}, 7), ("barnabas_test", {}, 0.5)]


def test_histograms_and_summaries() -> None:
    histogram = Histogram((1.0, 2.0))
    for value in (0.5, 1.5, 3.0):
        histogram.observe(value)
    samples = Samples()
    samples.add_histogram(Metric("h", Kind.HISTOGRAM, "H", ("le",)), histogram)
    samples.add_quantiles(Metric("s", Kind.SUMMARY, "S", ("quantile",)), histogram, 1000, api="x")
    found = read(samples)
    assert [(labels["le"], value) for _, labels, value in found["h"][:3]] == [
        ("1", 1),
        ("2", 2),
        ("+Inf", 3),
    ]
    assert ("h_count", {}, 3) in found["h"]
    assert ("s_sum", {"api": "x"}, 5000) in found["s"]
    assert ("s_count", {"api": "x"}, 3) in found["s"]
    assert [labels["quantile"] for name, labels, _ in found["s"] if name == "s"] == [
        *("0.5", "0.75", "0.95", "0.98", "0.99", "0.999")
    ]

"""docs/tutorial.md: its pipelines can be loaded, and fit together. Spark is not started."""

import re
from pathlib import Path

from barnabas.changes.postgres.settings import default_slot
from barnabas.spark.pipelines import load, to_parquet, to_sqlite, to_topic
from barnabas.spark.pipelines.sources.postgres_changes import PostgresChangesSource
from tests.examples.documents import ROOT

_FILE = re.compile(r"^```sql\n-- (\w+\.sql)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGE = (ROOT / "docs" / "tutorial.md").read_text()


def test_the_pipelines_of_the_page_fit_together(tmp_path: Path) -> None:
    for name, text in _FILE.findall(PAGE):
        (tmp_path / name).write_text(text)
    found = load(tmp_path)
    warehouse = tmp_path.resolve() / "warehouse"
    assert {name: each.sink for name, each in found.items()} == {
        "order_changes": to_topic("order-changes", key="id", exactly_once=True),
        "orders_table": to_sqlite(
            str(warehouse / "shop.db"),
            "orders",
            key="id",
            latest_by="change.lsn",
            delete_when="change.op = 'd'",
            create=True,
        ),
        "order_history": to_parquet(str(warehouse / "order_history")),
    }
    source = found["order_changes"].sources["orders"]
    assert isinstance(source, PostgresChangesSource)
    assert source.tables == ("public.orders",)
    for reader in ("orders_table", "order_history"):
        assert found[reader].sources["changes"].topics == ("order-changes",)


def test_the_page_drops_the_slot_that_its_pipeline_has() -> None:
    assert f"pg_drop_replication_slot('{default_slot('order_changes_orders')}')" in PAGE

"""Changes of a MariaDB through a pipeline, into another database."""

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines import (
    PipelineRun,
    RunFolder,
    from_mysql_changes,
    pipeline,
    to_mysql,
)
from tests.support.mariadb import MariaDb

pytestmark = pytest.mark.timeout(900)


def test_a_copy_of_a_table(mariadb: MariaDb, spark: SparkSession, tmp_path: Path) -> None:
    mariadb.execute("CREATE TABLE orders (id bigint PRIMARY KEY, item text, at timestamp)", "shop")
    mariadb.execute("INSERT INTO orders SELECT seq, 'before', now() FROM seq_1_to_5", "shop")

    @pipeline(
        sources={
            "orders": from_mysql_changes(
                mariadb.url,
                "orders",
                "id BIGINT, item STRING, at TIMESTAMP",
                snapshot__fetch__size=2,
            )
        },
        sink=to_mysql(
            mariadb.url,
            "copied",
            key="id",
            latest_by="change.lsn",
            delete_when="change.op = 'd'",
            create=True,
        ),
    )
    def orders_copy(orders: DataFrame) -> DataFrame:
        return orders

    folder = RunFolder(tmp_path / "runs")

    def run() -> None:
        with PipelineRun(spark, [orders_copy], "", folder, once=True, max_restarts=0) as run:
            run.wait()

    run()
    mariadb.execute("UPDATE orders SET item = 'changed', id = id + 10 WHERE id < 3", "shop")
    mariadb.execute("DELETE FROM orders WHERE id = 5", "shop")
    run()
    expected = mariadb.execute("SELECT id, item, at FROM orders ORDER BY id", "shop")
    assert [row[0] for row in expected] == [3, 4, 11, 12]
    found = mariadb.execute(
        "SET STATEMENT time_zone = '+00:00' FOR SELECT o.id, c.item, c.at = o.at "
        "FROM orders o LEFT JOIN copied c ON c.id = o.id ORDER BY o.id",
        "shop",
    )
    assert found == [(row[0], row[1], 1) for row in expected]
    assert mariadb.execute("SELECT count(*) FROM copied", "shop") == [(4,)]


def test_what_is_refused() -> None:
    url = "mysql://changes@localhost/shop"
    with pytest.raises(InvalidArgument, match=r"name a table, such as shop\.orders"):
        from_mysql_changes(url, "")
    with pytest.raises(InvalidArgument, match="is not a URL such as"):
        from_mysql_changes("postgresql://localhost/shop", "orders")
    with pytest.raises(InvalidArgument, match="unknown setting"):
        from_mysql_changes(url, "orders", slot__name="x")
    source = from_mysql_changes(url.replace("mysql", "mariadb"), "orders,other.items")
    assert source.tables == ("shop.orders", "other.items")
    assert source.describe().startswith("changes of shop.orders, other.items in mariadb://")

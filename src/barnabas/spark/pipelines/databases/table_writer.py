"""A batch of rows written to a table, in one transaction with the number of the batch.

The table `barnabas_batches` has the number of the last batch of each query. It changes together
with the rows, so a batch that comes again after a failure is found to be there, and is left out.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import StructField

from barnabas.errors import BarnabasError, InvalidArgument
from barnabas.spark.pipelines.databases.dialect import Dialect, Target
from barnabas.spark.pipelines.databases.session import Session
from barnabas.spark.pipelines.deleted_column import DELETED
from barnabas.spark.pipelines.postgres.connection import DatabaseError, database_reason, shown

BATCHES = "barnabas_batches"


@dataclass(frozen=True)
class TableWriter:
    """Writes batches to a table."""

    dialect: Dialect
    place: str
    table: str
    key: tuple[str, ...] = ()
    create: bool = False
    evolve: bool = False

    def write(self, query: str, number: int, fields: Sequence[StructField], rows: pa.Table) -> bool:
        """Write a batch, unless it is there: then the result is False."""
        self._check_keys(rows)
        with self._explained():
            session = self.dialect.connect(self.place)
            try:
                return self._write(session, query, number, fields, rows)
            finally:
                session.close()

    def _write(
        self,
        session: Session,
        query: str,
        number: int,
        fields: Sequence[StructField],
        rows: pa.Table,
    ) -> bool:
        dialect = self.dialect
        target = Target(self.table, tuple(each.name for each in fields), self.key)
        self._prepare(session, fields)
        dialect.check_table(session, target)
        session.execute(dialect.begin)
        if self._is_there(session, query, number):
            session.execute("ROLLBACK")
            return False
        kept = rows
        if DELETED in rows.column_names:
            deleted = rows[DELETED]
            dialect.remove(session, target, rows.filter(deleted))
            kept = rows.filter(pc.invert(deleted)).drop_columns([DELETED])
        if kept.num_rows:
            dialect.put(session, target, kept)
        session.execute("COMMIT")
        return True

    def _prepare(self, session: Session, fields: Sequence[StructField]) -> None:
        """Make what is missing. In MySQL, each of these statements is a transaction."""
        dialect = self.dialect
        batches = dialect.table_name(self._batches)
        session.execute(
            f"CREATE TABLE IF NOT EXISTS {batches} "
            "(query VARCHAR(64) NOT NULL PRIMARY KEY, batch BIGINT NOT NULL)"
        )
        there = {each.lower() for each in dialect.columns(session, self.table)}
        if not there:
            if not self.create:
                raise DatabaseError(
                    f"table {self.table} does not exist in {shown(self.place)}: create it, or set "
                    "create=True"
                )
            session.execute(dialect.creation(self.table, fields, self.key))
            return
        for field in fields:
            if field.name.lower() in there:
                continue
            if not self.evolve:
                raise DatabaseError(
                    f"table {self.table} has no column {field.name}: add it (ALTER TABLE "
                    f"{self.table} ADD …), set evolve=True, or let the pipeline return other "
                    "columns"
                )
            added = f"{dialect.quoted(field.name)} {dialect.type_name(field, is_key=False)}"
            session.execute(f"ALTER TABLE {dialect.table_name(self.table)} ADD COLUMN {added}")

    def _is_there(self, session: Session, query: str, number: int) -> bool:
        """Whether the batch is there; if not, it is recorded, in the open transaction."""
        dialect = self.dialect
        target = Target(self._batches, ("query", "batch"), ("query",))
        batches, mark = dialect.table_name(self._batches), dialect.mark
        statement = f"SELECT batch FROM {batches} WHERE query = {mark} {dialect.locking}"  # noqa: S608 - quoted
        for (last,) in session.execute(statement, (query,)):
            if last == number:
                return True
            if last > number:
                raise InvalidArgument(
                    f"table {self.table} already has batch {last}, and the query is at batch "
                    f"{number}: was an old checkpoint restored?"
                )
        session.execute(dialect.insertion(target), (query, number))
        return False

    @property
    def _batches(self) -> str:
        """In the same schema, so that one transaction covers both."""
        schema, dot, _ = self.table.rpartition(".")
        return f"{schema}{dot}{BATCHES}"

    def _check_keys(self, rows: pa.Table) -> None:
        if not self.key:
            return
        names, key = list(self.key), ", ".join(self.key)
        for name in names:
            if rows[name].null_count:
                raise DatabaseError(
                    f"table {self.table}: {name} is NULL: a row without its key can't be written; "
                    f"leave such rows out, as with WHERE {name} IS NOT NULL"
                )
        if rows.group_by(names).aggregate([]).num_rows < rows.num_rows:
            raise DatabaseError(
                f"a batch has several rows with the same ({key}) for table {self.table}: say which "
                'one is the last, as latest_by="record.offset" or the time of a change'
            )

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Say what to do about what the database says."""
        try:
            yield
        except BarnabasError:
            raise
        except self.dialect.errors as error:
            said = database_reason(error)
            if "ON CONFLICT" in said or "conflict target" in said:
                key = ", ".join(self.key)
                raise DatabaseError(
                    f"table {self.table} has no primary key or unique index on ({key}), which "
                    f"upserts need: CREATE UNIQUE INDEX … ON {self.table} ({key})"
                ) from error
            raise DatabaseError(f"table {self.table} in {shown(self.place)}: {said}") from error

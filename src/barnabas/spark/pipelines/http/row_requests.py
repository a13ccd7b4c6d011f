"""The requests of a batch, with idempotency keys that are the same when it comes again.

A key is made of the query, the number of the batch, what is sent and where, and, for equal
requests of one batch, which of them it is. So it does not depend on the order of the rows, in which
Spark may give them differently when a batch comes again. Where a request has several rows, they are
sorted first: by `order_by`, and by what they are.
"""

import hashlib
import re
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import quote

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.types import BinaryType

from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines.written_columns import written_columns

_PLACE = re.compile(r"\{(\w+)\}")
_BODY, _KEY = "barnabas_body", "barnabas_key"
Row: TypeAlias = dict[str, Any]

_NO_PLACE = (None, "", ".", "..")
"""Values that would make the URL of a list, or of what is above it."""


@dataclass(frozen=True)
class HttpRequest:
    """What is sent, and where."""

    url: str
    body: bytes
    key: str
    problem: str | None = None
    """Why it can't be sent."""


@dataclass(frozen=True)
class RowRequests:
    """How requests are made of rows."""

    url: str
    batch_size: int = 1
    body: str | None = None
    idempotency_key: str | None = None
    order_by: str | None = None

    def __post_init__(self) -> None:
        if self.batch_size < 1:
            raise InvalidArgument(f"batch_size is 1 or more, not {self.batch_size}")
        if self.body and self.batch_size > 1:
            raise InvalidArgument("body needs requests of one row: batch_size=1")

    @property
    def places(self) -> list[str]:
        """The columns that the URL has."""
        return _PLACE.findall(self.url)

    def prepared(self, rows: DataFrame) -> DataFrame:
        """What requests need of the rows."""
        for name in (*self.places, *(() if self.body is None else (self.body,))):
            if name not in rows.columns:
                raise InvalidArgument(
                    f"no column {name!r} for the request; the rows have {', '.join(rows.columns)}"
                )
        if self.order_by is not None:
            same = [] if self.batch_size == 1 else [self._body(rows)]
            rows = rows.orderBy(F.expr(self.order_by), *same)
        columns = [self._body(rows).alias(_BODY)]
        if self.idempotency_key is not None:
            columns.append(F.expr(self.idempotency_key).cast("string").alias(_KEY))
        return rows.select(*columns, *(F.col(each).cast("string") for each in set(self.places)))

    def _body(self, rows: DataFrame) -> Column:
        if self.body is not None:
            is_binary = isinstance(rows.schema[self.body].dataType, BinaryType)
            return F.col(self.body) if is_binary else F.col(self.body).cast("string").cast("binary")
        written = [each.name for each in written_columns(rows)]
        return F.to_json(F.struct(*written), {"ignoreNullFields": "false"}).cast("binary")

    def requests(self, rows: Sequence[Row], query: str, number: int) -> Iterator[HttpRequest]:
        """The requests for rows of `prepared`."""
        seen: Counter[str] = Counter()
        for url, problem, part in self._parts(rows):
            bodies = [each[_BODY] or b"" for each in part]
            body = bodies[0] if self.batch_size == 1 else b"[" + b",".join(bodies) + b"]"
            if self.idempotency_key is not None and problem is None:
                keys = [each[_KEY] for each in part]
                key = keys[0] if self.batch_size == 1 else _digest(url, *keys)
            else:
                key = _digest(query, str(number), url, body)
                seen[key] += 1
                if seen[key] > 1:
                    key = _digest(key, str(seen[key]))
            yield HttpRequest(url, body, key, problem)

    def _parts(self, rows: Sequence[Row]) -> Iterator[tuple[str, str | None, Sequence[Row]]]:
        """The rows of each request, with its URL and what is wrong with it."""
        if self.batch_size == 1:
            for row in rows:
                yield self._url(row), self._problem(row), [row]
            return
        if self.order_by is None:
            rows = sorted(rows, key=lambda each: (each.get(_KEY) or "", each[_BODY] or b""))
        by_place: dict[tuple[str, str | None], list[Row]] = {}
        for row in rows:
            by_place.setdefault((self._url(row), self._problem(row)), []).append(row)
        for (url, problem), found in by_place.items():
            for at in range(0, len(found), self.batch_size):
                yield url, problem, found[at : at + self.batch_size]

    def _url(self, row: Row) -> str:
        return _PLACE.sub(lambda found: quote(str(row[found[1]]), safe=""), self.url)

    def _problem(self, row: Row) -> str | None:
        """What is wrong with a row: its URL or key would be that of something else."""
        for name in self.places:
            if row[name] in _NO_PLACE:
                return f"column {name} is {row[name]!r}, which can't be a part of the url"
        if self.idempotency_key is not None and not row[_KEY]:
            return f"idempotency_key {self.idempotency_key} is {row[_KEY]!r}, as of other rows"
        return None


def _digest(*parts: str | bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "big") + data)
    return str(uuid.UUID(bytes=digest.digest()[:16], version=4))

"""The requests of a batch, with idempotency keys that are the same when it comes again.

A key is made of the query, the number of the batch, what is sent and where, and, for equal
requests of one batch, which of them it is. So it does not depend on the order of the rows, as long
as a request has one row; with several rows, on what they are together.
"""

import hashlib
import re
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.types import BinaryType, StructType

from barnabas.errors import InvalidArgument

_PLACE = re.compile(r"\{(\w+)\}")
_BODY, _KEY = "barnabas_body", "barnabas_key"
_NOT_OF_THE_ROW = ("record", "change")
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
        for name, value in (("a column in the url", self.places), ("body", self.body)):
            if value and self.batch_size > 1:
                raise InvalidArgument(f"{name} needs requests of one row: batch_size=1")

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
            rows = rows.orderBy(F.expr(self.order_by))
        columns = [self._body(rows).alias(_BODY)]
        if self.idempotency_key is not None:
            columns.append(F.expr(self.idempotency_key).cast("string").alias(_KEY))
        return rows.select(*columns, *(F.col(each).cast("string") for each in set(self.places)))

    def _body(self, rows: DataFrame) -> Column:
        if self.body is not None:
            is_binary = isinstance(rows.schema[self.body].dataType, BinaryType)
            return F.col(self.body) if is_binary else F.col(self.body).cast("string").cast("binary")
        written = [
            each.name
            for each in rows.schema.fields
            if not (each.name in _NOT_OF_THE_ROW and isinstance(each.dataType, StructType))
        ]
        return F.to_json(F.struct(*written), {"ignoreNullFields": "false"}).cast("binary")

    def requests(
        self, rows: Sequence[dict[str, Any]], query: str, number: int
    ) -> Iterator[HttpRequest]:
        """The requests for rows of `prepared`."""
        seen: Counter[str] = Counter()
        for at in range(0, len(rows), self.batch_size):
            part = rows[at : at + self.batch_size]
            url = _PLACE.sub(lambda found: quote(str(part[0][found[1]]), safe=""), self.url)  # noqa: B023 - used at once
            bodies = [each[_BODY] or b"" for each in part]
            body = bodies[0] if self.batch_size == 1 else b"[" + b",".join(bodies) + b"]"
            if self.idempotency_key is not None:
                keys = [str(each[_KEY]) for each in part]
                key = keys[0] if self.batch_size == 1 else _digest(*keys)
            else:
                key = _digest(query, str(number), url, body)
                seen[key] += 1
                if seen[key] > 1:
                    key = _digest(key, str(seen[key]))
            yield HttpRequest(url, body, key, self._problem(part[0]))

    def _problem(self, row: dict[str, Any]) -> str | None:
        """What is wrong with the URL of a row: it would be that of something else."""
        for name in self.places:
            if row[name] in _NO_PLACE:
                return f"column {name} is {row[name]!r}, which can't be a part of the url"
        return None


def _digest(*parts: str | bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "big") + data)
    return str(uuid.UUID(bytes=digest.digest()[:16], version=4))

"""Schemas and values of all kinds, by a seed: most fit, some nearly, some not at all."""

import random
from typing import Any

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

_SIMPLE: tuple[type[DataType], ...] = (
    BooleanType, ByteType, ShortType, IntegerType, LongType, FloatType, DoubleType, StringType,
    BinaryType, DateType, TimestampType, TimestampNTZType,
)  # fmt: skip
_INTS = {ByteType: (-128, 255), ShortType: (-(1 << 15), (1 << 15) - 1)}
_INTS |= {IntegerType: (-(1 << 31), (1 << 31) - 1), LongType: (-(1 << 63), (1 << 63) - 1)}
_NAMES = "abcdefgh"
_DEEPEST = 3
STRINGS = (
    "", "a", "hello", "ä€😀", r"\n", r"\u00e4", r"\ud83d\ude00", r"\/", r"\\", r"\"", "x" * 40,
    "\x7f", "AQID", "AQ==", "NaN", "\u2028", r"\ud83d", r"\u0000", "\x01", "'", r"\x", r"\'",
)  # fmt: skip
NUMBERS = (
    "0", "-0", "0.0", "-0.0", "0.001", "0.0009990", "1.50", "1e5", "1E-7", "01", "-", "1.", ".5",
    "NaN", "-INF", "+Infinity", "127", "128", "255", "256", "9999999.5", "10000000.5", "1e400",
    "4.9e-324", "16777217", "16777216.9999999999", "9" * 30, "9" * 1001, "1." + "1" * 999, "+1",
    "1e99", "9007199254740993", "12345678901234567.8", "2147483648", "9223372036854775808",
)  # fmt: skip
TIMES = (
    "2020-01-01", "2020", "2020-1-2", "2020-01-01T", "2020-01-01T1", "2020-01-01 10:11:12",
    "2020-01-01T10:11:12.", "2020-01-01T10:11:12.123456789", "2020-01-01T10:11:12Z",
    "2020-01-01T10:11:12.1 Z", "2020-01-01T10:11:12+01:00", "2020-01-01T10:11:12+1:0",
    "2020-01-01T10:11:12 UTC+1", "2020-01-01T10:11:12GMT", "2020-01-01T10:11:12 Europe/Paris",
    "2020-01-01T10:11:12 PST", "2020-01-01T10:11:12+18:01", "2020-01-01T24:00:00", "2020-02-30",
    "1900-02-29", "-2020-01-01", "0000-01-01", "123456-01-01", "294247-01-10 04:00:54.775808Z",
    "1582-10-10", "1880-01-01 00:00:00", "2020-03-29 02:30:00", "2020-10-25 02:30:00",
    "2021-03-14 02:30:00", "2021-11-07 01:30:00", "2075-07-01 00:00:00", " 2020-01-01 ", "-5",
    "-719163", "9999999-01-01", "-5877641-06-22", "-5877641-06-23", "yesterday", "12:30",
    "2020-01-01T10:11Z",
)  # fmt: skip
TAILS = ("", " ", "\n", "x", "{}", "}", "]", "\0", ",")


class RandomJson:
    """Makes them; `oddness` is how often a part is not what the schema wants."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.oddness = 0.0

    def schema(self) -> StructType:
        names = self.random.sample(_NAMES, self.random.randint(1, 6))
        return StructType(
            [StructField(each, self._type(0), self.random.random() < 0.9) for each in names]
        )

    def value(self, schema: StructType) -> bytes | None:
        self.oddness = self.random.choice((0.0, 0.0, 0.0, 0.01, 0.06))
        if self._is_odd():
            return None
        data = self._fitting(schema, 0).encode()
        if self._is_odd(2):
            data = self._space().encode() + data + self.random.choice(TAILS).encode()
        return self._damaged(data) if self._is_odd(5) else data

    def _is_odd(self, times: float = 1) -> bool:
        return self.random.random() < self.oddness * times

    def _type(self, depth: int) -> DataType:
        kind = self.random.random()
        if depth < _DEEPEST and kind < 0.12:
            names = self.random.sample(_NAMES, self.random.randint(1, 4))
            return StructType([StructField(each, self._type(depth + 1)) for each in names])
        if depth < _DEEPEST and kind < 0.2:
            return ArrayType(self._type(depth + 1))
        if depth < _DEEPEST and kind < 0.27:
            return MapType(StringType(), self._type(depth + 1))
        if kind < 0.35:
            precision = self.random.randint(1, 38)
            return DecimalType(precision, self.random.randint(0, precision))
        return self.random.choice(_SIMPLE)()

    def _fitting(self, of_type: DataType, depth: int) -> str:
        if self._is_odd():
            return self._anything(depth)
        if self.random.random() < 0.05:
            return "null"
        match of_type:
            case StructType():
                fields = [each for each in of_type.fields if self.random.random() < 0.85]
                if self.random.random() < 0.2:
                    self.random.shuffle(fields)
                parts = [self._member(each.name, each.dataType, depth) for each in fields]
                if self.random.random() < 0.1:
                    parts.append(f'"other": {self._anything(depth + 1)}')
                return self._around("{}", parts)
            case ArrayType():
                count = range(self.random.randint(0, 4))
                return self._around(
                    "[]", [self._fitting(of_type.elementType, depth + 1) for _ in count]
                )
            case MapType():
                keys = self.random.choices(STRINGS[:10], k=self.random.randint(0, 3))
                return self._around(
                    "{}", [self._member(key, of_type.valueType, depth) for key in keys]
                )
        return self._scalar(of_type)

    def _scalar(self, of_type: DataType) -> str:
        pick = self.random
        match of_type:
            case BooleanType():
                return pick.choice(("true", "false"))
            case StringType():
                given = ("5", "true", '{"a" : 1.50 , "b":[ {} , null,"\\n" ] }', "-12.25", "[]")
                return (
                    pick.choice(given) if pick.random() < 0.2 else f'"{pick.choice(STRINGS[:12])}"'
                )
            case BinaryType():
                return pick.choice(('""', '"AQID"', '"AQ=="', '"AQI="'))
            case DecimalType():
                whole = min(6, of_type.precision - of_type.scale)
                digits = pick.randint(0, min(of_type.scale + 2, 12))
                return f"{pick.uniform(-1, 1) * 10**whole:.{digits}f}"
            case DateType():
                return f'"{self._date(1, 9999)}"'
            case TimestampType() | TimestampNTZType():
                zone = pick.choice(("", "Z", "+01:00", "-08:00", "+17:59"))
                is_local = isinstance(of_type, TimestampNTZType)
                return f'"{self._time()}{"" if is_local else zone}"'
            case FloatType() | DoubleType():
                return self._float()
        least, greatest = _INTS[type(of_type)]
        return str(pick.randint(least, greatest))

    def _float(self) -> str:
        pick = self.random
        size = 10.0 ** pick.randint(-8, 9)
        return pick.choice(
            (
                repr(pick.uniform(-size, size)),
                f"{pick.uniform(-size, size):.{pick.randint(1, 20)}f}",
                str(pick.randint(-(10**17), 10**17)),
                f"{pick.uniform(-1, 1) * 10.0 ** pick.randint(-320, 300):.{pick.randint(0, 25)}e}",
            )
        )

    def _date(self, first: int, last: int) -> str:
        pick = self.random
        return f"{pick.randint(first, last):04}-{pick.randint(1, 12):02}-{pick.randint(1, 28):02}"

    def _time(self) -> str:
        pick = self.random
        clock = f"{pick.randint(0, 23):02}:{pick.randint(0, 59):02}:{pick.randint(0, 59):02}"
        fraction = pick.choice(("", ".1", ".123", ".123456", ".1234567"))
        return f"{self._date(1971, 2069)}{pick.choice('T ')}{clock}{fraction}"

    def _anything(self, depth: int) -> str:
        pick = self.random
        kind = pick.random()
        if kind < 0.3:
            return pick.choice(NUMBERS)
        if kind < 0.5:
            return f'"{pick.choice(STRINGS)}"'
        if kind < 0.6:
            return f'"{pick.choice(TIMES)}"'
        if kind < 0.75 or depth > 4:
            return pick.choice(("true", "false", "null", "tru", "'a'"))
        parts = [self._anything(depth + 1) for _ in range(pick.randint(0, 3))]
        if kind < 0.87:
            return self._around("[]", parts)
        return self._around("{}", [f'"{pick.choice(_NAMES)}" : {each}' for each in parts])

    def _member(self, name: str, of_type: DataType, depth: int) -> str:
        return f'"{name}"{self._space()}:{self._space()}{self._fitting(of_type, depth + 1)}'

    def _around(self, brackets: str, parts: list[str]) -> str:
        return brackets[0] + self._space() + f"{self._space()},".join(parts) + brackets[1]

    def _space(self) -> str:
        return self.random.choice(("", "", "", " ", "\n", "\t "))

    def _damaged(self, data: bytes) -> bytes:
        """One to three bytes changed, taken out or added, or the end cut off."""
        damaged = bytearray(data)
        for _ in range(self.random.randint(1, 3)):
            if not damaged:
                break
            at = self.random.randrange(len(damaged))
            match self.random.randrange(4):
                case 0:
                    damaged[at] = self.random.randrange(256)
                case 1:
                    del damaged[at]
                case 2:
                    damaged.insert(at, self.random.choice(b'{}[]",:\\ 0-e.ntf\xff'))
                case _:
                    del damaged[at:]
        return bytes(damaged)


def corner_cases() -> list[bytes | None]:
    """Values for `corner_schema`: each odd text as each column, and odd objects."""
    texts: list[Any] = [*NUMBERS, *(f'"{each}"' for each in (*STRINGS, "1,234.5", "1.005", "1e2"))]
    texts += ["{}", "[]", "[1,2]", '[1,"a"]', "[null]", '{"a":1}', '{"a":"x"}', '{"a":1,"a":2}']
    texts += ['{"k":1.5,"k":2,"j":null}', '[{"z":1},{"z":null},{}]', '[{"z":"\\ud800"}]']
    texts += [
        '{"a" : 1 , "q":{"r":[1,2.50,{"k":"\\n\\u0001\\"/\\\\"}]}}',
        "'a\\'b'",
        "true",
        "null",
    ]
    values = [
        f'{{"{name}": {text}}}' for name in (*corner_schema().names, "other") for text in texts
    ]
    values += [f'{{"{name}": "{time}"}}' for name in ("ts", "tn", "dt") for time in TIMES[:-2]]
    values += ["", " ", "{", "}", "{}", "{}{}", "{} x", "{}\0", "[{}]", "null", "1", "{i: 5}"]
    values += ['{"i":"x","i":1}', '{"i":"x","i":null}', '{"i":1,"i":null}', '{"\\u0069": 5}']
    values += ['{"I": 5}', '\ufeff{"i":1}', '{"i":1}\u00a0', '{"s":"}"}', '{"s":"}"} x', '{"":1}']
    values += ['{"i":1,,"s":2}', '{"i" 1}', '{"i"}', '{"i":1,}', '{"i":"x","st":{"a":"b"}}']
    values += [f'{{"{"n" * size}":1,"i":1}}' for size in (50_000, 50_001)]
    for depth in (512, 999, 1000, 1001):
        arrays = "[" * (depth - 1) + "]" * (depth - 1)
        values += [f'{{"other":{arrays}}}', f'{{"s":{arrays}}}', f'{{"s":{arrays},"st":{{}}}}']
        values += ['{"a":' * depth + "1" + "}" * depth]
    broken = [b'{"s":"\xff"}', b'{"s":"\xed\xa0\x80"}', b'{"s":"\xc0\x80"}', b"\xff", b"{}\xff"]
    return [*(each.encode() for each in values), *broken, None]


def corner_schema() -> StructType:
    """A column of each type."""
    struct = StructType([StructField("a", IntegerType()), StructField("q", StringType())])
    element = StructType([StructField("z", StringType())])
    types: dict[str, DataType] = {
        "b": BooleanType(),
        "i8": ByteType(),
        "i16": ShortType(),
        "i": IntegerType(),
        "l": LongType(),
        "f": FloatType(),
        "d": DoubleType(),
        "s": StringType(),
        "n": DecimalType(6, 2),
        "ts": TimestampType(),
        "tn": TimestampNTZType(),
        "dt": DateType(),
        "x": BinaryType(),
        "st": struct,
        "ar": ArrayType(IntegerType()),
        "m": MapType(StringType(), DoubleType()),
        "as": ArrayType(element),
    }
    return StructType([StructField(name, of_type) for name, of_type in types.items()])

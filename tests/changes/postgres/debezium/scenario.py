"""Tables of many types, rows that are there before, and transactions that change them."""

import psycopg

PREFIX = "oracle"
TABLES = tuple(
    f"public.{name}" for name in ("kinds", "orders", "lines", "full_rows", "large_rows", "no_key")
)

SCHEMA = """
CREATE TYPE mood AS ENUM ('happy', 'sad');
CREATE DOMAIN amount AS numeric(12, 3);
CREATE TABLE kinds (
    id int PRIMARY KEY,
    small smallint, large bigint, yes boolean, single real, double double precision,
    fixed numeric(10, 2), free numeric, whole numeric(8, 0), of_domain amount, cash money,
    chars char(5), short varchar(10), long text, binary_data bytea,
    one_bit bit, five_bits bit(5), many_bits varbit,
    day date, clock time, clock_ms time(3), clock_tz timetz,
    at timestamp, at_ms timestamp(3), at_s timestamp(0), at_tz timestamptz, span interval,
    doc json, doc_b jsonb, ident uuid, feeling mood,
    place point, address inet, net cidr, mac macaddr,
    numbers int[], words text[], sums numeric(6, 2)[], days date[], moments timestamptz[]
);
CREATE TABLE orders (
    id bigserial PRIMARY KEY, customer text NOT NULL, total numeric(10, 2) DEFAULT 0
);
CREATE TABLE lines (order_id bigint, line int, item text, PRIMARY KEY (order_id, line));
CREATE TABLE full_rows (id int PRIMARY KEY, name text, big text);
ALTER TABLE full_rows REPLICA IDENTITY FULL;
ALTER TABLE full_rows ALTER big SET STORAGE EXTERNAL;
CREATE TABLE large_rows (id int PRIMARY KEY, name text, big text, many int[]);
ALTER TABLE large_rows ALTER big SET STORAGE EXTERNAL, ALTER many SET STORAGE EXTERNAL;
CREATE TABLE no_key (name text, n int);
ALTER TABLE no_key REPLICA IDENTITY FULL;
"""

_KINDS = """
INSERT INTO kinds VALUES
    ({0}, -32768, 9223372036854775807, true, 1.5, 1e-7,
     12.34, 123456789012345678901234567890.5, 42, 1.5, '12.34',
     'ab', 'short', E'line\\n"quoted" \\\\ \\u00fc', '\\xdeadbeef00',
     B'1', B'10110', B'1011011110',
     '2024-02-29', '12:34:56.789012', '12:34:56.789', '12:34:56.789012+02',
     '2024-02-29 12:34:56.789012', '2024-02-29 12:34:56.789', '2024-02-29 12:34:56',
     '2024-02-29 12:34:56.789012+02', '1 year 2 mons 3 days 04:05:06.789',
     '{{"a": [1, 2.50, null]}}', '{{"b": 1, "a": "x"}}',
     '123e4567-e89b-12d3-a456-426614174000', 'happy',
     '(1.5,-2)', '192.168.0.1/24', '10.0.0.0/8', '08:00:2b:01:02:03',
     '{{1,NULL,3}}', '{{"a b",NULL,"c,d"}}', '{{1.10,-2.25}}', '{{2024-02-29}}',
     '{{"2024-02-29 12:34:56+00"}}')
"""

BEFORE = (
    _KINDS.format(1),
    "INSERT INTO kinds (id) VALUES (2)",
    "INSERT INTO orders (customer, total) VALUES ('Frieda', 10.50), ('Olga', -0.01)",
    "INSERT INTO full_rows VALUES (1, 'one', repeat('0123456789abcdef', 200))",
    """INSERT INTO large_rows SELECT 1, 'one', repeat('0123456789abcdef', 200),
        array_agg(n) FROM generate_series(1, 600) n""",
    "INSERT INTO no_key VALUES ('a', 1), ('a', 1)",
)

TRANSACTIONS: tuple[tuple[str, ...], ...] = (
    (_KINDS.format(3),),
    ("INSERT INTO kinds (id) VALUES (4)",),
    (
        "INSERT INTO orders (customer, total) VALUES ('Pepi', 7)",
        "INSERT INTO lines VALUES (3, 1, 'lamp'), (3, 2, 'rope')",
        "UPDATE orders SET total = 8 WHERE id = 3",
    ),
    ("UPDATE kinds SET small = 5, doc = NULL, chars = 'abcde' WHERE id = 3",),
    ("UPDATE orders SET id = 30 WHERE id = 3",),
    ("UPDATE lines SET line = line + 10 WHERE order_id = 3",),
    ("UPDATE full_rows SET name = 'uno'",),
    ("UPDATE large_rows SET name = 'uno'",),
    ("UPDATE large_rows SET id = 2",),
    ("UPDATE large_rows SET big = 'small'",),
    ("UPDATE full_rows SET id = 2",),
    ("DELETE FROM full_rows",),
    ("UPDATE no_key SET n = 2", "DELETE FROM no_key WHERE ctid = (SELECT min(ctid) FROM no_key)"),
    ("DELETE FROM lines", "DELETE FROM orders WHERE id = 30"),
    ("ALTER TABLE orders ADD COLUMN note text DEFAULT 'none'",),
    ("INSERT INTO orders (id, customer) VALUES (40, 'Hans')",),
    ("ALTER TABLE orders DROP COLUMN total",),
    ("UPDATE orders SET note = 'x' WHERE id = 40",),
    ("UPDATE kinds SET single = 'NaN', double = '-Infinity' WHERE id = 4",),
    ("UPDATE kinds SET day = 'infinity', at = '-infinity', at_tz = 'infinity' WHERE id = 4",),
    ("UPDATE kinds SET day = '0044-03-15 BC', at = '0044-03-15 12:00 BC' WHERE id = 4",),
    ("UPDATE kinds SET fixed = -0.5, free = -12, cash = '-1234.50' WHERE id = 4",),
    ("UPDATE kinds SET span = '-3 days -00:00:01', clock = '24:00' WHERE id = 4",),
    ("INSERT INTO orders (id, customer) VALUES (41, 'Last')",),
)
"""Each in a transaction of its own. The last record of `orders` is the end of the stream."""

LAST_KEY = 41


def prepare(connection: psycopg.Connection) -> None:
    """Tables, and the rows that a snapshot reads."""
    connection.execute(SCHEMA)
    for statement in BEFORE:
        connection.execute(statement)


def change(connection: psycopg.Connection) -> None:
    """All the transactions."""
    for statements in TRANSACTIONS:
        with connection.transaction():
            for statement in statements:
                connection.execute(statement)

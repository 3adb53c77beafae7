import pytest

from sqlext.errors import AnalysisError, ParseError, SqlextError, UnsupportedError
from sqlext.sql.parser import parse
from sqlext.sql.statements.statement import ColumnDefinition, PartitionTerm, SortTerm


def read(text, **options):
    return parse(text, catalogs=("lake",), current=("lake", "db"), **options)


def test_the_issues_statement():
    statement = read(
        "CREATE TABLE IF NOT EXISTS lake.db.orders (order_id INTEGER COMMENT 'unique id', order_date DATE, order_time"
        " TIMESTAMP(3), quantity INT, product_id INT, purchaser STRING, primary key(order_id) NOT ENFORCED)"
        " WITH ('format-version'='2')"
    )
    assert statement.name.parts == ("lake", "db", "orders")
    assert statement.if_not_exists
    assert [(c.name, c.type_text) for c in statement.columns] == [
        ("order_id", "INTEGER"),
        ("order_date", "DATE"),
        ("order_time", "TIMESTAMP(3)"),
        ("quantity", "INT"),
        ("product_id", "INT"),
        ("purchaser", "STRING"),
    ]
    assert statement.columns[0].comment == "unique id"
    assert statement.primary_key == ("order_id",)
    assert statement.properties == {"format-version": "2"}


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ("a INT", ColumnDefinition("a", "INT")),
        ("a INT NOT NULL", ColumnDefinition("a", "INT", nullable=False)),
        ("a INT NULL", ColumnDefinition("a", "INT")),
        ("a INT COMMENT 'x' NOT NULL", ColumnDefinition("a", "INT", nullable=False, comment="x")),
        ("a INT PRIMARY KEY", ColumnDefinition("a", "INT", primary_key=True)),
        ("a INT NOT NULL PRIMARY KEY NOT ENFORCED COMMENT 'k'", ColumnDefinition("a", "INT", False, "k", True)),
        ("a INT CONSTRAINT pk PRIMARY KEY", ColumnDefinition("a", "INT", primary_key=True)),
        ("`a b``c` DECIMAL(10, 2)", ColumnDefinition("a b`c", "DECIMAL(10, 2)")),
        ("date DATE", ColumnDefinition("date", "DATE")),
        ("comment STRING COMMENT 'it''s'", ColumnDefinition("comment", "STRING", comment="it's")),
        ("a DOUBLE PRECISION", ColumnDefinition("a", "DOUBLE PRECISION")),
        ("a TIMESTAMP(3) WITH LOCAL TIME ZONE", ColumnDefinition("a", "TIMESTAMP(3) WITH LOCAL TIME ZONE")),
        ("a ARRAY<ARRAY<INT>>", ColumnDefinition("a", "ARRAY<ARRAY<INT>>")),
        (
            "a STRUCT<x: INT NOT NULL COMMENT 'in, side', y: MAP<STRING, ARRAY<INT>>> NOT NULL",
            ColumnDefinition("a", "STRUCT<x: INT NOT NULL COMMENT 'in, side', y: MAP<STRING, ARRAY<INT>>>", False),
        ),
        ("a STRUCT<>", ColumnDefinition("a", "STRUCT<>")),
        ("a INT COMMENT r'C:\\new'", ColumnDefinition("a", "INT", comment="C:\\new")),
        ("a INT COMMENT 'a' 'b'", ColumnDefinition("a", "INT", comment="ab")),
        ('a INT COMMENT "dou\\"ble"', ColumnDefinition("a", "INT", comment='dou"ble')),
        ("a INT COMMENT '); DROP TABLE x; --'", ColumnDefinition("a", "INT", comment="); DROP TABLE x; --")),
        ("a INT COMMENT '日本 \\u00e9'", ColumnDefinition("a", "INT", comment="日本 é")),
    ],
)
def test_columns(column, expected):
    assert read(f"CREATE TABLE t ({column}, z INT)").columns[0] == expected


@pytest.mark.parametrize(
    ("constraint", "key"),
    [
        ("PRIMARY KEY (a)", ("a",)),
        ("PRIMARY KEY (a, `b`) NOT ENFORCED", ("a", "b")),
        ("CONSTRAINT pk PRIMARY KEY (b, a)", ("b", "a")),
        ("CONSTRAINT `p k` PRIMARY /* c */ KEY (A)", ("A",)),
    ],
)
def test_primary_keys(constraint, key):
    assert read(f"CREATE TABLE t (a INT, b INT, {constraint})").primary_key == key
    assert read(f"CREATE TABLE t ({constraint}, a INT, b INT)").primary_key == key


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        ("a", PartitionTerm("identity", ("a",))),
        ("a.b", PartitionTerm("identity", ("a", "b"))),
        ("identity(a)", PartitionTerm("identity", ("a",))),
        ("years(a)", PartitionTerm("year", ("a",))),
        ("YEAR(a)", PartitionTerm("year", ("a",))),
        ("months(a)", PartitionTerm("month", ("a",))),
        ("month(a)", PartitionTerm("month", ("a",))),
        ("days(a)", PartitionTerm("day", ("a",))),
        ("day(`a b`)", PartitionTerm("day", ("a b",))),
        ("date(a)", PartitionTerm("day", ("a",))),
        ("hours(a)", PartitionTerm("hour", ("a",))),
        ("hour(a.b.c)", PartitionTerm("hour", ("a", "b", "c"))),
        ("bucket(16, a)", PartitionTerm("bucket", ("a",), 16)),
        ("bucket(a, 16)", PartitionTerm("bucket", ("a",), 16)),
        ("truncate(4, a)", PartitionTerm("truncate", ("a",), 4)),
        ("truncate(a, 4)", PartitionTerm("truncate", ("a",), 4)),
        ("days", PartitionTerm("identity", ("days",))),
        ("bucket(16, a) AS shard", PartitionTerm("bucket", ("a",), 16, "shard")),
    ],
)
def test_partition_terms(term, expected):
    statement = read(f"CREATE TABLE t (a INT) PARTITIONED BY ({term}, z)")
    assert statement.partitioning == (expected, PartitionTerm("identity", ("z",)))


@pytest.mark.parametrize("term", ["bucket(a)", "days(3, a)", "bucket(0, a)", "zorder(a)", "truncate(3000000000, a)"])
def test_wrong_transforms(term):
    with pytest.raises(AnalysisError) as caught:
        read(f"CREATE TABLE t (a INT) PARTITIONED BY ({term})")
    assert caught.value.condition == "INVALID_PARTITION_TRANSFORM"


def test_ordering():
    statement = read("CREATE TABLE t (a INT, b INT) ORDERED BY (a, b DESC, bucket(4, a) ASC NULLS LAST)")
    assert statement.ordering == (
        SortTerm(PartitionTerm("identity", ("a",)), descending=False, nulls_first=True),
        SortTerm(PartitionTerm("identity", ("b",)), descending=True, nulls_first=False),
        SortTerm(PartitionTerm("bucket", ("a",), 4), descending=False, nulls_first=False),
    )


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ("('a'='b')", {"a": "b"}),
        ("(a = 'b')", {"a": "b"}),
        ("(write.upsert.mode = 'equality')", {"write.upsert.mode": "equality"}),
        (
            "('a' = 1, b = true, c = FALSE, d = 1.5, e = -2)",
            {"a": "1", "b": "true", "c": "false", "d": "1.5", "e": "-2"},
        ),
        ("('a' 'b')", {"ab": None}),
        ("(`a b`.c = 'x')", {"a b.c": "x"}),
        ("(format-version = 2)", {"format-version": "2"}),
        ("('k' == 'it''s')", {"k": "it's"}),
    ],
)
def test_properties(properties, expected):
    if None in expected.values():
        with pytest.raises(ParseError):
            read(f"CREATE TABLE t (a INT) TBLPROPERTIES {properties}")
        return
    assert read(f"CREATE TABLE t (a INT) TBLPROPERTIES {properties}").properties == expected
    assert read(f"CREATE TABLE t (a INT) WITH {properties}").properties == expected


def test_clauses_in_any_order():
    clauses = ["USING iceberg", "COMMENT 'c'", "LOCATION '/x y'", "TBLPROPERTIES ('a'='b')", "PARTITIONED BY (a)"]
    for turn in range(len(clauses)):
        text = " ".join(clauses[turn:] + clauses[:turn])
        statement = read(f"CREATE TABLE t (a INT) {text};")
        assert (statement.provider, statement.comment, statement.location) == ("iceberg", "c", "/x y")
        assert statement.properties == {"a": "b"}
        assert len(statement.partitioning) == 1


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("CREATE TABLE t AS SELECT 1 AS a", "SELECT 1 AS a"),
        ("CREATE TABLE t USING iceberg PARTITIONED BY (a) AS WITH c AS (SELECT 1 a) SELECT * FROM c",
         "WITH c AS (SELECT 1 a) SELECT * FROM c"),
        ("CREATE TABLE t AS (SELECT 1 AS a) -- end", "(SELECT 1 AS a)"),
        ("CREATE TABLE t (PRIMARY KEY (a)) AS SELECT 1 AS a", "SELECT 1 AS a"),
        ("CREATE TABLE t SELECT 1 AS a", "SELECT 1 AS a"),
        ("CREATE TABLE t AS VALUES (1), (2)", "VALUES (1), (2)"),
        ("CREATE TABLE t AS TABLE x", "TABLE x"),
        ("CREATE TABLE t COMMENT 'as' AS FROM x SELECT a /* c */ , b", "FROM x SELECT a /* c */ , b"),
    ],
)  # fmt: skip
def test_queries(text, query):
    assert read(text).as_select.text == query


def test_replace():
    assert read("CREATE OR REPLACE TABLE t (a INT)").or_replace
    assert not read("CREATE OR REPLACE TABLE t (a INT)").must_exist
    assert read("REPLACE TABLE t (a INT)").must_exist


@pytest.mark.parametrize(
    "text",
    [
        "CREATE TABLE t (a INT GENERATED ALWAYS AS (1) GENERATED ALWAYS AS (2))",
        "CREATE TABLE t (a INT GENERATED BY DEFAULT AS (1))",
        "CREATE TABLE t (a INT, CHECK (a > 1) NOT ENFORCED)",
        "CREATE TABLE t (a INT UNIQUE)",
        "CREATE TABLE t (a INT, UNIQUE (a))",
        "CREATE TABLE t (a INT REFERENCES x (a))",
        "CREATE TABLE t (a INT, FOREIGN KEY (a) REFERENCES x (a))",
        "CREATE TABLE t (a STRING COLLATE UTF8_LCASE)",
        "CREATE TABLE t (a AS b + 1)",
        "CREATE TABLE t (ts TIMESTAMP(3), WATERMARK FOR ts AS ts)",
        "CREATE TABLE t (a INT) CLUSTERED BY (a) INTO 4 BUCKETS",
        "CREATE TABLE t (a INT) SKEWED BY (a) ON (1)",
        "CREATE TABLE t (a INT) STORED AS parquet",
        "CREATE TABLE t (a INT) ROW FORMAT DELIMITED",
        "CREATE TABLE t (a INT) OPTIONS ('a' = 'b')",
        "CREATE TABLE t (a INT) DEFAULT COLLATION UTF8_LCASE",
        "CREATE TABLE t (a INT) PARTITIONED BY (b INT)",
        "CREATE TABLE t (a INT) AS SELECT 1",
        "CREATE OR REPLACE TABLE t LIKE x",
        "CREATE TABLE t LIKE spark_catalog.db.x",
        "CREATE TABLE t LIKE x PARTITIONED BY (a)",
        "CREATE EXTERNAL TABLE t (a INT)",
        "CREATE OR REPLACE TABLE IF NOT EXISTS t (a INT)",
    ],
)
def test_what_iceberg_lacks_is_refused(text):
    with pytest.raises(UnsupportedError) as caught:
        read(text)
    assert caught.value.condition == "UNSUPPORTED_SYNTAX"


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("CREATE TABLE t (a INT) USING orc", "UNSUPPORTED_PROVIDER"),
        ("CREATE TABLE t USING delta AS SELECT 1", "UNSUPPORTED_PROVIDER"),
        ("CREATE TABLE t (a INT, A STRING)", "COLUMN_ALREADY_EXISTS"),
        ("CREATE TABLE t (a INT, PRIMARY KEY (a, A))", "COLUMN_ALREADY_EXISTS"),
        ("CREATE TABLE t (a INT, PRIMARY KEY (b))", "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
        ("CREATE TABLE t (a INT PRIMARY KEY, b INT PRIMARY KEY)", "DUPLICATE_CLAUSES"),
        ("CREATE TABLE t (a INT PRIMARY KEY, PRIMARY KEY (a))", "DUPLICATE_CLAUSES"),
        ("CREATE TABLE t (a INT) COMMENT 'a' COMMENT 'b'", "DUPLICATE_CLAUSES"),
        ("CREATE TABLE t (a INT) TBLPROPERTIES ('a'='b') WITH ('c'='d')", "DUPLICATE_CLAUSES"),
        ("CREATE TABLE t (a INT) TBLPROPERTIES ('a'='b', 'a'='c')", "DUPLICATE_CLAUSES"),
    ],
)
def test_contradictions(text, condition):
    with pytest.raises(SqlextError) as caught:
        read(text)
    assert caught.value.condition == condition


def test_escaped_string_literals():
    text = "CREATE TABLE t (a INT) COMMENT 'a\\nb'"
    assert read(text).comment == "a\nb"
    assert read(text, escaped_string_literals=True).comment == "a\\nb"


@pytest.mark.parametrize(
    ("clause", "default"),
    [
        ("DEFAULT 1 NOT NULL", "1"),
        ("NOT NULL DEFAULT -1 + 2 COMMENT 'c'", "-1 + 2"),
        ("DEFAULT NULL", "NULL"),
        ("DEFAULT NOT true PRIMARY KEY", "NOT true"),
        ("DEFAULT 1 IS NOT NULL CHECK (a > 1)", "1 IS NOT NULL"),
        ("DEFAULT CASE WHEN true THEN 1 END", "CASE WHEN true THEN 1 END"),
        ("DEFAULT CAST('1' AS INT)", "CAST('1' AS INT)"),
    ],
)
def test_default(clause, default):
    column = read(f"CREATE TABLE t (a INT {clause}, b INT)").columns[0]
    assert column.default_text == default

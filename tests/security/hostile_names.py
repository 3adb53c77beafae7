"""Names that try to be more than a name: of a folder, of SQL, of a URL, of a shell. The same 500 in each run."""

from __future__ import annotations

import itertools

_STEPS = (
    "..", ".", "...", "%2e%2e", "%2E%2e", ".%2e", "%252e%252e", "．．", "‥", "‥․", "..;", "~", "~root", "$HOME",
    "${HOME}",
)  # fmt: skip
_SEPARATORS = (
    "/", "\\", "%2f", "%2F", "%5c", "%252f", "∕", "⁄", "／", "⧵", "＼", "//", "\\\\", "/./", ":", "\0", "\n",
)  # fmt: skip
_PLACES = ("escaped", "etc/passwd", "metadata", "db", "")

_SINGLE = (
    # the layout's own names
    "metadata", "data", "version-hint.text", "v1.metadata.json", ".transactions", ".sqlext-dropped", ".sqlext-folder",
    ".sqlext-0.tmp", "_delta_log", "_temporary", "_SUCCESS", "CON", "NUL", "aux.txt", "lost+found", ".git",
    # white space and characters that are not seen
    " ", "  ", "\t", " a", "a ", "a\t", "\u00a0", "\u200b", "\ufeff", "a\u202eb", "a\u2028b", "\u2029", "\r",
    "\r\n", "\x7f", "\x85",
    "\x1b[2J", "a\x00.parquet", "\x00", "\x01", "\ud800", "a\udfff", "e\u0301", "\u00e9",
    # sizes
    "", "x" * 199, "x" * 200, "x" * 201, "x" * 4096, "ä" * 100, "ä" * 101, "😀" * 50, "😀" * 51,
    # SQL
    "'; DROP TABLE iceberg_tables; --", "' OR '1'='1", '"; DROP TABLE iceberg_tables; --', "%", "%%", "%s",
    "?", "??", "_",
    "$1", ":name", "') ; DELETE FROM iceberg_tables WHERE ('1'='1", "a' UNION SELECT 1,2,3,4 --", "`", "``",
    "a`b", "lake.db.t",
    "a.b", "a..b", ".", "a.", "branch_main", "tag_x", "snapshot_id_1", "at_timestamp_1", "-- comment", "/* */",
    ";", "''", "\\'",
    "select", "NULL", "0", "-1", "1e9", "true",
    # URLs, templates, shells, formats
    "http:", "s3:", "file:", "jdbc:sqlite:x", "a?b=c", "a#b", "a&b", "a=b", "region=eu", "a@b", "[a]", "{a}", "{{7*7}}",
    "${jndi:ldap://x}", "#{x}", "$(touch x)", "`touch x`", "|x", "&x", ">x", "<x", "*", "a*", "?x", "!x",
    "-rf", "--", "-", "+",
    "{0}", "{name}", "%(name)s", "%n", "\\u002e", "\\x2e", "&#46;&#46;", "<script>", "\"", "'", ",", "(", ")", "^", "=",
)  # fmt: skip


def hostile_names() -> tuple[str, ...]:
    """Each once, the single ones first."""
    paths = (
        "".join((step, separator, step if twice else "", separator if twice else "", place))
        for twice, place, separator, step in itertools.product((False, True), _PLACES, _SEPARATORS, _STEPS)
    )
    return tuple(itertools.islice(dict.fromkeys((*_SINGLE, *paths)), 500))

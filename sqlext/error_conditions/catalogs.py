"""Conditions of catalogs, commits and transactions of several tables."""

from __future__ import annotations

from collections.abc import Mapping

from sqlext.error_conditions.condition import Condition

CATALOGS: Mapping[str, Condition] = {
    # catalog interface
    "ALTER_TABLE_NOT_SUPPORTED": Condition(
        "0A000",
        "ALTER TABLE with {change} is refused: this version does not support it. Create a new table, or leave it out.",
    ),
    "CATALOG_CLASS_WRONG": Condition(
        "42P08",
        "The catalog {name} cannot be a {given}. Start the session with spark.sql.catalog.{name}={wanted}.",
    ),
    "CATALOG_FAILURE": Condition("58000", "The catalog {name} refused: {reason}. It has changed nothing."),
    "CATALOG_LOGIN_FAILED": Condition(
        "28000",
        "The catalog {name} is not opened: {reason}. Check the user and the password, or the token, in the settings"
        " spark.sql.catalog.{name}.*.",
    ),
    "CATALOG_NO_ANSWER": Condition(
        "08007",
        "The catalog {name} gave no answer about {object}: {reason}. It may have done what was asked."
        " Check, and run the statement again if it did not.",
    ),
    "CATALOG_NOT_FOUND": Condition(
        "42P08",
        "No sqlext catalog {name} is open in this session. SHOW CATALOGS lists those in use; a new one needs"
        " spark.sql.catalog.<name> = io.sqlext.Catalog and a warehouse.",
    ),
    "CATALOG_IS_OPEN": Condition(
        "55006",
        "The catalog {name} is in use in this application with another {option}: a catalog is the same in all sessions."
        " Give the other one a name of its own, or call spark.stop() first.",
    ),
    "CATALOG_OPTION_INVALID": Condition(
        "42616", "The catalog {name} has {option}={value}. Set spark.sql.catalog.{name}.{option} to {allowed}."
    ),
    "CATALOG_OPTION_REFUSED": Condition(
        "42616",
        "The catalog {name} is not opened: its option {option} is refused, as {reason}. {way_out}",
    ),
    "CATALOG_OPTION_REQUIRED": Condition(
        "42616", "The catalog {name} has no {option}. Set spark.sql.catalog.{name}.{option}."
    ),
    "CATALOG_UNREACHABLE": Condition(
        "08001",
        "The catalog {name} cannot be reached: {reason}. No change was sent; check its uri, and that it runs.",
    ),
    "LOCATION_IN_USE": Condition(
        "42710",
        "The location {location} is refused: it has the table {other} already, and two tables would delete"
        " each other's files. Leave the location out, or name another.",
    ),
    "DROPPED_TABLE_NOT_FOUND": Condition(
        "42P01",
        "No dropped table {name} can be restored: none of this name was dropped, or it was dropped with PURGE"
        " or too long ago. CALL … system.dropped_tables(namespace) lists what there is.",
    ),
    "JAR_REQUIRED": Condition(
        "58000",
        "{feature} needs {jar}, which is not on the class path of the JVM. Name it in spark.jars.packages, or in"
        " --packages.",
    ),
    "PACKAGE_REQUIRED": Condition(
        "58000",
        "{feature} needs the Python package {package}, which is not installed. Run pip install '{package}'.",
    ),
    "PATH_REQUIRED": Condition(
        "42000", "Reading format sqlext needs a path. Give .load(path) a table's folder or a metadata.json file."
    ),
    "RENAME_NOT_SUPPORTED": Condition(
        "0A000",
        "Renaming {name} is refused: in a folder catalog a table's name is its folder, with which all paths in its"
        " metadata begin. Catalogs in a database rename tables; here, copy it: CREATE TABLE … LIKE, then INSERT.",
    ),
    "SETTING_INVALID": Condition("42616", "The session has {name}={value}. Set it to {allowed}, or leave it out."),
    "SETTING_UNKNOWN": Condition("42616", "sqlext has no setting {name}. {way_out}"),
    "SNAPSHOT_NOT_FOUND": Condition(
        "42704",
        "The snapshot {snapshot} of {name} cannot be found. SELECT * FROM {name}.snapshots lists what there is, and"
        " so does sqlext history in a terminal.",
    ),
    # commit
    "COMMIT_CONFLICT": Condition("40001", "The commit to {name} lost the race: {reason}. Run the statement again."),
    "CONCURRENT_CHANGE": Condition(
        "40001",
        "The commit to {name} is refused: {reason}, after this statement had read the table. Its result would be"
        " wrong now. Run the statement again.",
    ),
    "WRITE_CONFLICT": Condition(
        "40001",
        "The commit to {name} is refused: {who} changed {rows}, which this statement changes too. One of the two"
        " changes would be lost. Run the statement again.",
    ),
    "REWRITE_COMMITS_FAILED": Condition(
        "40001",
        "Of the rewrite of {name} {failed} commits failed, where partial-progress.max-failed-commits allows {allowed};"
        " the last because: {reason}. The other commits stay. Call it again.",
    ),
    "COMMIT_STATE_UNKNOWN": Condition(
        "08007",
        "Whether the commit to {name} happened is unknown: {reason}. No file was deleted; look for commit id"
        " {commit_id} in {name}.snapshots before you run it again.",
    ),
    "CHANGE_STATE_UNKNOWN": Condition(
        "08007",
        "Whether {name} was changed is unknown: {reason}. No file was deleted; see how {name} is before you run the"
        " statement again.",
    ),
    "COMMIT_IN_PART": Condition(
        "08007",
        "The server of the catalog {name} has made a commit of several tables in part: it is in {landed}, and not in"
        " {missing}: {reason}. No file was deleted; see how these tables are before you run it again.",
    ),
    # transactions
    "NOT_IN_TRANSACTION": Condition(
        "0A000",
        "{operation} is not supported within a transaction. Use it before BEGIN, or after COMMIT or ROLLBACK.",
    ),
    "NO_TRANSACTION": Condition("25P01", "{statement} is refused: the session has no transaction. BEGIN opens one."),
    "TRANSACTION_LOST": Condition(
        "25006",
        "The Python process that held the session's transaction has ended. None of the transaction is committed."
        " End it by ROLLBACK, unless this was its COMMIT, and begin it anew.",
    ),
    "TRANSACTION_OF_ANOTHER_SESSION": Condition(
        "25006",
        "The session was cloned from one with an open transaction, in which it reads. It cannot change anything: use"
        " newSession(), or a clone that is made while no transaction is open.",
    ),
    "SAVEPOINT_NOT_FOUND": Condition(
        "3B001", "The transaction has no savepoint {savepoint}. SAVEPOINT {savepoint} sets one."
    ),
    "SERIALIZABLE_SPANS_CATALOGS": Condition(
        "0A000",
        "COMMIT is refused, and the transaction rolled back: it is serializable, has changed tables of {changed} and"
        " read tables of {read}, and no catalog can guarantee that those of another stay unchanged. Use ISOLATION LEVEL"
        " SNAPSHOT, or tables of one catalog.",
    ),
    "TRANSACTION_CONFLICT": Condition(
        "40001",
        "The transaction is rolled back, as another writer has changed {name} since it was read: {reason}. Run the"
        " transaction again.",
    ),
    "TRANSACTION_IN_PROGRESS": Condition(
        "25001", "BEGIN is refused: the session has a transaction already. COMMIT or ROLLBACK ends it."
    ),
    "TRANSACTION_READ_CONFLICT": Condition(
        "40001",
        "{name} cannot be read as it was when the transaction has read its other tables: {reason}. ROLLBACK, and run"
        " the transaction again.",
    ),
    "TRANSACTION_SPANS_CATALOGS": Condition(
        "0A000",
        "A change in {second} is refused: the transaction has changed tables of {first}, and a commit to"
        " two catalogs is not atomic. Use a transaction for each.",
    ),
}

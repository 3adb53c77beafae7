"""Conditions of statements: syntax, types, table features, the session, procedures."""

from __future__ import annotations

from collections.abc import Mapping

from sqlext.error_conditions.condition import Condition

STATEMENTS: Mapping[str, Condition] = {
    # without Spark
    "LOCAL_DELETE_REFUSED": Condition(
        "42616",
        "The deletion of rows of {table} is refused: it is told by {found}. Give either keys, which are rows with the"
        ' key\'s columns, or a condition, as where="id = 7".',
    ),
    "LOCAL_NEEDS_SPARK": Condition(
        "0A000",
        "{what} is refused by sqlext.local: {reason}. Do it in a session of Spark, such as that of sqlext.session.",
    ),
    "LOCAL_ROWS_REFUSED": Condition(
        "22018", "The rows for {table} are refused: {reason}. Name the table's columns, and cast values to their types."
    ),
    "LOCAL_TIME_WITHOUT_ZONE": Condition(
        "22007",
        "The time {time}, of a version of {name}, is refused: it has no time zone. Give one, such as"
        " datetime(…, tzinfo=timezone.utc).",
    ),
    # statements
    "Z_ORDER_REFUSED": Condition(
        "42616", "ZORDER BY of {name} is refused: {reason}. Leave it out, or name other columns."
    ),
    "BATCH_NOT_IDENTIFIED": Condition(
        "42616",
        "The write is refused: {given} is there without {missing}, and both identify a batch. Give both, or neither.",
    ),
    "BATCH_RAN_BEFORE": Condition(
        "40001",
        "Batch {version} of the application {app_id} is skipped: {name} has its batches up to {last}. Nothing was"
        " written. Give the next batch a larger version.",
    ),
    "BATCH_UNREADABLE": Condition(
        "XX001",
        "The last batch of the application {app_id} in {name} cannot be read: {reason}. It is the table property"
        " {property}. Remove it with ALTER TABLE … UNSET TBLPROPERTIES; then the table takes any batch of the"
        " application.",
    ),
    "CONSTRAINT_ALREADY_EXISTS": Condition(
        "42710", "The constraint {name} of {table} already exists. Use another name, or drop it first."
    ),
    "CONSTRAINT_DOES_NOT_EXIST": Condition(
        "42704",
        "The constraint {name} of {table} cannot be found. SHOW CREATE TABLE {table} lists what there is; the names"
        " of primary keys are not kept: ALTER TABLE {table} DROP PRIMARY KEY drops one.",
    ),
    "INVALID_CHECK_CONSTRAINT": Condition(
        "42621",
        "The CHECK {name} is refused: {reason}. Write a condition over the columns of one row.",
    ),
    "INVALID_GENERATED_COLUMN": Condition("42621", "The generated column {column} is refused: {reason}. {way_out}."),
    "IDENTITY_COLUMNS_DUPLICATED_SEQUENCE_GENERATOR_OPTION": Condition(
        "42601", "The option {option} of an identity column stands more than once. Remove one of them."
    ),
    "IDENTITY_COLUMNS_ILLEGAL_STEP": Condition(
        "42611", "An identity column is to be incremented by 0. Write INCREMENT BY another number."
    ),
    "IDENTITY_COLUMNS_UNSUPPORTED_DATA_TYPE": Condition(
        "428H2", "The identity column {column} is refused: it is of type {type}. Declare it as BIGINT."
    ),
    "IDENTITY_COLUMN_WITH_DEFAULT_VALUE": Condition(
        "42623",
        "The column {column} has both a default, {default}, and an identity, {identity}. Leave one of both out.",
    ),
    "INVALID_IDENTITY_COLUMN": Condition("42621", "The identity column {column} is refused: {reason}. {way_out}."),
    "NO_IDENTITY_COLUMN": Condition(
        "429BQ", "SYNC IDENTITY is refused: the column {column} of {name} is no identity column. Name one that is."
    ),
    "IDENTITY_UPDATE_REFUSED": Condition(
        "42808",
        "{clause} is refused: it assigns {column}, an identity column, whose values stay. Leave the assignment out, or"
        " delete the row and insert another.",
    ),
    "IDENTITY_MERGE_REFUSED": Condition(
        "42000",
        "The MERGE into {name} is refused: its rows {reason}, so they replace others as a whole, and a MERGE has each"
        " row keep its value in an identity column. Use UPSERT, which gives new values, or write conditions into the"
        " clauses.",
    ),
    "COLUMN_ALREADY_EXISTS": Condition("42711", "The column {column} is named more than once. Name each column once."),
    "AGGREGATE_IN_CHANGE": Condition(
        "42903",
        "A value or a condition has an aggregate function, but sees one row at a time. Put the function into a"
        " subquery, such as (SELECT max(a) FROM t).",
    ),
    "CONDITION_NOT_BOOLEAN": Condition(
        "42K09", "The condition of {clause}, {expression}, is of type {type}. It has to be true, false or null."
    ),
    "NON_DETERMINISTIC_CONDITION": Condition(
        "42K0E",
        "The condition of {clause}, {expression}, is refused: it may differ for a row each time it is evaluated."
        " Put such a value into a column of the source; assigned values may be non-deterministic.",
    ),
    "EXPRESSION_IN_CHANGE": Condition(
        "42903",
        "In the value or condition of {place} {expression} {what}, but is to see one row and give one value. Put it"
        " into a subquery, or into the source.",
    ),
    "COLUMN_IN_USE": Condition(
        "42000", "The column {name} cannot be changed like this: {use} depends on it. Use {way_out}."
    ),
    "CONFLICTING_ASSIGNMENTS": Condition(
        "42701",
        "In {clause} both {field} and the whole of {above} are assigned. Assign the whole, or only parts of it.",
    ),
    "DUPLICATE_ASSIGNMENTS": Condition(
        "42701", "The columns {names} are assigned more than once in {clause}. Assign each column once."
    ),
    "DUPLICATE_CLAUSES": Condition("42614", "{clause} stands more than once in the statement. Remove one of them."),
    "FIELD_ALREADY_EXISTS": Condition(
        "42710", "The column {name} exists already. Use another name, or drop the column of that name first."
    ),
    "FIELD_NOT_FOUND": Condition(
        "42704", "The struct {struct} has no field {field}. Assign one of its fields: {fields}."
    ),
    "INSERT_COLUMN_ARITY_MISMATCH": Condition(
        "21S01",
        "The rows do not fit into {name}: {reason}. Columns: {columns}; values: {values}. Give one value per"
        " column,"
        " or name the columns that the values are for.",
    ),
    "INVALID_PARTITION_TRANSFORM": Condition("42601", "The partitioning {transform} is refused: {reason}."),
    "INVALID_PRIMARY_KEY": Condition("42830", "The primary key is refused: {reason}."),
    "MERGE_WITHOUT_WHEN": Condition("42601", "The MERGE into {table} has no WHEN clause. Add at least one."),
    "NON_LAST_MATCHED_CLAUSE_OMIT_CONDITION": Condition(
        "42613",
        "A WHEN MATCHED clause that is not the last of its kind has no condition, so the later ones could never"
        " apply. Add AND <condition>, or move the clause behind the others.",
    ),
    "NON_LAST_NOT_MATCHED_BY_SOURCE_CLAUSE_OMIT_CONDITION": Condition(
        "42613",
        "A WHEN NOT MATCHED BY SOURCE clause that is not the last of its kind has no condition, so the later ones"
        " could never apply. Add AND <condition>, or move the clause behind the others.",
    ),
    "NON_LAST_NOT_MATCHED_BY_TARGET_CLAUSE_OMIT_CONDITION": Condition(
        "42613",
        "A WHEN NOT MATCHED clause that is not the last of its kind has no condition, so the later ones could never"
        " apply. Add AND <condition>, or move the clause behind the others.",
    ),
    "NOT_SUPPORTED_CHANGE_COLUMN": Condition(
        "0A000",
        "The column {name} cannot go from {before} to {after}: {reason}. Add a column of the new type, and fill it"
        " with an UPDATE.",
    ),
    "PARSE_SYNTAX_ERROR": Condition(
        "42601", "Syntax error at {near} (line {line}, column {column}): expected {expected}."
    ),
    "HINT_MISPLACED": Condition(
        "42601",
        "The hint {hint} (line {line}, column {column}) is refused: no table that is read, or that INSERT writes to, is"
        " named right before it. Write it between the name and the alias: t /*+ OPTIONS('branch'='b') */ AS a."
        " UPDATE, DELETE and MERGE take a branch in the table's name alone, as t.branch_b.",
    ),
    "RESERVED_COLUMN_NAME": Condition(
        "42939",
        "The column name {name} is refused: engines give every row a hidden column of that name, and the two could"
        " not be told apart. Use another name, or an alias in the query.",
    ),
    "RESERVED_COLUMN_IN_TABLE": Condition(
        "42939",
        "The write to {table} is refused: its column {name} has the name of a hidden column that engines give every"
        " row, and the two could not be told apart. Rename it first: ALTER TABLE … RENAME COLUMN `{name}` TO another"
        " name.",
    ),
    "SCHEMA_CHANGE_REFUSED": Condition("0A000", "The change of the column {name} is refused: {reason}."),
    "STATIC_PARTITION_COLUMN_IN_INSERT_COLUMN_LIST": Condition(
        "42713",
        "The column {name} has a static value in PARTITION and is in the column list too. Remove it from one.",
    ),
    "PICTURES_NEED_PACKAGE": Condition(
        "0A000",
        "Pictures of a table are drawn by the package {package}, which this Python lacks. Run pip install '{package}'.",
    ),
    "UNRESOLVED_COLUMN.WITH_SUGGESTION": Condition(
        "42703", "The column {name} cannot be resolved in {where}. Did you mean one of: {suggestions}?"
    ),
    "SEARCH_PATH_NOT_FOLLOWED": Condition(
        "0A000",
        "The table {name} has no namespace, and spark.sql.path.enabled is on: sqlext's statements do not follow the"
        " path of SET PATH. Write the namespace, as in {whole}.",
    ),
    "UNSUPPORTED_PROVIDER": Condition(
        "0A000",
        "The table {table} cannot be made USING {provider}: its catalog holds Iceberg tables only. Write USING"
        " iceberg, or name no format.",
    ),
    "UNSUPPORTED_SYNTAX": Condition("0A000", "{feature} (line {line}, column {column}) is not supported: {reason}."),
    "UNREADABLE_EXPRESSION": Condition(
        "0A000",
        "The column names in {expression} ({where}) cannot be told apart: {name} may be a column of the other"
        " table."
        " Qualify every column with its table's alias, or write the expression in simpler terms.",
    ),
    "UNSUPPORTED_NESTED_ASSIGNMENT": Condition(
        "0A000",
        "The assignment to {field} is refused: {reason}. Assign the whole column {column}.",
    ),
    "UNSUPPORTED_TRANSFORM": Condition(
        "0A000",
        "The transform {transform} of {column} has no SQL spelling. Read the table's metadata.json instead.",
    ),
    "UNSUPPORTED_TYPE": Condition("0A000", "The type {type} is not supported: {reason}."),
    # statements and types
    "UNSUPPORTED_DATA_TYPE": Condition(
        "0A000", "The data type {type} is refused: {reason}. Use a type of the table format."
    ),
    # table features
    "UNSUPPORTED_TABLE_FEATURE": Condition(
        "0A000",
        "The table uses {feature}, which this version does not read. Read a snapshot that does without, or rewrite"
        " the table without it in an engine that knows it.",
    ),
    # session
    "INTERNAL_ERROR": Condition(
        "XX000",
        "sqlext failed at {asked!r}, through a bug: {reason}. Check whether the statement has changed its tables, and"
        " please report the bug.",
    ),
    "TOO_DEEPLY_NESTED": Condition(
        "54001",
        "{what} is nested deeper than {limit}. Nest it less{otherwise}.",
    ),
    "JAVA_NOT_FOUND": Condition(
        "58000", "No Java was found, which Spark needs. Install Java 17 or 21 and put it on PATH, or set JAVA_HOME."
    ),
    "OPERATION_CANCELED": Condition(
        "HY008", "The statement was cancelled, and the files that it had not committed were removed. Run it again."
    ),
    "SHIM_NOT_COMPILED": Condition(
        "58000",
        "The JVM shim does not compile against Spark {spark}: {reason}. Check that all jars of Spark's folder are of"
        " that version, and please report it if they are.",
    ),
    "NOT_READ_BY_SPARK_4_0": Condition("0A000", "Table {name} {what}. Read it with Spark 4.1 or newer."),
    "WORKER_LACKS_PACKAGES": Condition(
        "58000",
        "An executor's Python cannot run the statement's tasks. It lacks {packages}; it is {python}. Install that"
        " there, or set PYSPARK_PYTHON to a Python of the executors that has it.",
    ),
    "NOT_A_CHILD_OF_SPARK": Condition(
        "55000",
        "python -m sqlext.serve is started by Spark's JVM, where no Python driver runs. Start spark-sql, a Thrift or a"
        " Connect server with the jar that python -m sqlext.spark.shim.shim_jar prints.",
    ),
    "PYSPARK_DIFFERS": Condition(
        "55000",
        "Spark is version {spark} and PySpark {pyspark}. Set spark.sqlext.python to a Python with PySpark of Spark's"
        " version, or SPARK_HOME to the folder of Spark, which has it.",
    ),
    "SESSION_NOT_ATTACHED": Condition(
        "55000",
        "This session was begun without the rules of sqlext, and would give rows that are deleted. Call"
        " sqlext.attach(spark) with it.",
    ),
    "SESSION_HAS_STREAMS": Condition(
        "55000",
        "The session cannot be given the rules of sqlext while its streaming queries run, which would be lost from"
        " spark.streams: {streams}. Stop them and call sqlext.attach(spark) again.",
    ),
    "DRIVER_LACKS_PACKAGE": Condition(
        "58000",
        "{function} is for drivers, and needs the package {package}, which this Python lacks. Install sqlext's wheel"
        " with its dependencies. A client of Spark Connect needs none of them, and has sqlext.transaction, upsert and"
        " write_stream; the server's own settings make it one of sqlext.",
    ),
    "SPARK_NOT_FOUND": Condition(
        "58000",
        "No Spark was found: {folder} has no spark-core jar. Install one with pip install 'pyspark[sql]>=4.0,<4.4', or"
        " set SPARK_HOME to the folder of one.",
    ),
    "SPARK_NOT_SUPPORTED": Condition(
        "0A000",
        "sqlext does not run on Spark {spark}, but on {versions}. Install one of them, or set SPARK_HOME to the folder"
        " of one.",
    ),
    "SESSION_STOPPED": Condition(
        "55000",
        "The session is stopped. Begin another one, by sqlext.session or by the builder that sqlext.configure returns.",
    ),
    "CONNECT_CLIENT": Condition(
        "0A000",
        "A client of Spark Connect cannot bring sqlext into a session: its server does. Start the server with the"
        " shim's jar (--jars $(python -m sqlext.spark.shim.shim_jar)) and the settings of the catalogs, and use the"
        " client's session as it is.",
    ),
    "SHIM_NOT_KEPT": Condition(
        "58000",
        "The JVM shim is compiled into {folder}, which cannot be written: {reason}. Set XDG_CACHE_HOME to a folder that"
        " can, or install the wheel, which has it.",
    ),
    "SHIM_NOT_LOADED": Condition(
        "55000",
        "The running JVM has no sqlext shim and loads no more jars. Build the session with"
        " sqlext.configure(SparkSession.builder).getOrCreate(), or start Spark with --jars $(python -m"
        " sqlext.spark.shim.shim_jar).",
    ),
    # procedures
    "PROCEDURE_ARGUMENT": Condition("42601", "CALL {procedure} is refused: {reason}. It takes {parameters}."),
    "FILE_NOT_ADDED": Condition(
        "0A000",
        "The file {path} is not added to {name}: {reason}. No file was added. Insert its rows with INSERT INTO"
        " {name} SELECT …, or mend the file or the table.",
    ),
    "FILES_ALREADY_IN_TABLE": Condition(
        "42710",
        "{count} of the files are in {name} already, such as {path}, and their rows would count twice. Name others,"
        " or give check_duplicate_files => false.",
    ),
    "FILES_ARE_SHARED": Condition(
        "0A000",
        "{operation} of {name} is refused: its property gc.enabled is false, so other tables may use its files. If none"
        " does, set it to true.",
    ),
    "FILES_NOT_ADDED": Condition("0A000", "Files are not added to {name}: {reason}. {way_out}"),
    "INVALID_SOURCE_TABLE": Condition(
        "42601",
        "The source {source} is refused: {reason}. Name a folder, such as `parquet`.`/path`, or a table of"
        " spark_catalog.",
    ),
    "FOLDER_OF_TWO_TABLES": Condition(
        "55006",
        "Orphan files of {name} are not removed: {path}, in its metadata folder, is of another table, which may need"
        " any file there. If no catalog has that table, remove its metadata files first.",
    ),
    "LOCATION_NOT_OF_TABLE": Condition(
        "42601",
        "The location {location} is not looked through: it is in none of the folders of {name}, which are {folders}."
        " Name one of them, or a folder in it.",
    ),
    "METADATA_FILE_UNKNOWN": Condition(
        "0A000",
        "Orphan files of {name} are not looked for: its catalog does not tell the location of its metadata file, which"
        " would count as one. Use a procedure of the catalog's server.",
    ),
    "ORPHANS_TOO_YOUNG": Condition(
        "42601",
        "Orphan files of {name} that are younger than a day are not removed: a statement or stream that is still"
        " running may commit them. Give an earlier older_than, or force => true if nothing else writes to the table.",
    ),
    "PREFIX_MISMATCH": Condition(
        "42601",
        "Whether {path} is an orphan file of {name} is uncertain: a file of its path is needed, which begins with"
        " {needed} and not with {listed}. No file was removed. If they are one place, say so with equal_schemes or"
        " equal_authorities, such as map('s3a', 's3'); prefix_mismatch_mode => 'IGNORE' keeps such files.",
    ),
    "DELETE_FILE_NOT_MOVED": Condition(
        "0A000",
        "The position deletes {path} are not rewritten for another place: they are {format}, and only Parquet and"
        " deletion vectors are. Compact the table first, so that no snapshot to copy needs them.",
    ),
    "TABLE_PATH_NOT_REWRITTEN": Condition(
        "0A000",
        "The locations of {name} are not rewritten: {reason}. Give a prefix that all its files have, or write the rows"
        " to another table with CREATE TABLE … AS SELECT.",
    ),
    "VERSION_NOT_FOUND": Condition(
        "42704",
        "The version {version} of {name} cannot be found {place}. Give the name of a metadata file of"
        " {name}.metadata_log_entries.",
    ),
    "SNAPSHOT_IN_USE": Condition(
        "55006",
        "The snapshot {snapshot} of {name} is not expired: the {type} {ref} needs it. Move or drop the {type} first.",
    ),
    "TABLE_OF_OTHER_CATALOG": Condition(
        "42601", "The table {name} is not one of the catalog {catalog}, whose procedure is called. Name its table."
    ),
    "FUNCTION_NOT_FOUND": Condition("42883", "There is no function {name} in {catalog}.system. There are {known}."),
    "PROCEDURE_NOT_FOUND": Condition("42883", "There is no procedure {procedure}. {way_out}."),
}

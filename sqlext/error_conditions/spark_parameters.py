"""The parameters that conditions of Spark have in Spark, beside those that they have here.

A condition that Spark has too has Spark's name. Spark's API makes a text of its parameters by Spark's own template
(`PySparkException.getMessage`), and programs that know Spark's conditions ask for them by these names.
"""

from __future__ import annotations

from collections.abc import Mapping

SPARK_PARAMETERS: Mapping[str, Mapping[str, str]] = {
    "AMBIGUOUS_REFERENCE": {"referenceNames": "{candidates}"},
    "CATALOG_NOT_FOUND": {"catalogName": "{name}", "config": "spark.sql.catalog.{name}"},
    "CHECK_CONSTRAINT_VIOLATION": {"constraintName": "{name}"},
    "COLUMN_ALREADY_EXISTS": {"columnName": "{column}"},
    "CONSTRAINT_ALREADY_EXISTS": {"constraintName": "{name}", "oldConstraint": "{name}"},
    "CONSTRAINT_DOES_NOT_EXIST": {"constraintName": "{name}", "tableName": "{table}"},
    "CREATE_PERMANENT_VIEW_WITHOUT_ALIAS": {"attr": "{column}"},
    "CREATE_VIEW_COLUMN_ARITY_MISMATCH": {"viewName": "{name}"},
    "DUPLICATE_ASSIGNMENTS": {"nameList": "{names}"},
    "DUPLICATE_CLAUSES": {"clauseName": "{clause}"},
    "DUPLICATE_KEY": {"keyColumn": "{keys}"},
    "EXPECT_PERMANENT_VIEW_NOT_TEMP": {"operation": "ALTER VIEW", "viewName": "{name}"},
    "EXPECT_TABLE_NOT_VIEW": {"operation": "The statement", "viewName": "{name}"},
    "EXPECT_VIEW_NOT_TABLE": {"operation": "statements of views", "tableName": "{name}"},
    "FIELD_ALREADY_EXISTS": {"op": "add", "fieldNames": "{name}", "struct": "the table"},
    "FIELD_NOT_FOUND": {"fieldName": "{field}"},
    "IDENTITY_COLUMNS_DUPLICATED_SEQUENCE_GENERATOR_OPTION": {"sequenceGeneratorOption": "{option}"},
    "IDENTITY_COLUMNS_UNSUPPORTED_DATA_TYPE": {"dataType": "{type}"},
    "IDENTITY_COLUMN_WITH_DEFAULT_VALUE": {
        "colName": "{column}",
        "defaultValue": "{default}",
        "identityColumnSpec": "{identity}",
    },
    "INSERT_COLUMN_ARITY_MISMATCH": {"tableName": "{name}"},
    "INTERNAL_ERROR": {"message": "{asked}: {reason}"},
    "INVALID_DEFAULT_VALUE": {"statement": "the", "colName": "{column}", "defaultValue": "{value}"},
    "INVALID_TEMP_OBJ_REFERENCE": {
        "obj": "VIEW",
        "objName": "{name}",
        "tempObj": "object",
        "tempObjName": "{object}",
    },
    "NOT_SUPPORTED_CHANGE_COLUMN": {
        "table": "the table",
        "originName": "{name}",
        "originType": "{before}",
        "newName": "{name}",
        "newType": "{after}",
    },
    "PARSE_SYNTAX_ERROR": {"error": "{near}", "hint": ": expected {expected}"},
    "RECURSIVE_VIEW": {"viewIdent": "{name}", "newPath": "{name}"},
    "SCHEMA_ALREADY_EXISTS": {"schemaName": "{name}"},
    "SCHEMA_NOT_EMPTY": {"schemaName": "{name}"},
    "SCHEMA_NOT_FOUND": {"schemaName": "{name}"},
    "STATIC_PARTITION_COLUMN_IN_INSERT_COLUMN_LIST": {"staticName": "{name}"},
    "TABLE_OR_VIEW_ALREADY_EXISTS": {"relationName": "{name}"},
    # Spark 4.2 tells where it has looked; these names are whole.
    "TABLE_OR_VIEW_NOT_FOUND": {"relationName": "{name}", "searchPath": "[]"},
    "UNRESOLVED_COLUMN.WITH_SUGGESTION": {"objectName": "{name}", "proposal": "{suggestions}"},
}
"""By condition, each of Spark's parameters as a template of the condition's parameters here."""


def with_spark_parameters(condition: str, parameters: Mapping[str, str]) -> dict[str, str]:
    """The parameters of an error, and those by which Spark knows the condition."""
    told = SPARK_PARAMETERS.get(condition, {})
    return {**{name: template.format(**parameters) for name, template in told.items()}, **parameters}

"""Conditions of streaming sinks and sources."""

from __future__ import annotations

from collections.abc import Mapping

from sqlext.error_conditions.condition import Condition

STREAMS: Mapping[str, Condition] = {
    # streams
    "UNKNOWN_STREAM_OPTION": Condition(
        "42616",
        "The option {name} of a streaming {kind} is refused: no option has that name. Options are {known}.",
    ),
    "INVALID_STREAM_OPTION": Condition(
        "42616",
        "The option {name} = {value} of a streaming {kind} is refused: {reason}. Set it right, or leave it out.",
    ),
    "STREAM_KEY_NOT_THE_TABLES": Condition(
        "42000",
        "The option equality-field-columns = {named} is refused: the key of {name} is {key}. Leave the option out,"
        " or change the table's key with ALTER TABLE … ADD PRIMARY KEY.",
    ),
    "STREAM_ROUTE_UNKNOWN": Condition(
        "42P01",
        "The batch of the stream to {name} has rows for tables that its namespace does not have: {tables}. No row of it"
        " is written. Make the tables, or name one for such rows with the option route-unknown.",
    ),
    "STREAM_ROUTE_COLUMNS": Condition(
        "42703",
        "The batch of the stream has rows for {name} with values in columns that it lacks: {columns}. No row of it is"
        " written. Add the columns to the table, or leave them out of its rows.",
    ),
    "STREAM_OFFSET_UNREADABLE": Condition(
        "XX001",
        "The offset of the stream of {name} cannot be read: {reason}. Start the query with a new checkpoint.",
    ),
    "STREAM_OF_PLACE": Condition(
        "0A000",
        "A stream of {name} is refused: only a table of a catalog, or a branch of it, can be streamed. Stream the"
        " table, or read this by a query.",
    ),
    "STREAM_CONTINUOUS": Condition(
        "0A000",
        "The streaming {kind} of {name} with a continuous trigger is refused: sqlext reads and writes streams in"
        " micro-batches, each of which is one commit. Use a trigger with processingTime or availableNow.",
    ),
    "STREAM_SNAPSHOT_CHANGES_ROWS": Condition(
        "55000",
        "The stream of {name} ends at snapshot {snapshot}: its operation is {operation}, and it removes rows that"
        " the stream has returned. Read the table with the option row-kinds = true, or skip such snapshots with"
        " {option} = true.",
    ),
    "STREAM_POSITION_GONE": Condition(
        "55000",
        "The stream of {name} cannot go on: it is at snapshot {start}, which has expired or been rolled back."
        " Start it again with a new checkpoint; one with a consumer-id after CALL … reset_consumer.",
    ),
    "INVALID_CONSUMER_ID": Condition(
        "42602",
        "The consumer {consumer} is refused: the name has to be of letters, digits, dots, dashes and underscores, as it"
        " is part of a tag's name. Give it another one.",
    ),
    "CONSUMER_NOT_FOUND": Condition(
        "42704", "{name} has no consumer {consumer}. CALL … consumers('{name}') lists what there is."
    ),
    "CONSUMER_IS_QUERY": Condition(
        "0A000",
        "The consumer {consumer} of {name} cannot be reset: it is a streaming query without a consumer-id, whose"
        " position is in its checkpoint. Start the query again with a consumer-id, or with a new checkpoint.",
    ),
    "CONSUMER_UNREADABLE": Condition(
        "XX001",
        "The progress of the consumer {consumer} in {name} cannot be read: {reason}. It is the table property"
        " sqlext.consumer.{consumer}. Put its value back, or remove it.",
    ),
    "STREAM_COLUMNS_CHANGED": Condition(
        "55000",
        "The stream of {name} stops: the table's columns were changed while it ran. Start it again, and it"
        " goes on with the new ones.",
    ),
    "STREAM_FENCED": Condition(
        "55000",
        "The streaming query {query} may write to {name} no more: another run of it, {run}, has written since this"
        " one began. Two runs share one checkpoint, or a copy of it. Stop one of them, and start the other again.",
    ),
    "STREAM_BATCH_DIFFERS": Condition(
        "55000",
        "Batch {batch} of the streaming query {query} is refused: {name} has its batches up to {last}, and this one"
        " was planned at another time, so it may have other rows. The checkpoint was put back, copied or used for"
        " something else. Go on with the checkpoint that wrote batch {last}, or start with a new one.",
    ),
    "STREAM_PROGRESS_MISSING": Condition(
        "55000",
        "Batch {batch} of the streaming query {query} is refused: {name} has no progress of the query's"
        " earlier batches. The checkpoint is that of another table, or the table was made anew. Start with a new"
        " checkpoint, or set the option accept-checkpoint to true if the table is to have the rows from here on.",
    ),
    "STREAM_PROGRESS_UNREADABLE": Condition(
        "XX001",
        "The progress of the streaming query {query} in {name} cannot be read: {reason}. It is the table property"
        " sqlext.stream.{query}. Put its value back, or remove it and start the query with a new checkpoint.",
    ),
    "STREAM_TABLE_REPLACED": Condition(
        "55000",
        "{stream} stops: {name} was dropped and made anew since it was started. Start it again, with a new checkpoint.",
    ),
    "STREAM_KEY_CHANGED": Condition(
        "55000",
        "The streaming query {query} stops: the primary key of {name} was changed while it ran. Start the query"
        " again, and it goes on with the new key.",
    ),
}

from __future__ import annotations

import math
from decimal import Decimal
from uuid import UUID

from sqlext.errors import StorageError
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.write.commit_message import (
    MESSAGE_SCHEMA,
    counts_message,
    decode_messages,
    encode_messages,
    error_message,
    file_message,
)

FILE = ContentFile(
    content=Content.EQUALITY_DELETES,
    file_path="file:///w/é=1/x.parquet",
    file_format="PARQUET",
    spec_id=4,
    partition=(None, True, 7, "ü", 0.1, math.inf, Decimal("-1.20"), UUID(int=5), b"\x00\xff"),
    record_count=2**40,
    file_size_in_bytes=9,
    column_sizes={1: 10},
    value_counts={1: 3},
    null_value_counts={1: 0},
    nan_value_counts={},
    lower_bounds={1: b"\x00"},
    upper_bounds={1: b"\xff\xfe"},
    key_metadata=b"k",
    split_offsets=(4, 99),
    equality_ids=(1, 2),
    sort_order_id=0,
    referenced_data_file="file:///d",
)


def test_content_files_come_back_equal() -> None:
    bare = ContentFile(Content.DATA, "p", "PARQUET", 0, (), 1, 1)
    batch = encode_messages([file_message(FILE), file_message(bare)])
    assert batch.schema == MESSAGE_SCHEMA
    assert [message.content_file for message in decode_messages(batch)] == [FILE, bare]


def test_a_nan_partition_comes_back_as_nan() -> None:
    file = ContentFile(Content.DATA, "p", "PARQUET", 0, (math.nan,), 1, 1)
    (message,) = decode_messages(encode_messages([file_message(file)]))
    assert math.isnan(message.content_file.partition[0])


def test_errors_keep_their_condition_and_parameters() -> None:
    error = StorageError("STORAGE_FAILURE", operation="Writing", path="/a", reason="disk full")
    (message,) = decode_messages(encode_messages([error_message(error)]))
    assert message.error == ("STORAGE_FAILURE", {"operation": "Writing", "path": "/a", "reason": "disk full"})


def test_counts_come_back() -> None:
    (message,) = decode_messages(encode_messages([counts_message({"inserted": 3})]))
    assert message.counts == {"inserted": 3}


def test_no_messages_are_a_batch_without_rows() -> None:
    assert encode_messages([]).num_rows == 0

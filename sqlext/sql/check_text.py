"""What a CHECK may hold: Spark's own functions that give one answer for one row, and reach nothing outside it.

Its text comes from a table's metadata, where any engine or hand may have put it, and runs in the session of whoever
writes. Spark's parser takes it apart; nothing of it is analysed before it is allowed here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

_FUNCTIONS = r"""
    ! != % & * + - / < << <= <=> <> = == > >= >> >>> ^ | ~ || and between div in is like ilike not or regexp rlike
    regexp_like mod
    abs acos acosh add_months aggregate array array_append array_compact array_contains array_distinct array_except
    array_insert array_intersect array_join array_max array_min array_position array_prepend array_remove
    array_repeat array_size array_sort array_union arrays_overlap arrays_zip ascii asin asinh atan atan2 atanh
    base64 bigint bin binary bit_count bit_get bit_length boolean bround btrim cardinality cast cbrt ceil ceiling
    char char_length character_length chr coalesce collate collation concat concat_ws contains conv convert_timezone
    cos cosh cot crc32 csc date date_add date_diff date_format date_from_unix_date date_part date_sub date_trunc
    dateadd datediff datepart day dayname dayofmonth dayofweek dayofyear decimal decode degrees double e element_at
    elt encode endswith equal_null exists exp expm1 extract factorial filter find_in_set flatten float floor forall
    format_number format_string from_csv from_json from_unixtime from_utc_timestamp get get_json_object getbit
    greatest hash hex hour hypot if ifnull initcap instr int is_valid_utf8 is_variant_null isnan isnotnull isnull
    json_array_length json_object_keys last_day lcase least left len length levenshtein ln locate log log10 log1p
    log2 lower lpad ltrim luhn_check make_date make_dt_interval make_interval make_time make_timestamp
    make_timestamp_ltz make_timestamp_ntz make_valid_utf8 make_ym_interval map map_concat map_contains_key
    map_entries map_filter map_from_arrays map_from_entries map_keys map_values map_zip_with mask md5 minute month
    monthname months_between named_struct nanvl negative next_day nullif nullifzero nvl nvl2 octet_length overlay
    parse_json parse_url pi pmod position positive pow power printf quarter quote radians reduce regexp_count
    regexp_extract regexp_extract_all regexp_instr regexp_replace regexp_substr repeat replace reverse right rint
    round rpad rtrim schema_of_variant sec second sentences sequence sha sha1 sha2 shiftleft shiftright
    shiftrightunsigned sign signum sin sinh size slice smallint sort_array soundex space split split_part sqrt
    st_asbinary st_geogfromwkb st_geomfromwkb st_setsrid st_srid startswith str_to_map string struct substr
    substring substring_index tan tanh time time_diff time_trunc timestamp timestamp_micros timestamp_millis
    timestamp_seconds tinyint to_binary to_char to_csv to_date to_json to_number to_time to_timestamp
    to_timestamp_ltz to_timestamp_ntz to_unix_timestamp to_utc_timestamp to_varchar to_variant_object transform
    transform_keys transform_values translate trim trunc try_add try_divide try_element_at try_make_interval
    try_make_timestamp try_make_timestamp_ltz try_make_timestamp_ntz try_mod try_multiply try_parse_json
    try_parse_url try_subtract try_to_binary try_to_date try_to_number try_to_time try_to_timestamp try_url_decode
    try_validate_utf8 try_variant_get typeof ucase unbase64 unhex unix_date unix_micros unix_millis unix_seconds
    upper url_decode url_encode validate_utf8 variant_get weekday weekofyear when width_bucket xxhash64 year
    zeroifnull zip_with
    """
_ALLOWED = frozenset(_FUNCTIONS.split())
# Parts of the names of Spark's classes for what depends on other rows, on the session, or on a user's code.
_REFUSED_KINDS = (
    "Window",
    "UnresolvedIdentifier",
    "Current",
    "Now",
    "LocalTimestamp",
    "Reflection",
    "Parameter",
    "UserDefined",
    "ScalaUDF",
)


def variable_in(text: str) -> str | None:
    """Why the text may not even be parsed, or None: Spark puts the values of variables into it before that."""
    return "it has a variable that Spark replaces" if "${" in text else None


def fault_of(parts: Iterable[Mapping[str, Any]]) -> str | None:
    """Why an expression of these parts, outer ones first, may not be a CHECK; None where it may.

    A part has the name of Spark's class as `kind` and Spark's `name` for it, and says whether it `is_star` or
    `holds_subquery`; that of a call has the name of the `function` by parts, and whether it `aggregates`.
    """
    return next((fault for part in parts if (fault := _fault(part)) is not None), None)


def _fault(part: Mapping[str, Any]) -> str | None:
    function = part.get("function")
    if function is not None:
        if len(function) != 1:
            return f"it calls the function {'.'.join(function)}"
        if function[0].lower() not in _ALLOWED:
            return f"it calls the function {function[0]}, which is none of Spark's that may stand there"
        if part["aggregates"]:
            return "it holds an aggregate function"
    if part["is_star"]:
        return "it holds a star"
    if part["holds_subquery"]:
        return "it holds a subquery"
    if any(refused in part["kind"] for refused in _REFUSED_KINDS):
        return f"it holds {part['name']}"
    return None

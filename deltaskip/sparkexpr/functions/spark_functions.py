"""Names, categories and argument counts of Spark's built-in functions.

# Spark 4.1.4 and 4.3.0: SHOW SYSTEM FUNCTIONS, and analysis of calls with NULL; a count is accepted if one of them does
"""

from __future__ import annotations

from deltaskip.errors import meant


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


AGGREGATES = _words(
    """
    any any_value approx_count_distinct approx_percentile approx_top_k approx_top_k_accumulate
    approx_top_k_combine array_agg avg bit_and bit_or bit_xor bitmap_and_agg bitmap_construct_agg bitmap_or_agg
    bool_and bool_or collect_list collect_set collect_union corr count count_if count_min_sketch covar_pop
    covar_samp every first first_value grouping grouping_id histogram_numeric hll_sketch_agg hll_union_agg
    kll_merge_agg_bigint kll_merge_agg_double kll_merge_agg_float kll_sketch_agg_bigint kll_sketch_agg_double
    kll_sketch_agg_float kurtosis last last_value listagg max max_by mean measure median min min_by mode
    percentile percentile_approx percentile_cont percentile_disc regr_avgx regr_avgy regr_count regr_intercept
    regr_r2 regr_slope regr_sxx regr_sxy regr_syy schema_of_variant_agg skewness some std stddev stddev_pop
    stddev_samp string_agg sum theta_intersection_agg theta_sketch_agg theta_union_agg try_avg try_sum
    tuple_intersection_agg_double tuple_intersection_agg_integer tuple_sketch_agg_double
    tuple_sketch_agg_integer tuple_union_agg_double tuple_union_agg_integer var_pop var_samp variance
    """
)
"""Aggregate functions, which WHERE does not accept."""

WINDOWS = _words(
    """
    counter_diff cume_dist dense_rank lag lead nth_value ntile percent_rank rank row_number
    """
)
"""Window functions, which WHERE does not accept."""

GENERATORS = _words(
    """
    collations explode explode_outer inline inline_outer posexplode posexplode_outer python_worker_logs range
    sql_keywords stack
    """
)
"""Generator functions, which return several rows or columns and which WHERE does not accept."""

# Least and greatest number of arguments (None: any) → names.
_NAMES_BY_COUNT: dict[tuple[int, int | None], str] = {
    (0, 0): """
        curdate current_catalog current_database current_date current_schema current_timezone current_user e
        input_file_block_length input_file_block_start input_file_name monotonically_increasing_id pi session_user
        spark_partition_id user version
    """,
    (0, 1): "current_time current_timestamp localtime localtimestamp now rand randn random uuid",
    (0, 2): "make_ym_interval unix_timestamp",
    (0, 4): "make_dt_interval",
    (0, 7): "make_interval",
    (0, None): """
        array arrays_zip concat current_path map map_concat named_struct struct variant_explode variant_explode_outer
        when
    """,
    (1, 1): """
        abs acos acosh array_compact array_distinct array_max array_min array_size ascii asin asinh atan atanh base64
        bigint bin binary bit_count bit_length bitmap_bit_position bitmap_bucket_number bitmap_count boolean cardinality
        cbrt char char_length character_length chr collation cos cosh cot crc32 csc date date_from_unix_date day dayname
        dayofmonth dayofweek dayofyear decimal degrees double exp expm1 factorial flatten float from_base32 hex
        hll_sketch_estimate initcap int is_valid_utf8 is_valid_variant is_variant_null isnan isnotnull isnull
        json_array_length json_object_keys kll_sketch_get_n_bigint kll_sketch_get_n_double kll_sketch_get_n_float
        kll_sketch_to_string_bigint kll_sketch_to_string_double kll_sketch_to_string_float last_day lcase len length ln
        log10 log1p log2 lower luhn_check make_valid_utf8 map_entries map_from_entries map_keys map_values md5 month
        monthname negative nullifzero octet_length parse_json positive quarter quote radians raise_error reverse rint
        schema_of_variant sec sha sha1 sign signum sin sinh size smallint soundex space sqrt st_geogfromwkb st_srid
        string tan tanh theta_sketch_estimate time time_from_micros time_from_millis time_from_seconds time_to_micros
        time_to_millis time_to_seconds timestamp timestamp_micros timestamp_millis timestamp_nanos timestamp_seconds
        tinyint to_base32 to_variant_object try_parse_json try_url_decode try_validate_utf8 tuple_sketch_estimate_double
        tuple_sketch_estimate_integer tuple_sketch_theta_double tuple_sketch_theta_integer typeof ucase unbase64 unhex
        unix_date unix_micros unix_millis unix_nanos unix_seconds upper url_decode url_encode validate_utf8 vector_avg
        vector_sum weekday weekofyear window_time year zeroifnull
    """,
    (1, 2): """
        approx_top_k_estimate array_sort assert_true bround btrim ceil ceiling floor from_unixtime log ltrim randstr
        round rtrim schema_of_avro schema_of_csv schema_of_json schema_of_xml shuffle sort_array st_asbinary
        st_geomfromwkb to_avro to_binary to_csv to_date to_json to_time to_timestamp to_timestamp_ltz to_timestamp_ntz
        to_unix_timestamp to_xml trim try_to_binary try_to_date try_to_time try_to_timestamp tuple_sketch_summary_double
        tuple_sketch_summary_integer variant_strip_nulls vector_norm vector_normalize
    """,
    (1, 3): "sentences str_to_map",
    (1, 5): "mask",
    (1, 7): "make_timestamp try_make_interval try_make_timestamp",
    (1, None): "coalesce concat_ws format_string hash hour minute printf second xxhash64",
    (2, 2): """
        add_months array_append array_contains array_except array_intersect array_position array_prepend array_remove
        array_repeat array_union arrays_overlap atan2 bit_get collate contains date_diff date_format date_part date_sub
        date_trunc datepart element_at encode endswith equal_null exists extract filter find_in_set forall format_number
        from_utc_timestamp get get_json_object getbit hypot ifnull jaro_winkler_similarity
        kll_sketch_get_quantile_bigint kll_sketch_get_quantile_double kll_sketch_get_quantile_float
        kll_sketch_get_rank_bigint kll_sketch_get_rank_double kll_sketch_get_rank_float kll_sketch_merge_bigint
        kll_sketch_merge_double kll_sketch_merge_float left map_contains_key map_filter map_from_arrays mod nanvl
        next_day nullif nvl pmod pow power regexp regexp_count regexp_like regexp_substr repeat right rlike
        session_window sha2 shiftleft shiftright shiftrightunsigned st_setsrid startswith theta_difference
        theta_intersection time_trunc to_char to_number to_utc_timestamp to_varchar transform transform_keys
        transform_values trunc try_add try_divide try_element_at try_mod try_multiply try_subtract try_to_number
        tuple_difference_double tuple_difference_integer tuple_difference_theta_double tuple_difference_theta_integer
        vector_cosine_similarity vector_inner_product vector_l2_distance xpath xpath_boolean xpath_double xpath_float
        xpath_int xpath_long xpath_number xpath_short xpath_string
    """,
    (2, 3): """
        date_add date_diff dateadd datediff array_join convert_timezone from_avro from_csv from_json from_xml hll_union
        hmac ilike levenshtein like locate lpad months_between parse_url position regexp_extract regexp_extract_all
        regexp_instr replace rpad sequence split substr substring theta_union time_bucket try_parse_url try_variant_get
        tuple_intersection_double tuple_intersection_integer tuple_intersection_theta_double
        tuple_intersection_theta_integer uniform variant_get
    """,
    (2, 4): """
        from_protobuf instr to_protobuf tuple_union_double tuple_union_integer tuple_union_theta_double
        tuple_union_theta_integer window
    """,
    (2, 5): "aes_decrypt try_aes_decrypt",
    (2, 6): "aes_encrypt make_timestamp_ntz try_make_timestamp_ntz",
    (2, 7): "make_timestamp_ltz try_make_timestamp_ltz",
    (2, None): "decode elt greatest java_method json_tuple least reflect try_reflect variant_delete",
    (3, 3): """
        array_insert conv if make_date make_time map_zip_with nvl2 slice split_part substring_index time_diff translate
        try_variant_array_append try_variant_insert variant_array_append variant_insert zip_with
    """,
    (3, 4): "aggregate overlay reduce regexp_replace try_variant_set variant_set",
    (4, 4): "width_bucket",
}

ARGUMENT_COUNTS: dict[str, tuple[int, int | None]] = {
    name: counts for counts, names in _NAMES_BY_COUNT.items() for name in names.split()
}
"""Least and greatest number of arguments of each scalar function; None: any number."""

# Keywords of the grammar that look like functions.
SYNTAX = ("cast", "try_cast", "timestampadd", "timestampdiff", "in", "between", "case", "div")

FUNCTION_NAMES = frozenset((*AGGREGATES, *WINDOWS, *GENERATORS, *ARGUMENT_COUNTS, *SYNTAX))
"""Names of all built-in functions."""


OF_SHAPES = _words("st_intersects st_contains st_within st_dwithin st_geomfromtext st_geomfromwkt")
"""Functions of Apache Sedona, of shapes, that are evaluated here and through Spark, which does not have them."""


def is_unknown(name: str) -> bool:
    """Whether a call has the name of a function that neither Spark nor Apache Sedona has.

    The names of operators are not identifiers, and `add_interval` is the sum of a time and an interval.
    """
    return name.isidentifier() and name not in FUNCTION_NAMES and name not in OF_SHAPES and name != "add_interval"


def meant_function(name: str) -> str:
    """Return the question which function was meant instead of an unknown name, as `errors.meant` does."""
    return meant(name, FUNCTION_NAMES, 0.75)


NONDETERMINISTIC = _words(
    """
    rand random randn randstr uniform uuid shuffle monotonically_increasing_id spark_partition_id
    input_file_name input_file_block_start input_file_block_length
    """
)
"""Functions whose value differs between rows with the same arguments."""

OF_SESSION = _words(
    """
    current_user user session_user current_database current_schema current_catalog current_path current_timezone
    current_time localtime version
    """
)
"""Functions whose value depends on the session, its clock or its Spark version."""

CHANGING = NONDETERMINISTIC | OF_SESSION
"""Functions whose value depends on more than their arguments: random numbers, the session, the position of the row."""

LITERAL_FUNCTIONS = _words("current_date current_timestamp current_time current_user user session_user")
"""Functions that need no parentheses if the table has no column of that name.

# Spark 4.1, LiteralFunctionResolution
"""

"""The settings of Spark on which the meaning of an expression depends. deltaskip has the meaning of their defaults.

A row of SETTINGS says what is not known under another value: a text that has certain characters, some nodes, or every
expression. A setting below PREFIXES without a row may change anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from deltaskip.errors import DeltaSkipError, PredicateError
from deltaskip.lazy_regex import regex
from deltaskip.records import dataclass
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr.bind import bind_expression
from deltaskip.sparkexpr.coerce import type_of
from deltaskip.sparkexpr.types import data_types
from deltaskip.sparkexpr.types.lengths import declares_char
from deltaskip.sparkexpr.types.resolve import fold_name, resolve

PREFIXES = ("spark.sql.ansi.", "spark.sql.parser.", "spark.sql.legacy.")
"""Settings below these keys decide how Spark reads and evaluates SQL."""

SPARK_VERSION, LANGUAGE = "spark.version", "user.language"
"""Keys of what is not a setting of Spark: its major version before 4, and the language of the JVM."""

CASE_FUNCTIONS = "upper ucase lower lcase initcap ilike"
"""Functions of letter case."""

_WIDEST_DECIMAL = 38
# Spark 4.1, DecimalType.forType
_AS_DECIMALS: dict[data_types.DataType | None, data_types.DataType] = {
    data_types.BYTE: data_types.DecimalType(3, 0), data_types.SHORT: data_types.DecimalType(5, 0),
    data_types.INTEGER: data_types.DecimalType(10, 0),
    data_types.LONG: data_types.DecimalType(20, 0)
}  # fmt: skip
_ARITHMETIC = (*n.ARITHMETIC, "try_add", "try_subtract", "try_multiply", "try_divide", "try_mod", "mod", "pmod")

NodeRule = Callable[[n.Node, data_types.StructType | None], bool]
"""Whether the meaning of a node depends on a setting, apart from its children; see `Setting.changes`."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting of Spark, and what its values other than the understood ones change.

    Attributes:
        key: The key.
        understood: The values, in lower case, under which an expression has the meaning that deltaskip gives it.
        texts: The texts that the setting may change, wherever the pattern matches; None for none.
        nodes: The nodes that it may change; None for none.
        whole: Whether it may change every expression.
    """

    key: str
    understood: tuple[str, ...] = ("false",)
    texts: re.Pattern[str] | None = None
    nodes: NodeRule | None = None
    whole: bool = False

    def reason(self, value: str) -> str:
        """Return why an expression is left to the session."""
        return f"its meaning depends on {self.key}, which is {value}"

    def changes_text(self, text: str) -> bool:
        """Return whether a text may have another meaning as a whole."""
        return self.whole or (self.texts is not None and self.texts.search(text) is not None)

    def changes(self, node: n.Node, schema: data_types.StructType | None) -> bool:
        """Return whether an unbound node may have another meaning, apart from its children.

        schema: The columns that it uses; None if their types are not known.
        """
        return self.whole or (self.nodes is not None and self.nodes(node, schema))


def setting_of(key: str) -> Setting | None:
    """Return the row of a key; None if the setting cannot matter."""
    found = _BY_KEY.get(key)
    if found is None and key.startswith(PREFIXES) and key not in UNRELATED:
        return Setting(key, (), whole=True)
    return found


def settings_that_differ(given: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the settings among those given, with their values, under which some expression has another meaning."""
    found = []
    for key, value in given.items():
        row = setting_of(key)
        if row is not None and value.strip().lower() not in row.understood:
            found.append((key, value))
    return tuple(sorted(found))


def function_of(node: n.Node) -> str | None:
    """Return the lower-case name of the function that a node stands for; None for syntax without a function."""
    match node:
        case n.Call(name):
            # Some forms of a function have names such as array_sort().
            return name.lower().removesuffix("()")
        case n.StartsWith():
            return "startswith"
        case n.Like(_, _, _, insensitive):
            return "ilike" if insensitive else "like"
        case n.IsNull():
            return "isnull"
        case n.Between():
            return "between"
    return None


def _calls(names: str) -> NodeRule:
    """The calls of these functions."""
    called = frozenset(names.split())
    return lambda node, _: function_of(node) in called


def _casts_to(*types: data_types.DataType, calls: str = "") -> NodeRule:
    """Casts to types that are or contain one of these, and calls of these functions."""
    called = _calls(calls)

    def rule(node: n.Node, schema: data_types.StructType | None) -> bool:
        return (
            isinstance(node, n.Cast) and any(each in types for each in data_types.nested_types(node.type))
        ) or called(node, schema)

    return rule


def _decimal_arithmetic(node: n.Node, schema: data_types.StructType | None) -> bool:
    """Arithmetic of decimals."""
    if not (isinstance(node, n.Call) and node.name in _ARITHMETIC):
        return False
    found = None if schema is None else _type_in(node, schema)
    return found is None or isinstance(found, data_types.DecimalType)


def _decimals_beside_others(node: n.Node, schema: data_types.StructType | None) -> bool:
    """Arithmetic and comparisons of decimals."""
    if not isinstance(node, n.Compare):
        return _decimal_arithmetic(node, schema)
    return schema is None or any(
        isinstance(_type_in(child, schema), data_types.DecimalType) for child in n.children_of(node)
    )


def _names_in_any_case(node: n.Node, schema: data_types.StructType | None) -> bool:
    """Names that are written in other letter case than they are declared, or whose declaration is not known here."""
    if isinstance(node, n.Column) and schema is not None:
        try:
            resolve(schema, node.parts, case_sensitive=True)
        except PredicateError:
            return True
    return isinstance(node, n.Lambda) or function_of(node) in _WITH_NAMES


def _wide_decimals(node: n.Node, schema: data_types.StructType | None) -> bool:
    """Decimals that meet decimals or integers in a type of more than 38 digits, whose scale becomes smaller."""
    children = n.children_of(node)
    if schema is None or len(children) < 2:
        return False
    types = [_type_in(child, schema) for child in children]
    if not any(isinstance(type_, data_types.DecimalType) for type_ in types):
        return False
    found = {each for type_ in types if isinstance(each := _AS_DECIMALS.get(type_, type_), data_types.DecimalType)}
    if len(found) < 2:
        return False
    return max(t.precision - t.scale for t in found) + max(t.scale for t in found) > _WIDEST_DECIMAL


def _reads_char(node: n.Node, schema: data_types.StructType | None) -> bool:
    """Columns that hold a CHAR or VARCHAR, and casts to one."""
    if isinstance(node, n.Cast):
        return isinstance(node.type, data_types.UnknownType)
    if not isinstance(node, n.Column) or schema is None:
        return False
    return any(fold_name(f.name) == fold_name(node.parts[0]) and declares_char(f) for f in schema.fields)


def _type_in(node: n.Node, schema: data_types.StructType) -> data_types.DataType | None:
    """The type of an unbound expression; None if it is not known."""
    match node:
        case n.Literal() | n.Cast():
            return node.type
        case n.Column((name,)):
            # Predicates have thousands of such parts.
            return next((f.type for f in schema.fields if fold_name(f.name) == fold_name(name)), None)
    try:
        return type_of(bind_expression(node, schema))
    except DeltaSkipError:
        return None


_QUOTES = regex(r"""''|""|['"]\s*['"]""")
_WITH_PATTERN = (
    "to_date to_timestamp to_timestamp_ltz to_timestamp_ntz try_to_date try_to_timestamp date_format from_unixtime "
    "unix_timestamp to_unix_timestamp from_json from_csv from_xml to_json to_csv to_xml schema_of_json schema_of_csv "
    "to_char to_varchar"
)
_OF_TIMESTAMPS = (
    "to_timestamp try_to_timestamp make_timestamp try_make_timestamp from_json from_csv from_xml schema_of_json "
    "schema_of_csv variant_get try_variant_get cast(variant) try_cast(variant) schema_of_variant"
)
_OF_MAPS = "map map_from_arrays map_from_entries map_concat str_to_map transform_keys map_zip_with"
_OF_FORMATS = "from_json from_csv from_xml to_json to_csv to_xml schema_of_json schema_of_csv schema_of_xml"
_WITH_NAMES = frozenset(f"[] struct named_struct {_OF_FORMATS}".split())

SETTINGS = (
    Setting("spark.sql.ansi.enabled", ("true", "false")),
    # How a text is read.
    Setting("spark.sql.ansi.doubleQuotedIdentifiers", texts=regex('"')),
    # Functions without parentheses come before columns of the same name; other uses of reserved words are refused.
    Setting("spark.sql.ansi.enforceReservedKeywords", texts=regex(r"\bcurrent_|\buser\b|_user\b", re.IGNORECASE)),
    Setting("spark.sql.parser.escapedStringLiterals", texts=regex(rf"""\\|[rR]['"]|{_QUOTES.pattern}""")),
    Setting("spark.sql.parser.quotedRegexColumnNames", texts=regex("`")),
    Setting("spark.sql.legacy.consecutiveStringLiterals.enabled", texts=_QUOTES),
    Setting("spark.sql.legacy.exponentLiteralAsDecimal.enabled", texts=regex(r"[0-9.][eE]")),
    Setting("spark.sql.legacy.bangEqualsNot", texts=regex("!(?!=)")),
    Setting("spark.sql.legacy.identifierClause", texts=regex("identifier", re.IGNORECASE)),
    Setting("spark.sql.legacy.fromDayTimeString.enabled", texts=regex("interval", re.IGNORECASE)),
    # Types.
    Setting("spark.sql.timestampType", ("timestamp_ltz",), nodes=_casts_to(data_types.TIMESTAMP, calls=_OF_TIMESTAMPS)),
    Setting("spark.sql.decimalOperations.allowPrecisionLoss", ("true",), nodes=_decimal_arithmetic),
    Setting("spark.sql.legacy.literal.pickMinimumPrecision", ("true",), nodes=_decimals_beside_others),
    Setting("spark.sql.legacy.decimal.retainFractionDigitsOnTruncate", nodes=_wide_decimals),
    Setting(
        "spark.sql.legacy.castComplexTypesToString.enabled",
        nodes=_casts_to(data_types.STRING, calls="format_string printf"),
    ),
    Setting("spark.sql.legacy.charVarcharAsString", nodes=_reads_char),
    Setting("spark.sql.legacy.noCharPaddingInPredicate", nodes=_reads_char),
    Setting("spark.sql.readSideCharPadding", ("true",), nodes=_reads_char),
    Setting("spark.sql.preserveCharVarcharTypeInfo", nodes=_reads_char),
    Setting("spark.sql.caseSensitive", nodes=_names_in_any_case),
    # Functions.
    Setting("spark.sql.functionResolution.sessionOrder", ("second", "last"), whole=True),
    Setting("spark.sql.path.enabled", whole=True),
    Setting("spark.sql.defaultPath", ("",), whole=True),
    # Spark 3.5 keeps both zeros of these, and has the title case of Java.
    Setting(SPARK_VERSION, (), nodes=_calls("array_distinct array_union array_except array_intersect initcap")),
    # The language of the JVM: letters have another case in Turkish, Azerbaijani and Lithuanian.
    Setting(LANGUAGE, (), nodes=_calls(CASE_FUNCTIONS)),
    Setting("spark.sql.legacy.timeParserPolicy", ("corrected", "exception"), nodes=_calls(_WITH_PATTERN)),
    Setting("spark.sql.function.concatBinaryAsString", nodes=_calls("concat ||")),
    Setting("spark.sql.function.eltOutputAsString", nodes=_calls("elt")),
    Setting("spark.sql.legacy.lpadRpadAlwaysReturnString", nodes=_calls("lpad rpad")),
    # It holds only without ANSI mode, in which deltaskip does not evaluate these functions.
    Setting("spark.sql.legacy.sizeOfNull", ("true",), nodes=_calls("size cardinality")),
    Setting("spark.sql.legacy.createEmptyCollectionUsingStringType", nodes=_calls("array map")),
    Setting("spark.sql.legacy.followThreeValuedLogicInArrayExists", ("true",), nodes=_calls("exists")),
    Setting("spark.sql.legacy.negativeIndexInArrayInsert", nodes=_calls("array_insert array_append")),
    Setting("spark.sql.legacy.allowZeroIndexInFormatString", nodes=_calls("format_string printf")),
    Setting("spark.sql.legacy.allowHashOnMapType", nodes=_calls("hash xxhash64")),
    Setting("spark.sql.legacy.collationAwareHashFunctions", nodes=_calls("hash xxhash64")),
    Setting("spark.sql.legacy.allowNullComparisonResultInArraySort", nodes=_calls("array_sort")),
    Setting("spark.sql.legacy.javaCharsets", nodes=_calls("encode decode")),
    Setting("spark.sql.legacy.codingErrorAction", nodes=_calls("encode decode")),
    Setting("spark.sql.legacy.truncateForEmptyRegexSplit", nodes=_calls("split")),
    Setting("spark.sql.legacy.disableMapKeyNormalization", nodes=_calls(_OF_MAPS)),
    Setting("spark.sql.mapKeyDedupPolicy", ("exception",), nodes=_calls(f"{_OF_MAPS} from_json")),
    Setting("spark.sql.mapZipWithUsesJavaCollections", ("true",), nodes=_calls("map_zip_with")),
    Setting("spark.sql.chunkBase64String.enabled", ("true",), nodes=_calls("base64 to_char to_varchar")),
    Setting("spark.sql.icu.caseMappings.enabled", ("true",), nodes=_calls(CASE_FUNCTIONS)),
    Setting("spark.sql.jsonGenerator.ignoreNullFields", ("true",), nodes=_calls("to_json")),
    Setting("spark.sql.files.supportSecondOffsetFormat", ("true",), nodes=_calls(_OF_FORMATS)),
    Setting("spark.sql.json.enablePartialResults", ("true",), nodes=_calls("from_json")),
    Setting("spark.sql.json.enableExactStringParsing", ("true",), nodes=_calls("from_json")),
    Setting("spark.sql.columnNameOfCorruptRecord", ("_corrupt_record",), nodes=_calls(_OF_FORMATS)),
    Setting("spark.sql.legacy.json.allowEmptyString.enabled", nodes=_calls("from_json")),
    Setting("spark.sql.legacy.json.enableDateTimeParsingFallback", (), nodes=_calls("from_json")),
    Setting("spark.sql.legacy.csv.enableDateTimeParsingFallback", (), nodes=_calls("from_csv")),
    Setting("spark.sql.legacy.nullValueWrittenAsQuotedEmptyStringCsv", nodes=_calls("to_csv")),
    Setting("spark.sql.legacy.useLegacyXMLParser", nodes=_calls("from_xml schema_of_xml to_xml")),
    Setting("spark.sql.variant.allowDuplicateKeys", nodes=_calls("parse_json try_parse_json from_json")),
    Setting("spark.sql.variant.validateUnicodeInJsonParsing", ("true",), nodes=_calls("parse_json try_parse_json")),
)
"""One row for each setting on which the meaning of an expression depends.

# Spark 3.5.9, 4.1.4, 4.2.0 and 4.3.0: SQLConf, and the values of expressions under each other value
"""


def _keys(text: str) -> frozenset[str]:
    return frozenset(f"spark.sql.{key}" for key in text.split())


UNRELATED = _keys(
    """
    ansi.relationPrecedence legacy.addSingleFileInAddFile legacy.allowAutoGeneratedAliasForView
    legacy.allowEmptySchemaWrite legacy.allowNonEmptyLocationInCTAS legacy.allowParameterlessCount
    legacy.allowSessionVariableInPersistedView legacy.allowStarWithSingleTableIdentifierInCount
    legacy.allowTempViewCreationWithMultipleNameparts legacy.allowUdfParameterToShadowParameterlessFunction
    legacy.allowUntypedScalaUDF legacy.avro.allowIncompatibleSchema legacy.blockCreateTempTableUsingProvider
    legacy.bucketedTableScan.outputOrdering legacy.createHiveTableByDefault legacy.cteDuplicateAttributeNames
    legacy.ctePrecedencePolicy legacy.dataFrameWriterV2IgnorePathOption
    legacy.dataset.nameNonStructGroupingKeyAsValue legacy.db2.booleanMapping.enabled
    legacy.db2.numericMapping.enabled legacy.doLooseUpcast legacy.duplicateBetweenInput
    legacy.earlyEvalCurrentTime legacy.emptyCurrentDBInCli legacy.execution.pandas.groupedMap.assignColumnsByName
    legacy.execution.pythonUDF.pandas.conversion.enabled legacy.execution.pythonUDTF.pandas.conversion.enabled
    legacy.extraOptionsBehavior.enabled legacy.groupingIdWithAppendedUserGroupBy
    legacy.histogramNumericPropagateInputType legacy.hive.thriftServer.allowSettingSystemProperties
    legacy.inSubqueryNullability legacy.inlineCTEInCommands legacy.integerGroupingId
    legacy.jdbc.timeMapping.enabled legacy.keepCommandOutputSchema legacy.keepPartitionSpecAsStringLiteral
    legacy.mssqlserver.datetimeoffsetMapping.enabled legacy.mssqlserver.numericMapping.enabled
    legacy.mysql.bitArrayMapping.enabled legacy.mysql.timestampNTZMapping.enabled legacy.notReserveProperties
    legacy.observeMetricsAggregateAllAttempts legacy.oracle.timestampMapping.enabled legacy.parquet.nanosAsLong
    legacy.parquet.returnNullStructIfAllFieldsMissing legacy.parquet.datetimeRebaseModeInRead
    legacy.parquet.datetimeRebaseModeInWrite legacy.parquet.int96RebaseModeInRead
    legacy.parquet.int96RebaseModeInWrite legacy.avro.datetimeRebaseModeInRead legacy.avro.datetimeRebaseModeInWrite
    legacy.parseNullPartitionSpecAsStringLiteral legacy.parser.havingWithoutGroupByAsWhere
    legacy.pathOptionBehavior.enabled legacy.percentileDiscCalculation legacy.postgres.datetimeMapping.enabled
    legacy.raiseErrorWithoutErrorClass legacy.readFileSourceTableCacheIgnoreOptions
    legacy.replaceDatabricksSparkAvro.enabled legacy.respectNullabilityInTextDatasetConversion
    legacy.scalarSubqueryAllowGroupByNonEqualityCorrelatedPredicate legacy.scalarSubqueryCountBugBehavior
    legacy.sessionInitWithConfigDefaults legacy.setCommandRejectsSparkCoreConfs legacy.setopsPrecedence.enabled
    legacy.skipTypeValidationOnAlterPartition legacy.statisticalAggregate legacy.storeAnalyzedPlanForView
    legacy.useCurrentConfigsForView legacy.useV1Command legacy.v1IdentifierNoCatalog legacy.viewSchemaBindingMode
    legacy.viewSchemaCompensation parser.eagerEvalOfUnresolvedInlineTable parser.manageParserCaches
    parser.parserDfaCacheFlushRatio parser.parserDfaCacheFlushThreshold parser.singleCharacterPipeOperator.enabled
    """
)
"""Settings below PREFIXES on which no expression over a row depends: of queries, aggregates, files and commands."""

IN_SPARK_3 = {
    "spark.sql.legacy.bangEqualsNot": "true",
    "spark.sql.legacy.codingErrorAction": "true",
    "spark.sql.legacy.consecutiveStringLiterals.enabled": "true",
    "spark.sql.legacy.decimal.retainFractionDigitsOnTruncate": "true",
    "spark.sql.legacy.disableMapKeyNormalization": "true",
    "spark.sql.legacy.javaCharsets": "true",
    "spark.sql.legacy.truncateForEmptyRegexSplit": "true",
    "spark.sql.files.supportSecondOffsetFormat": "false",
    "spark.sql.mapZipWithUsesJavaCollections": "false",
    SPARK_VERSION: "3",
}
"""The values of settings of Spark 4 that describe what Spark 3.5 does."""

_BY_KEY = {each.key: each for each in SETTINGS}

"""The files that come with Protobuf, and that no registry has: their types by name."""

_PROTOBUF = {
    "any": "Any",
    "api": "Api Method Mixin",
    "descriptor": (
        "FileDescriptorSet FileDescriptorProto DescriptorProto ExtensionRangeOptions "
        "FieldDescriptorProto OneofDescriptorProto EnumDescriptorProto EnumValueDescriptorProto "
        "ServiceDescriptorProto MethodDescriptorProto FileOptions MessageOptions FieldOptions "
        "OneofOptions EnumOptions EnumValueOptions ServiceOptions MethodOptions "
        "UninterpretedOption SourceCodeInfo GeneratedCodeInfo"
    ),
    "duration": "Duration",
    "empty": "Empty",
    "field_mask": "FieldMask",
    "source_context": "SourceContext",
    "struct": "Struct Value ListValue NullValue",
    "timestamp": "Timestamp",
    "type": "Type Field Enum EnumValue Option Syntax",
    "wrappers": (
        "DoubleValue FloatValue Int64Value UInt64Value Int32Value UInt32Value BoolValue "
        "StringValue BytesValue"
    ),
}
_GOOGLE_TYPE = {
    "calendar_period": "CalendarPeriod",
    "color": "Color",
    "date": "Date",
    "datetime": "DateTime TimeZone",
    "dayofweek": "DayOfWeek",
    "decimal": "Decimal",
    "expr": "Expr",
    "fraction": "Fraction",
    "interval": "Interval",
    "latlng": "LatLng",
    "localized_text": "LocalizedText",
    "money": "Money",
    "month": "Month",
    "phone_number": "PhoneNumber",
    "postal_address": "PostalAddress",
    "quaternion": "Quaternion",
    "timeofday": "TimeOfDay",
}

FILES: dict[str, tuple[str, ...]] = {
    **{
        f"google/protobuf/{name}.proto": tuple(f"google.protobuf.{each}" for each in types.split())
        for name, types in _PROTOBUF.items()
    },
    **{
        f"google/type/{name}.proto": tuple(f"google.type.{each}" for each in types.split())
        for name, types in _GOOGLE_TYPE.items()
    },
    "confluent/meta.proto": ("confluent.Meta",),
    "confluent/type/decimal.proto": ("confluent.type.Decimal",),
}
"""Full names of the types by path of the file."""

ENUMS = frozenset(
    {
        "google.protobuf.NullValue",
        "google.protobuf.Syntax",
        "google.type.CalendarPeriod",
        "google.type.DayOfWeek",
        "google.type.Month",
    }
)
"""Those that are no messages."""

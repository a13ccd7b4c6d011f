"""Refusals, with the error codes and texts that clients of Confluent's registry know.

The first three digits of a code are the HTTP status.
"""

from collections.abc import Iterable
from shlex import quote


class RegistryRefusal(Exception):  # noqa: N818 - its name says what it is
    """A request that is refused, with its error code."""

    def __init__(self, code: int, message: str, retry_after_s: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.retry_after_s = retry_after_s
        """When the same request can be answered, if it is too early now."""


def subject_not_found(subject: str) -> RegistryRefusal:
    return RegistryRefusal(40401, f"Subject '{subject}' not found.")


def version_not_found(version: int | str) -> RegistryRefusal:
    return RegistryRefusal(40402, f"Version {version} not found.")


def schema_not_found(which: int | str | None = None) -> RegistryRefusal:
    name = "" if which is None else f" {which}"
    return RegistryRefusal(40403, f"Schema{name} not found")


def subject_soft_deleted(subject: str) -> RegistryRefusal:
    return RegistryRefusal(
        40404, f"Subject '{subject}' was soft deleted. Set permanent=true to delete permanently"
    )


def subject_not_soft_deleted(subject: str) -> RegistryRefusal:
    return RegistryRefusal(
        40405, f"Subject '{subject}' was not deleted first before being permanently deleted"
    )


def version_soft_deleted(subject: str, version: int) -> RegistryRefusal:
    return RegistryRefusal(
        40406,
        f"Subject '{subject}' Version {version} was soft deleted. Set permanent=true to delete "
        "permanently",
    )


def version_not_soft_deleted(subject: str, version: int) -> RegistryRefusal:
    return RegistryRefusal(
        40407,
        f"Subject '{subject}' Version {version} was not deleted first before being permanently "
        "deleted",
    )


def not_signed_in(why: str) -> RegistryRefusal:
    return RegistryRefusal(40101, f"Unauthorized: {why}")


def denied(user: str, operation: str, subject: str, resource: str) -> RegistryRefusal:
    where = f"subject {subject}" if subject else "the registry as a whole"
    return RegistryRefusal(
        40301,
        f"User {user} is denied operation {operation} on {where}; this allows it: "
        f"barnabas acls add {quote(user)} {operation.lower()} --topic {quote(resource)}",
    )


def no_config(subject: str) -> RegistryRefusal:
    return RegistryRefusal(
        40408, f"Subject '{subject}' does not have subject-level compatibility configured"
    )


def no_mode(subject: str) -> RegistryRefusal:
    return RegistryRefusal(
        40409, f"Subject '{subject}' does not have subject-level mode configured"
    )


def association_not_found(resource_id: str) -> RegistryRefusal:
    return RegistryRefusal(40410, f"Association for '{resource_id}' not found.")


def incompatible(subject: str, reasons: Iterable[str]) -> RegistryRefusal:
    return RegistryRefusal(
        40901,
        f'Schema being registered is incompatible with an earlier schema for subject "{subject}", '
        f"details: [{', '.join(reasons)}]",
    )


def resource_is_associated(association_type: str, resource_id: str) -> RegistryRefusal:
    return RegistryRefusal(
        40903,
        f"An association of type '{association_type}' already exists for resource '{resource_id}'",
    )


def subject_is_associated(subject: str) -> RegistryRefusal:
    return RegistryRefusal(40904, f"An association already exists for subject '{subject}'")


def subject_is_strongly_associated(subject: str) -> RegistryRefusal:
    return RegistryRefusal(40905, f"A strong association already exists for subject '{subject}'")


def no_active_version(subject: str) -> RegistryRefusal:
    return RegistryRefusal(40907, f"No active (non-deleted) version exists for subject '{subject}'")


def association_frozen(association_type: str, subject: str) -> RegistryRefusal:
    return RegistryRefusal(
        40908, f"The association of type '{association_type}' is frozen for subject '{subject}'"
    )


def invalid_schema(why: str) -> RegistryRefusal:
    return RegistryRefusal(42201, why)


def invalid_version(version: str) -> RegistryRefusal:
    return RegistryRefusal(
        42202,
        f"The specified version '{version}' is not a valid version id. Allowed values are between "
        '[1, 2^31-1] and the string "latest"',
    )


def invalid_compatibility(level: object) -> RegistryRefusal:
    return RegistryRefusal(
        42203,
        f"Invalid compatibility level {level}. Valid values are none, backward, forward, full, "
        "backward_transitive, forward_transitive, and full_transitive",
    )


def invalid_mode(mode: object) -> RegistryRefusal:
    return RegistryRefusal(
        42204,
        f"Invalid mode {mode}. Valid values are READWRITE, READONLY, READONLY_OVERRIDE, IMPORT and "
        "FORWARD",
    )


def not_permitted(why: str) -> RegistryRefusal:
    return RegistryRefusal(42205, why)


def reference_exists(subject: str, version: int) -> RegistryRefusal:
    return RegistryRefusal(
        42206,
        "One or more references exist to the schema "
        f"{{magic=1,keytype=SCHEMA,subject={subject},version={version}}}.",
    )


def invalid_subject(subject: str) -> RegistryRefusal:
    return RegistryRefusal(42208, f"The specified subject '{subject}' is not a valid subject.")


def schema_too_large(size: int, largest: int) -> RegistryRefusal:
    return RegistryRefusal(
        42209, f"Write failed because schema is too large: {size} bytes, at most {largest}"
    )


def too_many_requests(why: str) -> RegistryRefusal:
    return RegistryRefusal(42901, why)


def over_quota(caller: str, per_second: float, wait_s: int) -> RegistryRefusal:
    return RegistryRefusal(
        42901,
        f"{caller} sends more than {per_second:g} requests a second; send the request again in "
        f"{wait_s} s",
        wait_s,
    )


def invalid_rule_set(why: str) -> RegistryRefusal:
    return RegistryRefusal(42210, f"Invalid rule set: {why}")


def context_not_empty(context: str) -> RegistryRefusal:
    return RegistryRefusal(42211, f"The specified context '{context}' is not empty.")


def invalid_association(field: str, why: str) -> RegistryRefusal:
    return RegistryRefusal(42212, f"The association has an invalid '{field}': {why}")


def store_failed(why: str) -> RegistryRefusal:
    return RegistryRefusal(50001, f"Error in the backend data store: {why}")


def timed_out(why: str) -> RegistryRefusal:
    return RegistryRefusal(50002, f"Register operation timed out: {why}")


def no_writer(why: str) -> RegistryRefusal:
    return RegistryRefusal(50004, f"No writer is known: {why}")

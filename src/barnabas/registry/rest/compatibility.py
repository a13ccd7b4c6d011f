"""`/compatibility`: whether a schema may be registered, without registering it."""

from collections.abc import Sequence

from barnabas.registry.model.contents import Json
from barnabas.registry.model.entries import SchemaVersion
from barnabas.registry.model.errors import version_not_found
from barnabas.registry.model.lookups import parse_version, versions_of
from barnabas.registry.model.registration import incompatibilities, stored_form
from barnabas.registry.rest.answers import answer
from barnabas.registry.rest.call import Call
from barnabas.registry.rest.instance import RegistryInstance
from barnabas.registry.rest.subjects import wanted_schema
from barnabas.web.messages import Response

_SUBJECT = 2
_VERSION = 4


async def check_version(instance: RegistryInstance, call: Call) -> Response:
    """POST /compatibility/subjects/S/versions/V: against one version."""
    number = parse_version(call.path[_VERSION])
    live = versions_of(instance.image, instance.subject(call, _SUBJECT))
    if number is None:
        return _check(instance, call, live[-1:])
    earlier = [each for each in live if each.version == number]
    if not earlier:
        raise version_not_found(number)
    return _check(instance, call, earlier)


async def check_subject(instance: RegistryInstance, call: Call) -> Response:
    """POST /compatibility/subjects/S/versions: against those that the level compares."""
    return _check(instance, call, versions_of(instance.image, instance.subject(call, _SUBJECT)))


def _check(instance: RegistryInstance, call: Call, earlier: Sequence[SchemaVersion]) -> Response:
    image, checks = instance.image, instance.checks
    wanted = wanted_schema(instance, call, _SUBJECT)
    config = image.config_in_force(wanted.subject)
    content = stored_form(image, checks, wanted, earlier, config)
    reasons = incompatibilities(image, checks, wanted.subject, content, earlier)
    found: dict[str, Json] = {"is_compatible": not reasons}
    if call.flag("verbose"):
        found["messages"] = [*reasons]
    return answer(found)

"""Which function answers which path, and what callers need for it."""

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import NamedTuple

from barnabas.registry.rest import (
    about,
    associations,
    compatibility,
    config,
    contexts,
    copies,
    metrics,
    mode,
    schemas,
    subjects,
)
from barnabas.registry.rest.call import Call
from barnabas.registry.rest.instance import RegistryInstance
from barnabas.web.messages import HttpError, Response
from barnabas.wire.acl_codes import AclOperation

Answer = Callable[[RegistryInstance, Call], Awaitable[Response]]


class RegistryRoute(NamedTuple):
    """A method, a path in which `*` is a name, and what answers it."""

    method: str
    path: str
    call: Answer
    operation: AclOperation | None = None
    """What callers need on the subject in the path. Without it, they see what they may read."""
    is_open: bool = False
    """Whether nobody has to sign in."""
    changes_several: bool = False
    """Whether it changes what belongs to subjects that are not in the path."""

    @property
    def changes(self) -> bool:
        """Whether something is another afterwards."""
        return self.changes_several or self.operation in (_WRITE, _DELETE, _ALTER)


_COMPATIBILITY = "compatibility/subjects/*/versions"
_READ, _WRITE, _DELETE = AclOperation.READ, AclOperation.WRITE, AclOperation.DELETE
_DESCRIBE, _ALTER = AclOperation.DESCRIBE, AclOperation.ALTER_CONFIGS

ROUTES = (
    RegistryRoute("GET", "", about.root, is_open=True),
    RegistryRoute("POST", "", about.root, is_open=True),
    RegistryRoute("GET", "health", about.health, is_open=True),
    RegistryRoute("GET", "metrics", metrics.metrics, is_open=True),
    RegistryRoute("GET", "v1/metadata/id", about.cluster, is_open=True),
    RegistryRoute("GET", "v1/metadata/version", about.version, is_open=True),
    RegistryRoute("GET", "subjects", subjects.list_subjects),
    RegistryRoute("POST", "subjects/*", subjects.find, _READ),
    RegistryRoute("DELETE", "subjects/*", subjects.delete, _DELETE),
    RegistryRoute("GET", "subjects/*/metadata", subjects.get_by_metadata, _READ),
    RegistryRoute("GET", "subjects/*/versions", subjects.list_versions, _READ),
    RegistryRoute("POST", "subjects/*/versions", subjects.add_version, _WRITE),
    RegistryRoute("GET", "subjects/*/versions/*", subjects.get_version, _READ),
    RegistryRoute("DELETE", "subjects/*/versions/*", subjects.remove_version, _DELETE),
    RegistryRoute("GET", "subjects/*/versions/*/schema", subjects.get_text, _READ),
    RegistryRoute("GET", "subjects/*/versions/*/referencedby", subjects.referenced_by, _READ),
    RegistryRoute("GET", "schemas", schemas.list_schemas),
    RegistryRoute("GET", "schemas/types", schemas.list_types),
    RegistryRoute("GET", "schemas/ids/*", schemas.get_schema),
    RegistryRoute("GET", "schemas/ids/*/schema", schemas.get_text),
    RegistryRoute("GET", "schemas/ids/*/subjects", schemas.get_subjects),
    RegistryRoute("GET", "schemas/ids/*/versions", schemas.get_versions),
    RegistryRoute("GET", "schemas/guids/*", schemas.get_by_guid),
    RegistryRoute("GET", "schemas/guids/*/ids", schemas.get_ids_of_guid),
    RegistryRoute("POST", _COMPATIBILITY, compatibility.check_subject, _READ),
    RegistryRoute("POST", f"{_COMPATIBILITY}/*", compatibility.check_version, _READ),
    RegistryRoute("GET", "config", config.get),
    RegistryRoute("PUT", "config", config.put, _ALTER),
    RegistryRoute("DELETE", "config", config.delete, _ALTER),
    RegistryRoute("GET", "config/*", config.get, _DESCRIBE),
    RegistryRoute("PUT", "config/*", config.put, _ALTER),
    RegistryRoute("DELETE", "config/*", config.delete, _ALTER),
    RegistryRoute("GET", "mode", mode.get),
    RegistryRoute("PUT", "mode", mode.put, _ALTER),
    RegistryRoute("DELETE", "mode", mode.delete, _ALTER),
    RegistryRoute("GET", "mode/*", mode.get, _DESCRIBE),
    RegistryRoute("PUT", "mode/*", mode.put, _ALTER),
    RegistryRoute("DELETE", "mode/*", mode.delete, _ALTER),
    RegistryRoute("GET", "ids", copies.get_largest_id),
    RegistryRoute("PUT", "ids", copies.put_largest_id, _ALTER),
    RegistryRoute("GET", "settings", copies.list_settings),
    RegistryRoute("GET", "associations/subjects/*", associations.of_subject),
    RegistryRoute("GET", "associations/resources/*/*", associations.of_name),
    RegistryRoute("GET", "associations/resources/*", associations.of_resource),
    RegistryRoute("POST", "associations", associations.create, changes_several=True),
    RegistryRoute("PUT", "associations/resources/*", associations.update, changes_several=True),
    RegistryRoute("DELETE", "associations/resources/*", associations.delete, changes_several=True),
    RegistryRoute("GET", "contexts", contexts.list_contexts),
    RegistryRoute("DELETE", "contexts/*", contexts.delete, _DELETE),
)


def find_route(call: Call) -> RegistryRoute:
    """The route of a request; raises `HttpError`."""
    methods = []
    for route in ROUTES:
        parts = tuple(filter(None, route.path.split("/")))
        if len(parts) == len(call.path) and all(
            part in ("*", given) for part, given in zip(parts, call.path, strict=True)
        ):
            method = call.request.method
            if route.method == method or (method, route.method) == ("HEAD", "GET"):
                return route
            methods.append(route.method)
    if methods:
        raise HttpError(HTTPStatus.METHOD_NOT_ALLOWED, "HTTP 405 Method Not Allowed")
    raise HttpError(HTTPStatus.NOT_FOUND, "HTTP 404 Not Found")

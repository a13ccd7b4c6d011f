"""About this instance."""

from http import HTTPStatus

from barnabas import __version__
from barnabas.registry.model.contents import Json
from barnabas.registry.rest.answers import answer
from barnabas.registry.rest.call import Call
from barnabas.registry.rest.instance import RegistryInstance
from barnabas.web.messages import Response


async def root(_instance: RegistryInstance, _call: Call) -> Response:
    """GET /."""
    return answer({})


async def health(instance: RegistryInstance, _call: Call) -> Response:
    """GET /health: whether reads are answered by a log that is still followed."""
    failure = instance.log.failure
    if failure is None:
        return answer({"status": "healthy"})
    unhealthy: Json = {"status": "unhealthy", "message": str(failure)}
    return answer(unhealthy, HTTPStatus.SERVICE_UNAVAILABLE)


async def cluster(instance: RegistryInstance, _call: Call) -> Response:
    """GET /v1/metadata/id: the Kafka cluster."""
    scope: Json = {"path": [], "clusters": {"kafka-cluster": instance.log.cluster_id}}
    return answer({"scope": scope, "id": instance.log.cluster_id})


async def version(_instance: RegistryInstance, _call: Call) -> Response:
    """GET /v1/metadata/version."""
    return answer({"version": __version__, "commitId": __version__})

"""`/metrics`, for Prometheus."""

from barnabas.metrics.exposition import CONTENT_TYPE, Samples, counter, gauge
from barnabas.registry.model.lookups import Deleted, schemas_with, subjects_with
from barnabas.registry.model.names import ALL_CONTEXTS
from barnabas.registry.rest.call import Call
from barnabas.registry.rest.instance import RegistryInstance
from barnabas.web.messages import Response

_WRITER = gauge("barnabas_registry_writer", "1 on the instance that writes")
_SUBJECTS = gauge("barnabas_registry_subjects", "Subjects that are not deleted")
_VERSIONS = gauge("barnabas_registry_versions", "Versions of subjects that are not deleted")
_OFFSET = gauge("barnabas_registry_offset", "Offset up to which the log was read")
_CHANGES = counter("barnabas_registry_changes_total", "Changes that this instance has written")
_TAKEOVERS = counter("barnabas_registry_takeovers_total", "How often this instance became writer")


async def metrics(instance: RegistryInstance, _call: Call) -> Response:
    """GET /metrics."""
    samples = Samples()
    image = instance.image
    samples.add(_WRITER, int(instance.writer.is_writer))
    samples.add(_SUBJECTS, len(subjects_with(image)))
    every = schemas_with(image, ALL_CONTEXTS, Deleted.HIDDEN, latest_only=False)
    samples.add(_VERSIONS, len(every))
    samples.add(_OFFSET, instance.log.next_offset)
    samples.add(_CHANGES, instance.writer.written)
    samples.add(_TAKEOVERS, instance.writer.takeovers)
    instance.requests.add_to(samples)
    return Response(body=b"".join(samples.encoded()), headers={"Content-Type": CONTENT_TYPE})

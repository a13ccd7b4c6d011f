"""`/contexts`."""

from http import HTTPStatus

from barnabas.registry.model.deletion import delete_context
from barnabas.registry.model.names import context_name
from barnabas.registry.rest.answers import answer, page
from barnabas.registry.rest.call import Call
from barnabas.registry.rest.instance import RegistryInstance
from barnabas.web.messages import Response


async def list_contexts(instance: RegistryInstance, call: Call) -> Response:
    """GET /contexts, all or those with a prefix."""
    prefix = call.text("contextPrefix")
    found = [each for each in instance.image.contexts if each.startswith(prefix)]
    return answer(page(found, *call.page))


async def delete(instance: RegistryInstance, call: Call) -> Response:
    """DELETE /contexts/C, if it has no subjects."""
    context = context_name(call.path[1])
    await instance.change(lambda image: delete_context(image, context))
    return Response(HTTPStatus.NO_CONTENT)

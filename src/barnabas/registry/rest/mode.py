"""`/mode`: whether subjects can be written, or are imported."""

from barnabas.registry.model.changes import delete_mode, set_mode
from barnabas.registry.model.errors import no_mode
from barnabas.registry.rest.answers import answer
from barnabas.registry.rest.call import Call
from barnabas.registry.rest.instance import RegistryInstance
from barnabas.web.messages import Response


async def get(instance: RegistryInstance, call: Call) -> Response:
    """GET /mode and /mode/S."""
    scope = call.scope
    mode = instance.image.mode(scope)
    if mode is None and scope is not None and not call.flag("defaultToGlobal"):
        raise no_mode(scope)
    return answer({"mode": mode or instance.image.mode_in_force(scope)})


async def put(instance: RegistryInstance, call: Call) -> Response:
    """PUT /mode and /mode/S."""
    wanted, scope, force = call.body().get("mode"), call.scope, call.flag("force")
    mode = await instance.change(lambda image: set_mode(image, scope, wanted, force=force))
    return answer({"mode": mode})


async def delete(instance: RegistryInstance, call: Call) -> Response:
    """DELETE /mode and /mode/S; the answer is what was set."""
    scope = call.scope
    mode = await instance.change(lambda image: delete_mode(image, scope))
    return answer({"mode": mode})

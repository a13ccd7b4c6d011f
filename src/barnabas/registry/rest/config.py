"""`/config`: settings of subjects, contexts and the registry."""

from barnabas.registry.model.changes import delete_config, set_config
from barnabas.registry.model.config import LEVEL
from barnabas.registry.model.contents import Json
from barnabas.registry.model.errors import no_config
from barnabas.registry.rest.answers import answer
from barnabas.registry.rest.call import Call
from barnabas.registry.rest.instance import RegistryInstance
from barnabas.web.messages import Response


async def get(instance: RegistryInstance, call: Call) -> Response:
    """GET /config and /config/S."""
    scope = call.scope
    own = instance.image.config(scope)
    if own is not None and not call.flag("defaultToGlobal") and scope is not None:
        return answer({**own})
    if scope is not None and not call.flag("defaultToGlobal"):
        raise no_config(scope)
    return answer({**instance.image.config_in_force(scope)})


async def put(instance: RegistryInstance, call: Call) -> Response:
    """PUT /config and /config/S; the answer is what was asked for."""
    body, scope = call.body(), call.scope
    config = await instance.change(lambda image: set_config(image, scope, body))
    found: dict[str, Json] = {name: each for name, each in config.items() if name != LEVEL}
    if LEVEL in config:
        found["compatibility"] = config[LEVEL]
    return answer(found)


async def delete(instance: RegistryInstance, call: Call) -> Response:
    """DELETE /config and /config/S; the answer is what was set."""
    scope = call.scope
    config = await instance.change(lambda image: delete_config(image, scope))
    return answer({**config})

"""A registry in memory, for `App.test`: it has each schema that it is asked for."""

from barnabas.formats.registered.client import RegistryAnswerError, RegistryClient
from barnabas.schemas.schema import Json

_NOT_FOUND = 40403


class MemoryRegistryClient(RegistryClient):
    """Gives ids in order. Compatibility is not checked."""

    def __init__(self) -> None:
        super().__init__("http://memory")
        self._ids: dict[str, int] = {}
        self._schemas: dict[int, Json] = {}

    def call(self, method: str, *path: str, body: Json = None, **_: str | list[str]) -> Json:
        """As a registry answers."""
        if method == "POST" and isinstance(body, dict):
            number = self._ids.setdefault(str(body["schema"]), len(self._ids) + 1)
            answer = {"subject": path[1], "version": number, "id": number, **body}
            self._schemas[number] = answer
            return answer
        found = self._schemas.get(int(path[-1])) if path[0] == "schemas" else None
        if found is None:
            raise RegistryAnswerError(_NOT_FOUND, "not in memory")
        return found

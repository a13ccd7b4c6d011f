"""Messages as a user may see them: decoded by their schemas, and without what is masked."""

from collections.abc import Iterable

from barnabas.console.messages.masking import Masks
from barnabas.console.messages.ranges import Found
from barnabas.console.schemas.decoding import DecodedMessage, Schemas
from barnabas.console.schemas.encoding import RecordEncoder
from barnabas.records.message import Message


class View:
    """Decoding comes first, so that rules find the fields that they mask."""

    def __init__(self, masks: Masks, schemas: Schemas) -> None:
        self.masks = masks
        self._schemas = schemas
        self.encoder = RecordEncoder(schemas.registry)

    async def prepare(self, records: Iterable[Found]) -> None:
        """Know the schemas of these records: the others need no waiting then."""
        await self._schemas.prepare(each.message for each in records)

    def decoded(self, message: Message) -> DecodedMessage:
        """With the schemas of its parts."""
        decoded = self._schemas.decode(message)
        return decoded._replace(message=self.masks.apply(decoded.message))

    def of(self, message: Message) -> Message:
        return self.decoded(message).message

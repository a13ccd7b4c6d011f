"""Which producers are fenced, and the error code for it: not all versions have PRODUCER_FENCED."""

from barnabas.transactions.image import Identity, TransactionImage
from barnabas.wire.errors import ErrorCode

_FENCED_FROM_VERSION = {22: 4, 24: 2, 25: 2, 26: 2}
"""The first version of InitProducerId, AddPartitionsToTxn, AddOffsetsToTxn and EndTxn that has it.

Clients of older versions get INVALID_PRODUCER_EPOCH, which is fatal to them too.
"""


def check_identity(image: TransactionImage, identity: Identity) -> ErrorCode:
    """Whether it is the newest instance.

    The instance that wrote a kept transaction has the producer id of an ongoing transaction. It
    gets PRODUCER_FENCED, because a newer instance owns that transaction.
    """
    owner = image.identity_given_out
    if identity == owner:
        return ErrorCode.NONE
    if identity[0] in (owner[0], image.producer_id):
        return ErrorCode.PRODUCER_FENCED
    return ErrorCode.INVALID_PRODUCER_ID_MAPPING


def in_version(error: ErrorCode, api_key: int, api_version: int) -> ErrorCode:
    if error is ErrorCode.PRODUCER_FENCED and api_version < _FENCED_FROM_VERSION[api_key]:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return error

"""Who is fenced, and how an answer says so: PRODUCER_FENCED is younger than the APIs."""

from barnabas.transactions.image import Identity, TransactionImage
from barnabas.wire.errors import ErrorCode

_UNDERSTOOD_FROM = {22: 4, 24: 2, 25: 2, 26: 2}
"""The first version of InitProducerId, AddPartitionsToTxn, AddOffsetsToTxn and EndTxn that has it.

Clients of older versions understand INVALID_PRODUCER_EPOCH, which is as fatal to them.
"""


def check_identity(image: TransactionImage, identity: Identity) -> ErrorCode:
    """Whether it is the instance that came last.

    Who wrote what another instance has kept has the producer id of a transaction that goes on,
    so it is told the truth, that somebody else came after it.
    """
    owner = image.identity_given_out
    if identity == owner:
        return ErrorCode.NONE
    if identity[0] in (owner[0], image.producer_id):
        return ErrorCode.PRODUCER_FENCED
    return ErrorCode.INVALID_PRODUCER_ID_MAPPING


def in_version(error: ErrorCode, api_key: int, api_version: int) -> ErrorCode:
    if error is ErrorCode.PRODUCER_FENCED and api_version < _UNDERSTOOD_FROM[api_key]:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return error

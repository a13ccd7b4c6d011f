"""How an answer says that a producer is fenced: PRODUCER_FENCED is younger than the APIs."""

from barnabas.wire.errors import ErrorCode

_UNDERSTOOD_FROM = {22: 4, 24: 2, 25: 2, 26: 2}
"""The first version of InitProducerId, AddPartitionsToTxn, AddOffsetsToTxn and EndTxn that has it.

Clients of older versions understand INVALID_PRODUCER_EPOCH, which is as fatal to them.
"""


def in_version(error: ErrorCode, api_key: int, api_version: int) -> ErrorCode:
    if error is ErrorCode.PRODUCER_FENCED and api_version < _UNDERSTOOD_FROM[api_key]:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return error

"""EndTxn, versions 0-5: commit or abort a transaction; from version 5 on with the next epoch."""

from barnabas.broker.handlers.transaction_shards import Needs, decided_by_coordinator
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.wire.messages.end_txn import EndTxnRequest, EndTxnResponse


async def handle(node: Needs, request: EndTxnRequest, context: RequestContext) -> EndTxnResponse:
    return await decided_by_coordinator(
        node,
        request.transactional_id,
        lambda error: EndTxnResponse(error_code=error),
        lambda transactions, token, now_ms: transactions.end_txn(
            request, token=token, api_version=context.version, now_ms=now_ms
        ),
        lambda response: response.error_code,
    )

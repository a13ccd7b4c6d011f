"""Mails for payments, by a queue: here, a mail is a record in the topic `mails`."""

import barnabas
from examples.night.settings import SECURITY, SERVERS, Payment

if __name__ == "__main__":
    with (
        barnabas.Producer(SERVERS, security=SECURITY, linger_ms=0) as producer,
        barnabas.Queue(
            SERVERS, "payments", group="mailers", value=Payment, security=SECURITY
        ) as queue,
    ):

        def mail(job: barnabas.QueueMessage) -> None:
            payment: Payment = job.value
            producer.send("mails", payment.order.encode()).result()

        queue.run(mail, concurrency=4)

"""Mails for payments, by a queue: here, a mail is a record in the topic `mails`.

Some customers get another one a bit later.
"""

import threading

import barnabas
from examples.night.settings import REMINDED_CENTS, SECURITY, SERVERS, Payment

REMIND_AFTER_S = 3.0

if __name__ == "__main__":
    with (
        barnabas.Producer(SERVERS, security=SECURITY, linger_ms=0) as producer,
        barnabas.Queue(
            SERVERS, "payments", group="mailers", value=Payment, security=SECURITY
        ) as queue,
        barnabas.Queue(
            SERVERS, "reminders", group="reminders", value=Payment, security=SECURITY
        ) as reminders,
    ):

        def mail(job: barnabas.QueueMessage) -> None:
            payment: Payment = job.value
            if payment.cents % REMINDED_CENTS == 0:
                reminders.put(payment, delay="2s").result()
            producer.send("mails", payment.order.encode()).result()

        def remind(job: barnabas.QueueMessage) -> None:
            payment: Payment = job.value
            producer.send("reminded", payment.order.encode()).result()

        # Not before there is time: at the start all processes of the shop are busy.
        reminding = threading.Timer(REMIND_AFTER_S, reminders.run, args=[remind])
        reminding.start()
        queue.run(mail, concurrency=4)
        reminding.cancel()
        reminders.stop()
        reminding.join()

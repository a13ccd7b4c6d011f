"""Hello, world: one message in, one message out.

barnabas server &
python examples/hello.py [BOOTSTRAP]
"""

import argparse

from barnabas import Consumer, Producer


def main(bootstrap: str) -> None:
    with Producer(bootstrap, value_format="str") as producer:
        stored = producer.send("greetings", "hello, world").result()
        print(f"stored in {stored.topic}-{stored.partition} at offset {stored.offset}")

    with Consumer(bootstrap, "greetings", value_format="str") as consumer:
        for message in consumer:
            print(f"read {message.value!r}")
            break  # there may be more greetings, and a consumer waits for them for ever


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bootstrap", nargs="?", default="localhost:9092", help="HOST:PORT,...")
    main(parser.parse_args().bootstrap)

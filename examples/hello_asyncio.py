"""Hello, world, in asyncio: the same as hello.py, with `await`.

barnabas server &
python examples/hello_asyncio.py [BOOTSTRAP]
"""

import argparse
import asyncio

from barnabas.aio import Consumer, Producer


async def main(bootstrap: str) -> None:
    async with Producer(bootstrap, value_format="str") as producer:
        sent = await producer.send("greetings", "hello, world")
        stored = await sent
        print(f"stored in {stored.topic}-{stored.partition} at offset {stored.offset}")

    async with Consumer(bootstrap, "greetings", value_format="str") as consumer:
        async for message in consumer:
            print(f"read {message.value!r}")
            break


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bootstrap", nargs="?", default="localhost:9092", help="HOST:PORT,...")
    asyncio.run(main(parser.parse_args().bootstrap))

"""An update of a dataframe of quixstreams, which has one thread and plain functions."""

from quixstreams import Application
from stopwatch import arguments, group

servers, topic, _, _, stopwatch = arguments()
tick = stopwatch.tick
app = Application(
    broker_address=servers,
    consumer_group=group(),
    auto_offset_reset="earliest",
    loglevel="ERROR",
)
rows = app.dataframe(app.topic(topic, value_deserializer="str"))
rows.update(lambda _: tick())
app.run()

"""Decoders by the names of their formats."""

from barnabas.spark.decoding.decoded import ValueDecoder
from barnabas.spark.decoding.decoding import Decoding


def decoder_of(decoding: Decoding) -> ValueDecoder:
    """What decodes values so."""
    if decoding.format == "avro":
        # fastavro is an extra dependency.
        from barnabas.spark.decoding.avro_decoder import AvroDecoder

        return AvroDecoder(decoding)
    if decoding.format == "protobuf":
        from barnabas.spark.decoding.protobuf_decoder import ProtobufDecoder

        return ProtobufDecoder(decoding)
    from barnabas.spark.decoding.json_decoder import JsonDecoder

    return JsonDecoder(decoding)

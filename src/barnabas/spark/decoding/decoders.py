"""Decoders by the names of their formats."""

from barnabas.spark.decoding.decoded import ValueDecoder
from barnabas.spark.decoding.decoding import Decoding


def decoder_of(decoding: Decoding) -> ValueDecoder:
    """What decodes values so."""
    if decoding.format == "avro":
        from barnabas.spark.decoding.avro_decoder import AvroValuesDecoder, registered_avro_decoder

        if decoding.registry is not None:
            return registered_avro_decoder(decoding)
        return AvroValuesDecoder(decoding)
    if decoding.format == "protobuf":
        # protobuf is an extra dependency.
        from barnabas.spark.decoding.protobuf_decoder import ProtobufDecoder

        return ProtobufDecoder(decoding)
    from barnabas.spark.decoding.json_decoder import JsonDecoder

    return JsonDecoder(decoding)

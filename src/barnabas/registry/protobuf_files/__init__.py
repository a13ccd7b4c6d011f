"""Compiled Protobuf files: what some clients register instead of a text, and ask for.

reading  the text of a compiled file
writing  a compiled file of a parsed text
library  the package protobuf, which both need

A compiled file is a `FileDescriptorProto` in base64, as `format=serialized` gives it.
"""

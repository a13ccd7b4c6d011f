"""Protobuf schemas: .proto files of syntax proto2 and proto3.

tokens         text to tokens
elements       what a file contains, as it is written
parser         tokens to elements
declarations   the parts of the parser below a file: fields, options, ranges
well_known     the types of files that come with Protobuf
names          which type a name in a field means
validation     what a file may not contain
canonical      elements to the texts by which a registry recognizes schemas
compatibility  which changes the wire format allows
parsed         a file with its imports
"""

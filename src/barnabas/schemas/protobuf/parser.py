"""Reads a .proto file."""

from barnabas.schemas.protobuf.declarations import DeclarationReader
from barnabas.schemas.protobuf.elements import (
    ProtoEnum,
    ProtoExtend,
    ProtoFile,
    ProtoMessage,
    ProtoOneof,
    ProtoOption,
    ProtoRpc,
    ProtoService,
)

_MAX_DEPTH = 50


def parse_file(text: str) -> ProtoFile:
    """Raises InvalidSchemaError, with the line."""
    return _Parser(text).file()


class _Parser:
    def __init__(self, text: str) -> None:
        self._read = DeclarationReader(text)
        self._depth = 0

    def file(self) -> ProtoFile:
        read, file = self._read, ProtoFile()
        if read.take("syntax"):
            read.expect("=")
            file.syntax = read.text("proto2 or proto3")
            if file.syntax not in ("proto2", "proto3"):
                raise read.error(f"unknown syntax {file.syntax!r}; use proto2 or proto3")
            read.expect(";")
        elif read.take("edition"):
            raise read.error("editions are not supported; use syntax proto2 or proto3")
        while not read.is_at_end:
            self._statement(file)
        return file

    def _statement(self, file: ProtoFile) -> None:
        read = self._read
        if read.take(";"):
            return
        if read.take("package"):
            if file.package:
                raise read.error("the file has two packages")
            file.package = read.name("a package")
            read.expect(";")
        elif read.take("import"):
            public = read.take("public")
            if not public:
                read.take("weak")
            (file.public_imports if public else file.imports).append(read.text("a path"))
            read.expect(";")
        elif read.take("option"):
            file.options.append(self._option())
        elif read.take("message"):
            file.messages.append(self._message())
        elif read.take("enum"):
            file.enums.append(self._enum())
        elif read.take("extend"):
            file.extends.append(self._extend())
        elif read.take("service"):
            file.services.append(self._service())
        else:
            raise read.error(f"expected a message, an enum or an import, got {read.next}")

    def _option(self) -> ProtoOption:
        found = self._read.option()
        self._read.expect(";")
        return found

    def _message(self) -> ProtoMessage:
        read = self._read
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise read.error("messages are nested too deeply")
        message = ProtoMessage(read.word("the name of a message"))
        read.expect("{")
        while not read.take("}"):
            self._member(message)
        self._depth -= 1
        return message

    def _member(self, message: ProtoMessage) -> None:
        read = self._read
        if read.take(";"):
            return
        if read.take("message"):
            message.messages.append(self._message())
        elif read.take("enum"):
            message.enums.append(self._enum())
        elif read.take("oneof"):
            message.oneofs.append(self._oneof())
        elif read.take("option"):
            message.options.append(self._option())
        elif read.take("reserved"):
            message.reserved.append(read.reserved())
        elif read.take("extensions"):
            message.extensions.append(read.extensions())
        elif read.take("extend"):
            message.extends.append(self._extend())
        elif read.is_at_end:
            raise read.error(f"message {message.name} has no '}}'")
        else:
            message.fields.append(read.field())

    def _oneof(self) -> ProtoOneof:
        read = self._read
        oneof = ProtoOneof(read.word("the name of a oneof"))
        read.expect("{")
        while not read.take("}"):
            if read.take("option"):
                oneof.options.append(self._option())
            elif not read.take(";"):
                oneof.fields.append(read.field(oneof.name))
        return oneof

    def _enum(self) -> ProtoEnum:
        read = self._read
        enum = ProtoEnum(read.word("the name of an enum"))
        read.expect("{")
        while not read.take("}"):
            if read.take("option"):
                enum.options.append(self._option())
            elif read.take("reserved"):
                enum.reserved.append(read.reserved(of_enum=True))
            elif not read.take(";"):
                enum.values.append(read.enum_value())
        return enum

    def _extend(self) -> ProtoExtend:
        read = self._read
        extend = ProtoExtend(read.name("the name of a message"))
        read.expect("{")
        while not read.take("}"):
            if not read.take(";"):
                extend.fields.append(read.field())
        return extend

    def _service(self) -> ProtoService:
        read = self._read
        service = ProtoService(read.word("the name of a service"))
        read.expect("{")
        while not read.take("}"):
            if read.take("option"):
                service.options.append(self._option())
            elif read.take("rpc"):
                service.rpcs.append(self._rpc())
            elif not read.take(";"):
                raise read.error(f"expected an rpc, got {read.next}")
        return service

    def _rpc(self) -> ProtoRpc:
        read = self._read
        name = read.word("the name of an rpc")
        read.expect("(")
        streams_requests = read.take("stream")
        request = read.name("a message")
        read.expect(")")
        read.expect("returns")
        read.expect("(")
        streams_responses = read.take("stream")
        response = read.name("a message")
        read.expect(")")
        rpc = ProtoRpc(name, request, response, streams_requests, streams_responses)
        if read.take("{"):
            while not read.take("}"):
                if read.take("option"):
                    rpc.options.append(self._option())
                else:
                    read.expect(";")
        else:
            read.expect(";")
        return rpc

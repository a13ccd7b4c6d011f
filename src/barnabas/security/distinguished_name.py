"""The subject of a certificate as text: `CN=alice,OU=Sales,O=Example,C=DE`.

The form is that of RFC 2253, as Java writes it (`X500Principal.getName()`), since Kafka's
principals and its mapping rules have it: the last part of the encoded name comes first; parts
without a keyword there are written as `OID=#HEX`.

The input is the certificate in DER, of which TLS has verified the signature:

    Certificate     SEQUENCE { tbsCertificate, algorithm, signature }
    tbsCertificate  SEQUENCE { [0] version?, serial, algorithm, issuer, validity, subject, ... }
    subject         SEQUENCE OF SET OF SEQUENCE { type OBJECT IDENTIFIER, value string }
"""

from barnabas.security.der import Element, elements_of

_KEYWORDS = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.25": "DC",
    "0.9.2342.19200300.100.1.1": "UID",
}
_ENCODINGS = {
    12: "utf-8",
    18: "ascii",
    19: "ascii",
    20: "latin-1",
    22: "ascii",
    26: "ascii",
    28: "utf-32-be",
    30: "utf-16-be",
}
"""The encoding of each string type, by its tag."""
_VERSION = 0xA0
_SUBJECT = 4
"""Its place behind the version."""
_SPECIAL = ',+"\\<>;'
_LONG = 0x80


def subject_of(certificate: bytes) -> str:
    """The subject of a certificate in DER; empty if it has none. Raises `ValueError`."""
    try:
        body = next(elements_of(next(elements_of(certificate)).content)).content
        fields = [element for element in elements_of(body) if element.tag != _VERSION]
        parts = [
            "+".join(map(_attribute, elements_of(part.content)))
            for part in elements_of(fields[_SUBJECT].content)
        ]
    except (IndexError, StopIteration, UnicodeDecodeError) as error:
        raise ValueError("the certificate is malformed") from error
    return ",".join(reversed(parts))


def _attribute(element: Element) -> str:
    kind, value = elements_of(element.content)
    oid = _oid(kind.content)
    if oid not in _KEYWORDS or value.tag not in _ENCODINGS:
        return f"{oid}=#{value.encoded.hex()}"
    return f"{_KEYWORDS[oid]}={_escaped(value.content.decode(_ENCODINGS[value.tag]))}"


def _oid(content: bytes) -> str:
    numbers: list[int] = []
    number = 0
    for byte in content:
        number = number << 7 | byte & ~_LONG
        if not byte & _LONG:
            numbers.append(number)
            number = 0
    first = min(numbers[0] // 40, 2)
    return ".".join(map(str, (first, numbers[0] - 40 * first, *numbers[1:])))


def _escaped(text: str) -> str:
    escaped = "".join(f"\\{each}" if each in _SPECIAL else each for each in text)
    if escaped.startswith(("#", " ")):
        escaped = f"\\{escaped}"
    if text.endswith(" ") and len(text) > 1:
        escaped = f"{escaped[:-1]}\\ "
    return escaped

"""A client of TLS that misbehaves below what libraries offer: records are cut, emptied, enlarged and put in between.

Usage: tls_scripts.py PORT CA. Prints a line for each script: its name and what the server answered.
"""

import importlib.util
import socket
import ssl
import struct
import sys

PORT, CA = int(sys.argv[1]), sys.argv[2]
HANDSHAKE, ALERT, DATA = 22, 21, 23
REQUEST = b"GET /a.txt HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


def records(stream):
    """Cuts bytes into records: type, version, content."""
    while stream:
        kind, version, length = struct.unpack("!BHH", stream[:5])
        yield kind, version, stream[5 : 5 + length]
        stream = stream[5 + length :]


def record(kind, version, content):
    return struct.pack("!BHH", kind, version, len(content)) + content


def talk(change, version=None):
    """Shakes hands and asks, with what this side sends changed; the answer's first line, or how it ended."""
    context = ssl.create_default_context(cafile=CA)
    if version:
        context.maximum_version = version
    received, sent = ssl.MemoryBIO(), ssl.MemoryBIO()
    side = context.wrap_bio(received, sent, server_hostname="localhost")
    with socket.create_connection(("127.0.0.1", PORT), timeout=20) as peer:
        answer, asked, ended, flight = b"", False, False, 0
        while True:
            try:
                if not asked:
                    side.do_handshake()
                    side.write(REQUEST)
                    asked = True
                piece = side.read(65536)
                if not piece:
                    break
                answer += piece
                continue
            except ssl.SSLWantReadError:
                pass
            except ssl.SSLZeroReturnError:
                break
            except ssl.SSLError as error:
                return error.reason or "closed"
            outgoing = sent.read()
            if outgoing:
                flight += 1
                try:
                    for piece in change(flight, outgoing):
                        peer.sendall(piece)
                except OSError:
                    pass
            try:
                arrived = peer.recv(65536)
            except OSError:
                return "reset"
            if arrived:
                received.write(arrived)
            elif ended:
                return "closed"
            else:
                ended = True
                received.write_eof()
    return answer.split(b"\r\n")[0].decode()


def in_records_of(size):
    """The first flight, which is in clear, in records of this size."""

    def change(flight, outgoing):
        if flight > 1:
            return [outgoing]
        return [
            record(kind, version, content[at : at + size])
            for kind, version, content in records(outgoing)
            for at in range(0, len(content), size)
        ]

    return change


def byte_by_byte(_flight, outgoing):
    return [outgoing[at : at + 1] for at in range(len(outgoing))]


def first(*before):
    return lambda flight, outgoing: [*before, outgoing] if flight == 1 else [outgoing]


def in_the_middle(between):
    """The first flight in two records, with something between them."""

    def change(flight, outgoing):
        if flight > 1:
            return [outgoing]
        (kind, version, content), *_ = records(outgoing)
        half = len(content) // 2
        return [record(kind, version, content[:half]), between, record(kind, version, content[half:])]

    return change


def after_handshake(extra):
    return lambda flight, outgoing: [outgoing] if flight == 1 else [extra, outgoing]


WARNING = record(ALERT, 0x0303, bytes([1, 90]))
FATAL = record(ALERT, 0x0303, bytes([2, 40]))
SCRIPTS = [
    ("nothing is changed", lambda _flight, outgoing: [outgoing]),
    ("bytes one at a time", byte_by_byte),
    ("a hello in records of one byte", in_records_of(1)),
    ("a hello in records of seven bytes", in_records_of(7)),
    ("an empty record of a handshake first", first(record(HANDSHAKE, 0x0301, b""))),
    ("an empty record of a handshake in the middle", in_the_middle(record(HANDSHAKE, 0x0301, b""))),
    ("data before the handshake", first(record(DATA, 0x0301, b"GET / HTTP/1.1"))),
    ("a fatal alert first", first(FATAL)),
    ("a fatal alert in the middle of the hello", in_the_middle(FATAL)),
    ("a record that is too long", first(record(HANDSHAKE, 0x0301, b"\1" + b"\0" * 18_500))),
    ("an unknown kind of record", first(record(99, 0x0301, b"abc"))),
    ("a hello that is announced with 16 MiB", first(record(HANDSHAKE, 0x0301, b"\1\xff\xff\xff" + b"\0" * 1000))),
    ("data in clear after the hello", after_handshake(record(DATA, 0x0303, b"x" * 40))),
    ("a handshake in clear after the hello", after_handshake(record(HANDSHAKE, 0x0303, b"\0\0\0\0"))),
    ("thirty-three empty records of data", after_handshake(record(DATA, 0x0303, b"") * 33)),
]

for name, change in SCRIPTS:
    print(f"{name}: {talk(change)}")
for name, change in SCRIPTS[:4]:
    print(f"{name}, TLS 1.2: {talk(change, ssl.TLSVersion.TLSv1_2)}")


def with_key_updates(count):
    """Keys that are made anew, also while an answer is on its way (RFC 8446 section 4.6.3)."""
    from tlslite.api import HandshakeSettings, TLSConnection
    from tlslite.errors import TLSError
    from tlslite.constants import KeyUpdateMessageType

    with socket.create_connection(("127.0.0.1", PORT), timeout=20) as peer:
        connection = TLSConnection(peer)
        settings = HandshakeSettings()
        settings.minVersion = settings.maxVersion = (3, 4)
        connection.handshakeClientCert(serverName="localhost", settings=settings)
        answer = b""
        try:
            for _ in range(count):
                for _ in connection.send_keyupdate_request(KeyUpdateMessageType.update_requested):
                    pass
            connection.write(REQUEST)
            while piece := connection.read(max=65536, min=1):
                answer += piece
        except (TLSError, OSError):
            # Without an answer it was refused.
            pass
        return answer.split(b"\r\n")[0].decode() or "refused"


if importlib.util.find_spec("tlslite") is None:
    sys.exit()
for count in (1, 20, 200):
    print(f"{count} updates of keys: {with_key_updates(count)}")

# Another server that speaks TLS, for tests of `fetch`: what it does is in the path of each request.
# Arguments: its certificate and key, the authority of its clients or nothing, the newest version that it speaks.
import socket
import ssl
import sys
import threading

certificate, key, clients, version = sys.argv[1:5]
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)
context.maximum_version = getattr(ssl.TLSVersion, version)
if clients:
    context.load_verify_locations(clients)
    context.verify_mode = ssl.CERT_REQUIRED


def request_of(stream):
    """The target and the body of the next request; nothing at the end."""
    request = b""
    while b"\r\n\r\n" not in request:
        piece = stream.recv(65536)
        if not piece:
            return None
        request += piece
    head, body = request.split(b"\r\n\r\n", 1)
    lines = head.decode().split("\r\n")
    lengths = [line.split(": ")[1] for line in lines if line.startswith("Content-Length: ")]
    length = int(lengths[0]) if lengths else 0
    parts = [body]
    while length > sum(map(len, parts)):
        parts.append(stream.recv(1 << 20))
    return lines[0].split(" ")[1], b"".join(parts)


def answer(stream, target, body):
    """Answers, and says whether the connection goes on."""
    if target in ("/said", "/cut"):
        stream.sendall(b"HTTP/1.1 200 OK\r\n\r\nuntil the end")
        if target == "/said":
            stream.unwrap()
        return False
    if target == "/away":
        stream.sendall(b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1/\r\nContent-Length: 0\r\n\r\n")
        return True
    shown = stream.getpeercert() or {}
    names = [name for kind, name in shown.get("subjectAltName", ())]
    reused = "resumed" if stream.session_reused else "full"
    text = body or " ".join([stream.version(), reused] + names).encode()
    close = "Connection: close\r\n" if target == "/close" else ""
    head = "HTTP/1.1 200 OK\r\n%sContent-Length: %d\r\n\r\n" % (close, len(text))
    stream.sendall(head.encode() + text)
    return not close


def serve(plain):
    try:
        stream = context.wrap_socket(plain, server_side=True)
        request = request_of(stream)
        while request and answer(stream, *request):
            request = request_of(stream)
        if request and request[0] == "/close":
            stream.unwrap()
        stream.close()
    except (OSError, ssl.SSLError):
        plain.close()


listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    connection, _ = listener.accept()
    threading.Thread(target=serve, args=(connection,), daemon=True).start()

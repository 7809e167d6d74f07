"""A door in front of a real Jupyter server: what the stand-ins of providers' proxies have in common.

Connections are carried as they are, one request each, so that a WebSocket passes like anything else. Only the head of a
request is read, and the body where a stand-in answers itself. It decides by that: an answer of its own, or another target and
other headers for the server.

The standard library alone, for any Python. The first line on standard output is the port. A test changes and asks the
door itself below `/__door/`.
"""

import asyncio
import json
from http import HTTPStatus
from urllib.parse import parse_qsl, urlencode, urlsplit


class Request:
    """The head of a request."""

    def __init__(self, head: bytes) -> None:
        first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
        self.method, self.target, self.version = first.split(" ", 2)
        self.headers = [tuple(part.strip() for part in line.split(":", 1)) for line in lines]
        self.path = urlsplit(self.target).path
        self.query = parse_qsl(urlsplit(self.target).query, keep_blank_values=True)
        self.body = b""

    def header(self, name: str) -> str | None:
        return next((value for known, value in self.headers if known.lower() == name.lower()), None)

    def parameter(self, name: str) -> str | None:
        return next((value for known, value in self.query if known == name), None)

    @property
    def is_websocket(self) -> bool:
        return (self.header("upgrade") or "").lower() == "websocket"


class Answer(Exception):
    """An answer of the door's own."""

    def __init__(self, status: int, text: str = "", kind: str = "text/plain") -> None:
        super().__init__(status)
        body = text.encode()
        head = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\nContent-Type: {kind}\r\n"
        self.bytes = f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body


class Door:
    """Override `admit` and, for a test's questions, `asked`."""

    def __init__(self, server: str, server_token: str) -> None:
        self.server = urlsplit(server)
        self.server_token = server_token
        self.seen: list[str] = []
        self.open: set[asyncio.StreamWriter] = set()

    def admit(self, request: Request) -> tuple[str, list[tuple[str, str]]]:
        """The server's path and query for a request; or raises an `Answer`."""
        raise NotImplementedError

    def wants_body(self, request: Request) -> bool:
        """Whether a request is answered here, by what it holds."""
        return False

    def opened(self, request: Request, writer: asyncio.StreamWriter) -> None:
        """A WebSocket was let through."""

    def asked(self, request: Request) -> object:
        """What a test wants to know or to change, by the last part of the path."""
        what = request.path.rsplit("/", 1)[-1]
        if what == "seen":
            return self.seen
        if what == "drop":
            for writer in list(self.open):
                writer.transport.abort()
            return len(self.open)
        raise Answer(404)

    async def serve(self) -> None:
        listener = await asyncio.start_server(self.carry, "127.0.0.1", 0)
        print(listener.sockets[0].getsockname()[1], flush=True)
        async with listener:
            await listener.serve_forever()

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = Request(await reader.readuntil(b"\r\n\r\n"))
            if self.wants_body(request):
                request.body = await reader.readexactly(int(request.header("content-length") or 0))
            far_reader, far_writer = await self.connect(request)
        except Answer as answer:
            writer.write(answer.bytes)
            await writer.drain()
            writer.close()
            return
        except (asyncio.IncompleteReadError, ConnectionError, ValueError):
            writer.close()
            return
        if request.is_websocket:
            self.open.add(writer)
            self.opened(request, writer)
        await asyncio.gather(self.pump(reader, far_writer), self.pump(far_reader, writer))
        self.open.discard(writer)

    async def connect(self, request: Request) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if request.path.startswith("/__door/"):
            raise Answer(200, json.dumps(self.asked(request)), "application/json")
        kind = "WS" if request.is_websocket else request.method
        self.seen.append(f"{kind} {request.path}")
        path, query = self.admit(request)
        target = path + ("?" + urlencode(query) if query else "")
        far_reader, far_writer = await asyncio.open_connection(self.server.hostname, self.server.port)
        hidden = {"authorization", "host", "connection", "origin"}
        lines = [f"{request.method} {target} {request.version}", f"Host: {self.server.netloc}"]
        lines += [f"{name}: {value}" for name, value in request.headers if name.lower() not in hidden]
        lines += [f"Authorization: token {self.server_token}"]
        lines += ["Connection: Upgrade" if request.is_websocket else "Connection: close"]
        far_writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
        await far_writer.drain()
        return far_reader, far_writer

    @staticmethod
    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(64 * 1024):
                writer.write(data)
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()

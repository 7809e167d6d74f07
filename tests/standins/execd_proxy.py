"""The part of execd's stand-in that leads to what listens on the sandbox's own loopback, WebSockets too."""

import asyncio

import aiohttp
from aiohttp import web

EXECD = 44772
HOP_BY_HOP = {"connection", "host", "transfer-encoding", "content-length", "upgrade", "keep-alive"}
OF_SOCKETS = {"sec-websocket-key", "sec-websocket-version", "sec-websocket-extensions", "sec-websocket-protocol"}


class Proxy:
    """Where each port of the sandbox really is; execd's own is this one."""

    def __init__(self, own_port: int, ports: dict[int, int]) -> None:
        self.ports = ports | {EXECD: own_port}
        self.client = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None))

    async def lead(self, request: web.Request) -> web.StreamResponse:
        port = int(request.match_info["port"])
        path = request.raw_path.split(str(port), 1)[1] or "/"
        url = aiohttp.client.URL(f"http://127.0.0.1:{self.ports.get(port, port)}{path}", encoded=True)
        socket = request.headers.get("Upgrade", "").lower() == "websocket"
        hidden = HOP_BY_HOP | (OF_SOCKETS if socket else set())
        # execd asks for its own token once more where it is asked by way of itself
        headers = {name: value for name, value in request.headers.items() if name.lower() not in hidden}
        try:
            return await (self.carry_socket if socket else self.carry)(request, url, headers)
        except aiohttp.ClientConnectionError:
            return web.Response(status=502, text="Bad Gateway")

    async def carry(self, request: web.Request, url: object, headers: dict[str, str]) -> web.StreamResponse:
        body = await request.read()
        asked = self.client.request(request.method, url, headers=headers, data=body or None, allow_redirects=False)
        async with asked as found:
            kept = {name: value for name, value in found.headers.items() if name.lower() not in HOP_BY_HOP}
            kept.pop("Content-Encoding", None)
            return web.Response(status=found.status, headers=kept, body=await found.read())

    async def carry_socket(self, request: web.Request, url: object, headers: dict[str, str]) -> web.StreamResponse:
        wanted = [name.strip() for name in request.headers.get("Sec-WebSocket-Protocol", "").split(",") if name.strip()]
        try:
            far = await self.client.ws_connect(url, headers=headers, protocols=wanted, max_msg_size=0)
        except aiohttp.WSServerHandshakeError as error:
            return web.Response(status=error.status, text=error.message)
        near = web.WebSocketResponse(protocols=[far.protocol] if far.protocol else (), max_msg_size=0)
        await near.prepare(request)

        async def pump(source: object, sink: object) -> None:
            async for message in source:
                if message.type == aiohttp.WSMsgType.TEXT:
                    await sink.send_str(message.data)
                elif message.type == aiohttp.WSMsgType.BINARY:
                    await sink.send_bytes(message.data)
            await sink.close()

        await asyncio.gather(pump(near, far), pump(far, near), return_exceptions=True)
        return near

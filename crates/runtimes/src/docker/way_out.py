"""In a container whose network is a list of hosts: a port of its own loopback that leads to the proxy's socket.

Programs know proxies by host and port, not by socket. The port is open before the command, which takes this process's place.
"""

import asyncio
import os
import socket
import sys

PORT, SOCKET, COMMAND = int(sys.argv[1]), sys.argv[2], sys.argv[3:]

listener = socket.create_server(("127.0.0.1", PORT))
if os.fork():
    os.execvp(COMMAND[0], COMMAND)


async def carry(source, target):
    try:
        while data := await source.read(1 << 16):
            target.write(data)
            await target.drain()
        target.write_eof()
    except OSError:
        target.close()


async def serve(reader, writer):
    try:
        far_reader, far_writer = await asyncio.open_unix_connection(SOCKET)
    except OSError:
        writer.close()
        return
    await asyncio.gather(carry(reader, far_writer), carry(far_reader, writer))
    far_writer.close()
    writer.close()


async def main():
    async with await asyncio.start_server(serve, sock=listener) as server:
        await server.serve_forever()


asyncio.run(main())

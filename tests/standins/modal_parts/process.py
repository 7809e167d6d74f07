"""A process in a sandbox: its output is kept from the first byte on, its input has places."""

import asyncio
import ctypes
import os
import signal
from collections.abc import AsyncIterator

from grpclib import GRPCError, Status

CHUNK = 1 << 16
DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG
libc = ctypes.CDLL(None)


class Output:
    def __init__(self) -> None:
        self.data, self.over, self.changed = bytearray(), False, asyncio.Event()

    def add(self, piece: bytes) -> None:
        self.data += piece
        self.over = not piece
        changed, self.changed = self.changed, asyncio.Event()
        changed.set()

    async def follow(self, place: int) -> AsyncIterator[bytes]:
        while True:
            while place < len(self.data):
                piece = bytes(self.data[place : place + CHUNK])
                place += len(piece)
                yield piece
            if self.over:
                return
            await self.changed.wait()


class Process:
    def __init__(self) -> None:
        self.outputs = (Output(), Output())
        self.taken, self.closed, self.lock = 0, False, asyncio.Lock()
        self.code: int | None = None
        self.ended = asyncio.Event()
        self.child: asyncio.subprocess.Process | None = None

    async def start(self, words: list[str], environment: dict[str, str], folder: str, cut_off: bool) -> None:
        if cut_off and os.geteuid() == 0:
            words = ["unshare", "--net", "--", *words]
        pipe = asyncio.subprocess.PIPE
        try:
            self.child = await asyncio.create_subprocess_exec(
                *words, stdin=pipe, stdout=pipe, stderr=pipe, cwd=folder, env=environment, start_new_session=True,
                preexec_fn=lambda: libc.prctl(DIE_WITH_PARENT, signal.SIGKILL),
            )
        except OSError as error:
            self.outputs[1].add(f"exec {words[0]}: {error.strerror}\n".encode())
            for output in self.outputs:
                output.add(b"")
            self.code = 127
            self.ended.set()
            return
        for stream, output in zip((self.child.stdout, self.child.stderr), self.outputs):
            asyncio.create_task(self.read(stream, output))
        asyncio.create_task(self.wait())

    async def read(self, stream: asyncio.StreamReader, output: Output) -> None:
        while piece := await stream.read(CHUNK):
            output.add(piece)
        output.add(b"")

    async def wait(self) -> None:
        self.code = await self.child.wait()
        self.ended.set()

    async def write(self, place: int, data: bytes, end: bool) -> None:
        async with self.lock:
            if place > self.taken:
                raise GRPCError(Status.FAILED_PRECONDITION, f"input at {place} is beyond {self.taken}")
            data = data[self.taken - place :]
            if data and (self.closed or self.ended.is_set()):
                raise GRPCError(Status.FAILED_PRECONDITION, "the input is closed")
            if data:
                self.child.stdin.write(data)
                self.taken += len(data)
                try:
                    await self.child.stdin.drain()
                except ConnectionError:
                    raise GRPCError(Status.FAILED_PRECONDITION, "the process reads no more") from None
            if end and not self.closed:
                self.closed = True
                self.child.stdin.close()

    def kill(self) -> None:
        if self.child and self.child.returncode is None:
            try:
                os.killpg(self.child.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def status(self, kind):
        return kind(signal=-self.code) if self.code < 0 else kind(code=self.code)

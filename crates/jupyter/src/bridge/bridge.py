"""Puts what runs code behind the standard streams of one process, so that a place needs no open port for it.

Started with `python -u -c`; Python 3.8 or newer. A real ipykernel runs beside this process where it is installed; where it
is not, the driver of plain Python that came with the first line. `mod.rs` beside this file says what goes over the streams.
Nothing else can reach standard output: descriptor 1 is moved away before anything is started.
"""

import base64
import collections
import ctypes
import hmac
import importlib.util
import json
import os
import select
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import time
import uuid

MARK = b"\0sandbook bridge 1\n"
DELIMITER = b"<IDS|MSG>"
WORD = 8
CHUNK = 1 << 18
FULL = 8 << 20  # what waits to be written before the kernel's messages are left in their own queues
DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG
LAST_WORDS_MS = 200
END_SECONDS = 2
libc = ctypes.CDLL(None)


def end_with_this_process():
    """In a child, before its program: however this process ends, it does not outlive it."""
    if sys.platform == "linux":
        libc.prctl(DIE_WITH_PARENT, signal.SIGKILL)


class Streams:
    """The way to the owner: lines come in, frames go out."""

    def __init__(self):
        self.out = os.dup(1)
        os.dup2(2, 1)
        for number in (0, self.out):
            os.set_blocking(number, False)
        self.waiting = collections.deque([memoryview(MARK)])
        self.size = len(MARK)
        self.rest = b""
        self.closed = False
        self.heard = time.monotonic()

    def frame(self, kind, body):
        frame = struct.pack(">IB", len(body) + 1, kind[0]) + body
        self.waiting.append(memoryview(frame))
        self.size += len(frame)
        self.write()

    def say(self, **word):
        self.frame(b"J", json.dumps(word).encode())

    def write(self):
        """Writes what can be written now."""
        try:
            while self.waiting:
                count = os.write(self.out, self.waiting[0][:CHUNK])
                self.size -= count
                if count < len(self.waiting[0]):
                    self.waiting[0] = self.waiting[0][count:]
                else:
                    self.waiting.popleft()
        except BlockingIOError:
            pass

    def flush(self, seconds=END_SECONDS):
        end = time.monotonic() + seconds
        while self.waiting and time.monotonic() < end:
            select.select([], [self.out], [], 0.1)
            self.write()

    def lines(self):
        """The lines that have come. One that was torn, as by an owner that died, is nothing anybody understands."""
        try:
            while True:
                piece = os.read(0, CHUNK)
                if not piece:
                    self.closed = True
                    break
                self.rest += piece
        except BlockingIOError:
            pass
        self.heard = time.monotonic()
        *lines, self.rest = self.rest.split(b"\n")
        for line in lines:
            if line.startswith(b"{"):
                try:
                    yield json.loads(line)
                except ValueError:
                    pass
            elif line:
                yield line

    def first(self):
        while True:
            select.select([0], [], [])
            for line in self.lines():
                if isinstance(line, dict) and "begin" in line:
                    return line["begin"]
            if self.closed:
                sys.exit(0)


class Child:
    """What runs code, and the folder of its sockets."""

    def __init__(self, streams):
        self.streams = streams
        self.folder = tempfile.mkdtemp(prefix="sandbook-")
        read, write = os.pipe()
        for end in (read, write):
            os.set_blocking(end, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(write)
        self.wake = read
        self.process = None
        self.busy = False

    def start(self, *words):
        environment = {**os.environ, "JPY_PARENT_PID": str(os.getpid())}
        self.process = subprocess.Popen(
            [sys.executable, *words], stdin=subprocess.DEVNULL, stdout=2, stderr=2, env=environment,
            start_new_session=True, preexec_fn=end_with_this_process,
        )

    def interrupt(self):
        self.signal(signal.SIGINT)

    def signal(self, number):
        try:
            os.killpg(self.process.pid, number)
        except OSError:
            pass

    def run(self, idle):
        """Carries everything until the child has ended, or the owner wants it to end."""
        pollin, pollout, poller = self.poller()
        for source in (0, self.wake):
            poller.register(source, pollin)
        writing = full = False
        while True:
            if bool(self.streams.waiting) != writing:
                writing = not writing
                poller.register(self.streams.out, pollout) if writing else poller.unregister(self.streams.out)
            if (self.streams.size > FULL) != full:
                full = not full
                for source in self.sources():
                    poller.unregister(source) if full else poller.register(source, pollin)
            # a signal that came before is in the pipe
            ready = {source for source, _ in poller.poll(1000 if idle else 10_000)}
            if self.streams.out in ready:
                self.streams.write()
            if 0 in ready:
                for line in self.streams.lines():
                    self.take(line)
                if self.streams.closed:
                    return self.end()
            self.carry(ready)
            if self.wake in ready:
                os.read(self.wake, 4096)
            code = self.process.poll()
            if code is not None:
                return self.died(code)
            if self.busy:
                self.streams.heard = time.monotonic()
            if idle and time.monotonic() - self.streams.heard > idle:
                self.streams.say(idle=idle)
                return self.end()

    def take(self, line):
        if not isinstance(line, dict):
            self.pass_on(line)
        elif "interrupt" in line:
            self.interrupt()
        elif "ping" in line:
            self.streams.say(pong={"id": line["ping"], "busy": self.busy})
        elif "order" in line:
            self.order(line["order"])

    def died(self, code):
        self.last_words()
        self.streams.say(died={"signal": -code} if code < 0 else {"code": code})

    def end(self):
        self.signal(signal.SIGTERM)
        try:
            self.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            pass

    def close(self):
        try:
            self.streams.flush()
        except OSError:
            pass  # nobody is there to read it
        if self.process:
            self.signal(signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)


class Kernel(Child):
    """A real ipykernel. Its messages are passed on as they are."""

    kind = "kernel"

    def begin(self, _):
        import zmq

        self.zmq = zmq
        path, key = os.path.join(self.folder, "k"), uuid.uuid4().hex
        channels = {"shell": 1, "iopub": 2, "stdin": 3, "control": 4, "hb": 5}
        ports = {f"{name}_port": number for name, number in channels.items()}
        connection = {
            "transport": "ipc", "ip": path, "key": key, "signature_scheme": "hmac-sha256", "kernel_name": "python3", **ports
        }
        file = os.path.join(self.folder, "kernel.json")
        with open(os.open(file, os.O_WRONLY | os.O_CREAT, stat.S_IRUSR | stat.S_IWUSR), "w") as stream:
            json.dump(connection, stream)
        self.key = key.encode()
        self.context, self.sockets, self.names = zmq.Context(), {}, {}
        for name in ("shell", "control", "stdin", "iopub"):
            sink = self.context.socket(zmq.SUB if name == "iopub" else zmq.DEALER)
            sink.linger = 0
            sink.reconnect_ivl = 10
            # a kernel throws messages away that wait for somebody else
            sink.rcvhwm = sink.sndhwm = 0
            if name == "iopub":
                sink.subscribe(b"")
            else:
                sink.identity = b"sandbook"
            sink.connect(f"ipc://{path}-{channels[name]}")
            self.sockets[name], self.names[sink] = sink, name.encode()
        self.start("-m", "ipykernel_launcher", "-f", file)

    def poller(self):
        poller = self.zmq.Poller()
        for sink in self.sources():
            poller.register(sink, self.zmq.POLLIN)
        return self.zmq.POLLIN, self.zmq.POLLOUT, poller

    def sources(self):
        return list(self.sockets.values())

    def carry(self, ready):
        for sink, name in self.names.items():
            if sink in ready:
                self.messages(sink, name)

    def messages(self, sink, name):
        while self.streams.size <= FULL:
            try:
                parts = sink.recv_multipart(self.zmq.NOBLOCK)
            except self.zmq.Again:
                return
            start = parts.index(DELIMITER) + 2 if DELIMITER in parts else len(parts)
            if name == b"iopub" and start > 2 and parts[start - 3].endswith(b"status") and len(parts) > start + 3:
                self.busy = b'"busy"' in parts[start + 3]
            parts = [name, *parts[start:]]
            offsets = [WORD * (len(parts) + 2)]
            for part in parts:
                offsets.append(offsets[-1] + len(part))
            head = struct.pack(f"<{len(offsets) + 1}Q", len(offsets), *offsets)
            self.streams.frame(b"M", b"".join((head, *parts)))

    def pass_on(self, line):
        try:
            frame = base64.b64decode(line, validate=True)
            (count,) = struct.unpack_from("<Q", frame)
            offsets = struct.unpack_from(f"<{count}Q", frame, WORD)
            name, *parts = [frame[start:end] for start, end in zip(offsets, offsets[1:])]
            sink = self.sockets[name.decode()]
        except (ValueError, KeyError, struct.error):
            return
        digest = hmac.new(self.key, digestmod="sha256")
        for part in parts[:4]:
            digest.update(part)
        sink.send_multipart([DELIMITER, digest.hexdigest().encode(), *parts])

    def order(self, _):
        pass

    def last_words(self):
        """What a dead kernel had said by then."""
        poller = self.zmq.Poller()
        for sink in self.sources():
            poller.register(sink, self.zmq.POLLIN)
        while True:
            ready = {source for source, _ in poller.poll(LAST_WORDS_MS)}
            if not ready:
                return
            self.streams.flush()
            self.carry(ready)


class Driver(Child):
    """The driver of plain Python. What it and its children print comes through FIFOs, beside its frames."""

    kind = "driver"

    def begin(self, source):
        at = lambda name: os.path.join(self.folder, name)  # noqa: E731
        with open(at("driver.py"), "w", encoding="utf-8") as stream:
            stream.write(source)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(at("socket"))
        listener.listen(1)
        self.texts = {}
        for name, kind in (("stdout", b"O"), ("stderr", b"E")):
            os.mkfifo(at(name), stat.S_IRUSR | stat.S_IWUSR)
            self.texts[os.open(at(name), os.O_RDONLY | os.O_NONBLOCK)] = kind
        self.start(*map(at, ("driver.py", "socket", "stdout", "stderr")))
        listener.settimeout(60)
        self.frames, _ = listener.accept()
        self.frames.settimeout(None)
        self.half = b""

    def poller(self):
        poller = select.poll()
        for source in self.sources():
            poller.register(source, select.POLLIN)
        return select.POLLIN, select.POLLOUT, poller

    def sources(self):
        return [self.frames.fileno(), *self.texts]

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)

    def carry(self, ready):
        # the driver sends a frame once the text before it was read: text beside a frame came after it
        if self.frames.fileno() in ready and self.read_frames():
            return
        for pipe, kind in self.texts.items():
            if pipe in ready:
                self.read_text(pipe, kind)

    def read_frames(self):
        try:
            piece = self.frames.recv(CHUNK, socket.MSG_DONTWAIT)
        except (BlockingIOError, ConnectionError):
            return False
        self.half += piece
        while len(self.half) >= 4:
            (length,) = struct.unpack_from(">I", self.half)
            if len(self.half) < 4 + length:
                break
            body, self.half = self.half[4 : 4 + length], self.half[4 + length :]
            self.busy = body.startswith(b'{"started"') or self.busy and not body.startswith(b'{"end"')
            self.streams.frame(b"F", body)
        return bool(piece)

    def read_text(self, pipe, kind):
        try:
            piece = os.read(pipe, CHUNK)
        except BlockingIOError:
            return False
        if piece:
            self.streams.frame(kind, piece)
        return bool(piece)

    def order(self, order):
        body = json.dumps(order).encode()
        try:
            self.frames.sendall(struct.pack(">I", len(body)) + body)
        except OSError:
            pass

    def pass_on(self, _):
        pass

    def last_words(self):
        while self.read_frames() or any([self.read_text(pipe, kind) for pipe, kind in self.texts.items()]):
            self.streams.flush()


def main():
    streams = Streams()
    begin, child = streams.first(), None
    try:
        folder = begin.get("folder")
        if folder and not os.path.isdir(folder):
            streams.say(missing=folder)
            return streams.flush()
        if folder:
            os.chdir(folder)
        has_kernel = importlib.util.find_spec("ipykernel") is not None and not begin.get("plain")
        child = (Kernel if has_kernel else Driver)(streams)
        child.begin(begin.get("driver"))
    except Exception as error:
        streams.say(failed=f"{type(error).__name__}: {error}")
        streams.flush()
        if child:
            child.close()
        return
    streams.say(hello={"kind": child.kind, "python": sys.version.split()[0], "folder": os.getcwd()})
    try:
        child.run(begin.get("idle"))
    finally:
        child.close()


main()

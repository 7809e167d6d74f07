"""The floors: jupyter_client and plain sockets on the same work, everything that arrives read and thrown away.

    raw.py websocket SERVER TOKEN KERNEL -n N    1+1 through a Jupyter server, acknowledging at once
    raw.py zeromq CONNECTION_FILE -n N           1+1 through ZeroMQ
    raw.py kernels -n N                          start and stop kernels
    raw.py run -n N < CODE                       the code on a new kernel, N times
    raw.py code_sandboxes -n N                   1+1 through code-sandboxes and the server that it starts (a peer, no floor)

Each prints one JSON object; times are in seconds.
"""

import argparse
import contextlib
import json
import os
import socket
import struct
import sys
import tempfile
import time
import uuid

import websocket
import zmq
from jupyter_client import BlockingKernelClient, KernelManager
from jupyter_client.session import Session

REQUEST = {"silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": False, "stop_on_error": True}
QUICK = getattr(socket, "TCP_QUICKACK", 12)
now = time.perf_counter


class ZeroMq:
    def __init__(self, session: Session, shell, iopub):
        self.session, self.shell, self.iopub = session, shell, iopub
        self.poller = zmq.Poller()
        self.poller.register(shell, zmq.POLLIN)
        self.poller.register(iopub, zmq.POLLIN)

    def settle(self):
        """Runs code until its output arrives as well: a subscription takes effect late."""
        while self.run("1", limit=0.3) is None:
            pass

    def run(self, code, limit=300.0):
        """From the request until both the reply and idle have come; None if that takes longer."""
        start = now()
        sent = self.session.send(self.shell, "execute_request", {"code": code, **REQUEST})["header"]["msg_id"]
        replied = idle = False
        while not (replied and idle):
            if now() - start > limit:
                return None
            for readable, _ in self.poller.poll(100):
                _, message = self.session.recv(readable, mode=0)
                if message["parent_header"].get("msg_id") != sent:
                    continue
                if readable is self.shell:
                    replied = True
                elif message["msg_type"] == "status":
                    idle = message["content"]["execution_state"] == "idle"
        return now() - start


class WebSocket:
    """A kernel's WebSocket in the framing that JupyterLab speaks."""

    def __init__(self, server, token, kernel):
        self.session = uuid.uuid4().hex
        address = server.replace("http", "ws", 1).rstrip("/")
        self.socket = websocket.create_connection(
            f"{address}/api/kernels/{kernel}/channels?session_id={self.session}",
            header=[f"Authorization: token {token}"],
            subprotocols=["v1.kernel.websocket.jupyter.org"],
            timeout=300,
            skip_utf8_validation=True,
        )
        self._acknowledge()

    def _acknowledge(self):
        # Without it each small frame waits for the other side's delayed acknowledgement, 40 ms.
        self.socket.sock.setsockopt(socket.IPPROTO_TCP, QUICK, 1)

    def _send(self, header, content):
        parts = [b"shell", json.dumps(header).encode(), b"{}", b"{}", json.dumps(content).encode()]
        offsets = [8 * (len(parts) + 2)]
        for part in parts:
            offsets.append(offsets[-1] + len(part))
        self.socket.send_binary(struct.pack(f"<{len(offsets) + 1}Q", len(offsets), *offsets) + b"".join(parts))

    def _receive(self):
        _, data = self.socket.recv_data()
        self._acknowledge()
        count = struct.unpack_from("<Q", data)[0]
        at = struct.unpack_from(f"<{count}Q", data, 8)
        part = [data[at[i] : at[i + 1]] for i in range(count - 1)]
        return part[0], json.loads(part[1])["msg_type"], json.loads(part[2]), json.loads(part[4])

    def run(self, code):
        sent = uuid.uuid4().hex
        header = {"msg_id": sent, "msg_type": "execute_request", "session": self.session, "username": "bench"}
        start = now()
        self._send({**header, "version": "5.3", "date": "2000-01-01T00:00:00Z"}, {"code": code, **REQUEST})
        replied = idle = False
        while not (replied and idle):
            channel, kind, parent, content = self._receive()
            if parent.get("msg_id") != sent:
                continue
            if channel == b"shell":
                replied = True
            elif kind == "status":
                idle = content["execution_state"] == "idle"
        return now() - start


def start_kernel():
    """A kernel, and how long it took from its start to its first reply."""
    manager = KernelManager(kernel_name="python3")
    start = now()
    manager.start_kernel()
    shell = manager.connect_shell()
    sent = manager.session.send(shell, "kernel_info_request", {})["header"]["msg_id"]
    while True:
        _, reply = manager.session.recv(shell, mode=0)
        if reply["parent_header"].get("msg_id") == sent:
            return manager, shell, now() - start


def kernels(arguments):
    starts, stops = [], []
    for _ in range(arguments.n):
        manager, shell, took = start_kernel()
        starts.append(took)
        start = now()
        manager.shutdown_kernel(now=False)
        stops.append(now() - start)
        shell.close(0)
    return {"start": starts, "stop": stops}


def run(arguments):
    code = sys.stdin.read()
    manager, shell, _ = start_kernel()
    client = ZeroMq(manager.session, shell, manager.connect_iopub())
    client.settle()
    times = [client.run(code) for _ in range(arguments.n)]
    manager.shutdown_kernel(now=True)
    return {"run": times}


def over_zeromq(arguments):
    client = BlockingKernelClient(connection_file=arguments.words[0])
    client.load_connection_file()
    raw = ZeroMq(client.session, client.connect_shell(), client.connect_iopub())
    raw.settle()
    return {"run": [raw.run("1+1") for _ in range(arguments.n)]}


def over_websocket(arguments):
    raw = WebSocket(*arguments.words)
    raw.run("1")
    return {"run": [raw.run("1+1") for _ in range(arguments.n)]}


def through_code_sandboxes(arguments):
    from code_sandboxes import Sandbox

    # It does not pass --allow-root on, so where root measures, a settings file has to.
    with tempfile.TemporaryDirectory() as settings:
        with open(f"{settings}/jupyter_server_config.json", "w") as file:
            file.write('{"ServerApp": {"allow_root": true}}')
        os.environ["JUPYTER_CONFIG_DIR"] = settings
        # What it prints about itself would come before the numbers.
        with contextlib.redirect_stdout(sys.stderr):
            sandbox = Sandbox.create(variant="jupyter-server", timeout=60)
            if not getattr(sandbox, "_started", True):
                sandbox.start()
            try:
                sandbox.run_code("1")
                times = []
                for _ in range(arguments.n):
                    start = now()
                    sandbox.run_code("1+1")
                    times.append(now() - start)
            finally:
                sandbox.stop()
    return {"run": times}


MEASURES = {
    "websocket": over_websocket,
    "zeromq": over_zeromq,
    "kernels": kernels,
    "run": run,
    "code_sandboxes": through_code_sandboxes,
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("measure", choices=list(MEASURES))
    parser.add_argument("words", nargs="*")
    parser.add_argument("-n", type=int, default=1)
    given = parser.parse_args()
    print(json.dumps(MEASURES[given.measure](given)))

"""Stands in for a Docker engine: as much of its API as `opensandbox-server` 1.1.1 asks for, with programs of this computer
as containers (`container.py`).

Verified: the real server starts on it, makes, pauses, renews, lists and removes sandboxes, and its client `opensandbox`
1.1.1 passes. Absent by nature: isolation, networks, limits, images. What an image brings is written here ([`IMAGES`]).

A container's own loopback is this computer's, so that the port of its Jupyter server is chosen anew for each, and execd is
told where it is. An engine of containers would need neither.
"""

import base64
import io
import json
import os
import re
import shutil
import socket
import socketserver
import subprocess
import sys
import tarfile
import threading
import time
import uuid
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

HERE = Path(__file__).parent
EXECD = "opensandbox/execd:v1.1.0"
JUPYTER_PORT = 44771

# As the code-interpreter image has it: a Jupyter server on the sandbox's own loopback, by token.
INTERPRETER = """#!/bin/sh
export JUPYTER_CONFIG_DIR="$PWD/.jupyter" JUPYTER_RUNTIME_DIR="$PWD/.runtime" JUPYTER_NO_CONFIG=1 IPYTHONDIR="$PWD/.ipython"
exec {python} -m jupyter_server --no-browser --allow-root --ServerApp.ip=127.0.0.1 --ServerApp.port_retries=0 \\
  --ServerApp.port="$JUPYTER_PORT" --IdentityProvider.token="${{JUPYTER_TOKEN:-opensandboxcodeinterpreterjupyter}}" \\
  --ZMQChannelsWebsocketConnection.iopub_data_rate_limit=0 --ZMQChannelsWebsocketConnection.iopub_msg_rate_limit=0
"""
AT = "opt/code-interpreter/code-interpreter.sh"
IMAGES: dict[str, dict[str, str]] = {
    EXECD: {"execd": "#!/bin/sh\nexec {python} -B {here}/execd.py \"$@\"\n", "bootstrap.sh": '#!/bin/sh\nexec "$@"\n'},
    "opensandbox/code-interpreter:v1.1.0": {AT: INTERPRETER},
    # for what can go wrong: a sandbox that ends at once, one without a Jupyter server, one that is long in the making
    "sandbook/ends-at-once:1": {AT: "#!/bin/sh\necho 'no kernel could be installed' >&2\nexit 3\n"},
    "sandbook/no-server:1": {AT: "#!/bin/sh\nexec sleep 100000\n"},
    "sandbook/slow:1": {AT: INTERPRETER},
}
SLOW = 4.0


def now() -> str:
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


class Container:
    def __init__(self, folder: Path, name: str, body: dict) -> None:
        self.id = uuid.uuid4().hex * 2
        self.name, self.body, self.created = name, body, now()
        self.labels = body.get("Labels") or {}
        self.root = folder / self.id[:12]
        (self.root / "workspace").mkdir(parents=True)
        self.process: subprocess.Popen | None = None
        self.paused = False
        self.state = "created"
        for path, text in IMAGES[body["Image"]].items():
            file = self.root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text.format(python=sys.executable, here=HERE))
            file.chmod(0o755)

    def start(self) -> None:
        self.state = "running"
        if self.body["Image"] == EXECD:
            return
        bound = (self.body.get("HostConfig") or {}).get("PortBindings", {}).get("44772/tcp")
        inside = free_port()
        environment = os.environ | dict(pair.split("=", 1) for pair in self.body.get("Env") or [])
        environment |= {"JUPYTER_PORT": str(inside)}
        words = [sys.executable, "-B", str(HERE / "container.py"), str(self.root), bound[0]["HostPort"]]
        words += [f"{JUPYTER_PORT}={inside}", "--", *(self.body.get("Cmd") or [])]
        log = (self.root / "log").open("wb")
        self.process = subprocess.Popen(words, env=environment, stdin=subprocess.PIPE, stdout=log, stderr=log)
        if self.body["Image"] == "sandbook/slow:1":
            time.sleep(SLOW)

    def look(self) -> dict:
        code = self.process.poll() if self.process else None
        if code is not None and self.state == "running":
            self.state = "exited"
        status = "paused" if self.paused and self.state == "running" else self.state
        return {"Status": status, "Running": self.state == "running", "Paused": status == "paused", "Restarting": False,
                "ExitCode": code or 0, "FinishedAt": now() if self.state == "exited" else "0001-01-01T00:00:00Z"}  # fmt: skip

    def tell(self, word: str) -> None:
        self.paused = word == "pause"
        if self.process:
            self.process.stdin.write(f"{word}\n".encode())
            self.process.stdin.flush()

    def stop(self) -> None:
        self.state = "exited"
        if self.process:
            self.process.stdin.close()
            self.process.wait()

    def described(self) -> dict:
        config = {"Image": self.body["Image"], "Cmd": self.body.get("Cmd"), "Entrypoint": self.body.get("Entrypoint"),
                  "Env": self.body.get("Env") or [], "Labels": self.labels, "Tty": False}  # fmt: skip
        networks = {"IPAddress": "127.0.0.1", "Networks": {"bridge": {"IPAddress": "127.0.0.1"}}}
        return {"Id": self.id, "Name": "/" + self.name, "Created": self.created, "Image": image(self.body["Image"])["Id"],
                "Config": config, "HostConfig": self.body.get("HostConfig") or {}, "State": self.look(),
                "NetworkSettings": networks, "Platform": "linux"}  # fmt: skip


def image(name: str) -> dict:
    digest = uuid.uuid5(uuid.NAMESPACE_URL, name).hex * 2
    config = {"Labels": None, "Cmd": None, "Entrypoint": None}
    return {"Id": "sha256:" + digest, "RepoTags": [name], "Os": "linux", "Architecture": "amd64", "Config": config,
            "Created": now(), "Size": 1}  # fmt: skip


class Engine:
    """The containers, and what can be asked of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.containers: dict[str, Container] = {}

    def find(self, name: str) -> Container | None:
        of_name = (c for c in self.containers.values() if c.id.startswith(name) or c.name == name)
        return next(of_name, None)

    def end(self) -> None:
        for container in list(self.containers.values()):
            container.stop()

    def answer(self, method: str, path: str, query: dict[str, str], body: bytes) -> tuple[int, object]:
        if path in ("/_ping", "/version", "/info"):
            return 200, {"Version": "28.2.2", "ApiVersion": "1.50", "MinAPIVersion": "1.24", "Os": "linux", "Arch": "amd64",
                         "OSType": "linux", "Architecture": "x86_64", "ServerVersion": "28.2.2", "Components": [],
                         "Runtimes": {"runc": {}}, "DefaultRuntime": "runc"}  # fmt: skip
        if path == "/containers/json":
            return 200, self.listed(json.loads(query.get("filters", "{}")).get("label", []))
        if path == "/containers/create":
            return self.create(query.get("name", ""), json.loads(body))
        if path == "/commit":
            IMAGES[f"{query['repo']}:{query.get('tag', 'latest')}"] = IMAGES[self.find(query["container"]).body["Image"]]
            return 201, {"Id": image(f"{query['repo']}:{query.get('tag', 'latest')}")["Id"]}
        if path == "/images/create":
            return 404, {"message": f"pull access denied for {query.get('fromImage')}, repository does not exist"}
        if (found := re.fullmatch("/images/(.+?)(/json)?", path)) is not None:
            return self.of_image(method, unquote(found[1]))
        if (found := re.fullmatch("/containers/([^/]+)(?:/([a-z]+))?", path)) is not None:
            container = self.find(unquote(found[1]))
            if container is None:
                return 404, {"message": f"No such container: {found[1]}"}
            return self.of_container(method, container, found[2], query, body)
        return 404, {"message": f"page not found: {method} {path}"}

    def listed(self, labels: list[str]) -> list[dict]:
        def has(container: Container, label: str) -> bool:
            name, _, value = label.partition("=")
            return name in container.labels and ("=" not in label or container.labels[name] == value)

        chosen = [c for c in self.containers.values() if all(has(c, label) for label in labels)]
        return [{"Id": c.id, "Names": ["/" + c.name], "Image": c.body["Image"], "Labels": c.labels,
                 "State": c.look()["Status"]} for c in chosen]  # fmt: skip

    def create(self, name: str, body: dict) -> tuple[int, object]:
        if body["Image"] not in IMAGES:
            return 404, {"message": f"No such image: {body['Image']}"}
        container = Container(self.folder, name, body)
        self.containers[container.id] = container
        return 201, {"Id": container.id, "Warnings": []}

    def of_image(self, method: str, name: str) -> tuple[int, object]:
        digest = name.removeprefix("sha256:")
        name = next((known for known in IMAGES if image(known)["Id"].endswith(digest) and len(digest) == 64), name)
        if name not in IMAGES:
            return 404, {"message": f"No such image: {name}"}
        if method == "DELETE":
            del IMAGES[name]
            return 200, [{"Deleted": name}]
        return 200, image(name)

    def of_container(self, method: str, of: Container, action: str | None, query: dict, body: bytes) -> tuple[int, object]:
        if method == "DELETE":
            of.stop()
            del self.containers[of.id]
            shutil.rmtree(of.root, ignore_errors=True)
        elif action == "json":
            return 200, of.described()
        elif action == "archive":
            return self.archive(method, of, query["path"], body)
        elif action == "logs":
            said = (of.root / "log").read_bytes() if (of.root / "log").exists() else b""
            return 200, b"\x01\0\0\0" + len(said).to_bytes(4, "big") + said
        elif action == "start":
            of.start()
        elif action in ("kill", "stop"):
            if of.look()["Status"] == "exited":
                return 409, {"message": f"container {of.id} is not running"}
            of.stop()
        elif action in ("pause", "unpause"):
            of.tell("pause" if action == "pause" else "resume")
        elif action == "update":
            of.labels = json.loads(body).get("Labels", of.labels)
            return 200, {"Warnings": []}
        else:
            return 404, {"message": f"page not found: {method} {action}"}
        return 204, None

    @staticmethod
    def archive(method: str, of: Container, path: str, body: bytes) -> tuple[int, object]:
        file = of.root / path.lstrip("/")
        if method == "PUT":
            file.mkdir(parents=True, exist_ok=True)
            tarfile.open(fileobj=io.BytesIO(body)).extractall(file, filter="fully_trusted")
            return 200, None
        if not file.exists():
            return 404, {"message": f"Could not find the file {path} in container"}
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            archive.add(file, arcname=file.name)
        return 200, packed.getvalue()


class Asked(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do(self) -> None:
        address = urlsplit(self.path)
        path = re.sub(r"^/v\d+\.\d+", "", address.path)
        status, answer = self.server.engine.answer(self.command, path, dict(parse_qsl(address.query)), self.body())
        raw = answer if isinstance(answer, bytes) else b"" if answer is None else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/x-tar" if isinstance(answer, bytes) else "application/json")
        if isinstance(answer, bytes):
            stat = {"name": "file", "size": 1, "mode": 493, "mtime": now(), "linkTarget": ""}
            self.send_header("X-Docker-Container-Path-Stat", base64.b64encode(json.dumps(stat).encode()).decode())
        if status != 204:
            self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        if status != 204:
            self.wfile.write(raw)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do

    def body(self) -> bytes:
        if (length := self.headers.get("Content-Length")) is not None:
            return self.rfile.read(int(length))
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return b""
        whole = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            whole += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return whole

    def address_string(self) -> str:
        return "unix"

    def log_message(self, *_: object) -> None:
        pass


class Listener(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


def serve(path: Path, folder: Path) -> Engine:
    """Listens on a Unix socket, in a thread of its own."""
    listener = Listener(str(path), Asked)
    listener.engine = Engine(folder)
    threading.Thread(target=listener.serve_forever, daemon=True).start()
    return listener.engine

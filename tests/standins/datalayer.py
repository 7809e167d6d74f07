"""Stands in for the Datalayer platform, with its runtimes' kernels on one real Jupyter server.

The platform's API is below `/api/iam/v1` and `/api/runtimes/v1`; a runtime's ingress is `/jupyter/server/POOL/NAME`, which
shows of the Jupyter server what is that runtime's. Credits, reservations and ends are computed by the clock.

Verified, in the source of the official clients (datalayer_core 1.2.25, agent_runtimes 1.5.85, code_sandboxes 1.10.0) and by
running them against this file:
  - the paths, the fields that are sent and read, the account's key as a bearer token in each request
  - a create is not idempotent; `given_name` is what a runtime is found by after an answer that got lost
  - `credits_limit` is the rate in credits a second times seconds; moments are texts that hold seconds since 1970
  - 503 with `retry_after_seconds` where there is no room; `success: false` with a `message` where something is refused
  - a runtime's own token, as a bearer token, or as `token` in the query, of the WebSocket always there
  - a kernel waits in a new runtime, and the official client takes that one
  - pausing and resuming is answered with 202; a snapshot is named at `from` when a runtime is made

Guesses:
  - 402 for too few credits, 401 and 404 with a `message`, 201 for what was made, 204 for what was ended
  - that a paused runtime is in no list, answers 503 and loses its connections, and that its kernel stands still
  - what a snapshot holds (here: the public variables that can be pickled), and that it is restored before the answer comes
  - names, machines and prices of the environments; the field `state`
  - that a runtime is in the list as soon as its creation has begun

Arguments: SERVER SERVER_TOKEN KEY [credits=…] [lives=SECONDS] [warm-up=SECONDS]
A test asks `/__door/` for `seen`, `drop`, `runtimes` (the given names that live), `orders` (the bodies of creates),
`unsigned` (requests without a good key), `fault?next=lost|unmade|full|twice` (for the next create: made, but the answer is lost;
lost and not made; no room; made twice), `key?is=…` (another key is good from now on), `credits?left=…` and `expire`.
"""

import asyncio
import json
import os
import secrets
import signal
import sys
import time

import aiohttp
from door import Answer, Door, Request

POOL = "pool"
IAM, RUNTIMES = "/api/iam/v1/", "/api/runtimes/v1/"
INGRESS = f"/jupyter/server/{POOL}/"

DUMP = """
def _dump():
    import base64, pickle, types
    skip = (type, types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.ModuleType)
    kept = {}
    for name, value in list(globals().items()):
        if name.startswith("_") or name in ("In", "Out", "exit", "quit", "get_ipython", "open") or isinstance(value, skip):
            continue
        try:
            kept[name] = pickle.dumps(value)
        except Exception:
            pass
    return base64.b64encode(pickle.dumps(kept)).decode()
_dump()
"""
LOAD = """
def _load(text):
    import base64, pickle
    for name, value in pickle.loads(base64.b64decode(text)).items():
        globals()[name] = pickle.loads(value)
_load(%r)
"""


def environment(name: str, title: str, rate: float, **resources: str) -> dict:
    machine = {kind.replace("gpu", "nvidia.com/gpu"): {"default": size} for kind, size in resources.items()}
    return {
        "name": name, "title": title, "description": title, "language": "python", "owner": "datalayer",
        "visibility": "public", "burning_rate": rate, "resources": machine, "enabled": True,
    }


ENVIRONMENTS = {
    each["name"]: each
    for each in (
        environment("ai-agents-env", "AI Agents", 0.02, cpu="1", memory="2Gi"),
        environment("python-cpu-env", "Python CPU", 0.017, cpu="2", memory="4Gi"),
        environment("ai-env", "AI GPU", 0.5, cpu="4", memory="16Gi", gpu="1"),
    )
}


class Runtime:
    """One that was made, with a kernel of the server's."""

    def __init__(self, order: dict, lives: float | None, warm_up: float) -> None:
        self.name = secrets.token_hex(13)
        self.given_name = order.get("given_name") or self.name
        self.environment = ENVIRONMENTS[order["environment"]["name"]]
        self.rate = self.environment["burning_rate"]
        self.limit = float(order["credits_limit"])
        self.token = secrets.token_hex(24)
        self.started = time.time()
        self.ends = self.started + (lives or self.limit / self.rate)
        self.ready = self.started + warm_up
        self.state = "running"
        self.kernels: list[str] = []
        self.process = 0
        self.writers: set[asyncio.StreamWriter] = set()

    def spent(self) -> float:
        return min(self.limit, (time.time() - self.started) * self.rate)

    def told(self, origin: str) -> dict:
        return {
            "uid": self.name.upper(), "runtime_name": self.name, "given_name": self.given_name, "type": "notebook",
            "environment": {name: self.environment[name] for name in ("name", "title")},
            "ingress": f"{origin}{INGRESS}{self.name}", "token": self.token, "reservation_id": self.name,
            "burning_rate": self.rate, "credits_limit": self.limit, "state": self.state,
            "started_at": f"{self.started:.6f}", "expired_at": f"{self.ends:.6f}",
        }


class Datalayer(Door):
    def __init__(self, server: str, server_token: str, key: str, *options: str) -> None:
        super().__init__(server, server_token)
        given = dict(option.split("=", 1) for option in options)
        self.key = key
        self.credits = float(given.get("credits", 1000))
        self.lives = float(given["lives"]) if "lives" in given else None
        self.warm_up = float(given.get("warm-up", 0))
        self.runtimes: dict[str, Runtime] = {}
        self.snapshots: dict[str, dict] = {}
        self.orders: list[dict] = []
        self.fault = ""
        self.unsigned = 0

    # what a test asks

    def asked(self, request: Request) -> object:
        what = request.path.rsplit("/", 1)[-1]
        if what == "runtimes":
            return [runtime.given_name for runtime in self.runtimes.values()]
        if what in ("orders", "unsigned"):
            return getattr(self, what)
        if what == "fault":
            self.fault = request.parameter("next") or ""
        elif what == "key":
            self.key = request.parameter("is") or ""
        elif what == "credits":
            self.credits = float(request.parameter("left") or 0)
        elif what == "expire":
            for runtime in self.runtimes.values():
                runtime.ends = 0
        else:
            return super().asked(request)
        return True

    # the platform

    def wants_body(self, request: Request) -> bool:
        return request.path.startswith((IAM, RUNTIMES)) or self.starts_kernel(request)

    def starts_kernel(self, request: Request) -> bool:
        return request.method == "POST" and request.path.startswith(INGRESS) and request.path.endswith("/api/kernels")

    async def connect(self, request: Request) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if request.path.startswith((IAM, RUNTIMES)):
            self.seen.append(f"{request.method} {request.path}")
            await self.end_the_spent()
            raise await self.platform(request)
        if request.path.startswith(INGRESS):
            await self.end_the_spent()
            await self.answer_kernels(request)
        return await super().connect(request)

    async def platform(self, request: Request) -> Answer:
        body = json.loads(request.body or b"{}")
        if request.path in (IAM + "login", IAM + "authentication/login"):
            good = body.get("token") == self.key
            return told(201, token=self.key, user=PERSON) if good else refused(401, "Invalid credentials")
        if request.header("authorization") != f"Bearer {self.key}":
            self.unsigned += 1
            return refused(401, "Unauthorized")
        origin = f"http://{request.header('host')}"
        match [request.method, *request.path.removeprefix("/api/").split("/")]:
            case ["GET", "iam", "v1", "whoami"]:
                return told(200, profile=PERSON)
            case ["GET", "iam", "v1", "usage", "credits"]:
                reserved = [{"id": each.name, "credits": each.limit} for each in self.runtimes.values()]
                return told(200, credits={"credits": self.credits, "quota": None}, reservations=reserved)
            case ["GET", "runtimes", "v1", "environments"]:
                return told(200, environments=list(ENVIRONMENTS.values()))
            case ["GET", "runtimes", "v1", "runtimes"]:
                running = [each for each in self.runtimes.values() if each.state == "running"]
                return told(200, runtimes=[each.told(origin) for each in running])
            case ["POST", "runtimes", "v1", "runtimes"]:
                return await self.create(body, origin)
            case [method, "runtimes", "v1", "runtimes", name, *action] if name in self.runtimes:
                return await self.of_runtime(method, self.runtimes[name], action, origin)
            case ["POST", "runtimes", "v1", "sandbox-snapshots"]:
                return await self.take_snapshot(body)
            case ["GET", "runtimes", "v1", "sandbox-snapshots"]:
                return told(200, snapshots=[without_state(each) for each in self.snapshots.values()])
            case ["DELETE", "runtimes", "v1", "sandbox-snapshots", uid] if self.snapshots.pop(uid, None):
                return Answer(204)
        return refused(404, "Runtime not found.")

    async def create(self, order: dict, origin: str) -> Answer:
        self.orders.append(order)
        fault, self.fault = self.fault, ""
        if order.get("environment", {}).get("name") not in ENVIRONMENTS:
            return refused(404, "Environment not found.")
        if fault == "full":
            return refused(503, "No runtime available.", reason="no_capacity", retry_after_seconds=0.1)
        if fault == "unmade":
            raise ConnectionError
        left = self.credits - sum(each.limit for each in self.runtimes.values())
        if not 0 < float(order["credits_limit"]) <= left:
            return refused(402, f"Not enough credits: {left:.3f} available.")
        snapshot = self.snapshots.get(order.get("from", ""))
        if "from" in order and snapshot is None:
            return refused(404, "Snapshot not found.")
        runtime = await self.begin(order, snapshot)
        if fault == "twice":
            await self.begin(order, snapshot)
        if fault in ("lost", "twice"):
            raise ConnectionError
        return told(201, runtime=runtime.told(origin))

    async def begin(self, order: dict, snapshot: dict | None) -> Runtime:
        runtime = Runtime(order, self.lives, self.warm_up)
        self.runtimes[runtime.name] = runtime
        kernel = (await self.ask("POST", "kernels", {}))["id"]
        runtime.kernels.append(kernel)
        runtime.process = int(await self.run(kernel, "__import__('os').getpid()"))
        if snapshot:
            await self.run(kernel, LOAD % snapshot["state"])
        return runtime

    async def of_runtime(self, method: str, runtime: Runtime, action: list[str], origin: str) -> Answer:
        match [method, *action]:
            case ["GET"]:
                return told(200, runtime=runtime.told(origin))
            case ["DELETE"]:
                await self.end(runtime)
                return Answer(204)
            case ["POST", "pause"]:
                runtime.state = "paused"
                os.kill(runtime.process, signal.SIGSTOP)
                cut(runtime)
                return told(202, checkpoint_id=runtime.name)
            case ["POST", "resume"]:
                os.kill(runtime.process, signal.SIGCONT)
                runtime.state = "running"
                return told(202, checkpoint_id=runtime.name)
        return refused(404, "Not found.")

    async def take_snapshot(self, body: dict) -> Answer:
        runtime = self.runtimes.get(body.get("runtime_name", ""))
        if runtime is None:
            return refused(404, "Runtime not found.")
        state = (await self.run(runtime.kernels[0], DUMP)).strip("'")
        snapshot = {
            "uid": secrets.token_hex(13), "name": body.get("name", ""), "description": body.get("description", ""),
            "environment": runtime.environment["name"], "metadata": {}, "updated_at": f"{time.time():.6f}", "state": state,
        }
        self.snapshots[snapshot["uid"]] = snapshot
        if body.get("stop", False):
            await self.end(runtime)
        return told(201, snapshot=without_state(snapshot))

    async def end_the_spent(self) -> None:
        for runtime in [each for each in self.runtimes.values() if each.ends <= time.time()]:
            await self.end(runtime)

    async def end(self, runtime: Runtime) -> None:
        self.credits -= runtime.spent()
        self.runtimes.pop(runtime.name, None)
        if runtime.state == "paused":
            os.kill(runtime.process, signal.SIGCONT)
        cut(runtime)
        for kernel in runtime.kernels:
            await self.ask("DELETE", f"kernels/{kernel}")

    # a runtime's ingress

    def admit(self, request: Request) -> tuple[str, list[tuple[str, str]]]:
        name, _, rest = request.path.removeprefix(INGRESS).partition("/")
        runtime = self.runtimes.get(name)
        if runtime is None:
            raise Answer(404, "no such runtime")
        if time.time() < runtime.ready or runtime.state != "running":
            raise Answer(503, "warming up")
        header = request.header("authorization") or ""
        shown = request.parameter("token") or header.removeprefix("Bearer ").removeprefix("token ")
        if shown != runtime.token:
            raise Answer(403, json.dumps({"message": "Forbidden"}), "application/json")
        of_kernel = rest.removeprefix("api/kernels/").split("/")[0]
        if rest.startswith("api/kernels/") and of_kernel not in runtime.kernels:
            raise Answer(404, json.dumps({"message": "Kernel does not exist", "reason": None}), "application/json")
        return "/" + rest, [pair for pair in request.query if pair[0] != "token"]

    async def answer_kernels(self, request: Request) -> None:
        """Of the server's kernels a runtime shows its own."""
        name, _, rest = request.path.removeprefix(INGRESS).partition("/")
        if rest != "api/kernels" or request.method not in ("GET", "POST"):
            return
        self.admit(request)
        self.seen.append(f"{request.method} {request.path}")
        runtime = self.runtimes[name]
        if request.method == "POST":
            kernel = await self.ask("POST", "kernels", json.loads(request.body or b"{}"))
            runtime.kernels.append(kernel["id"])
            raise Answer(201, json.dumps(kernel), "application/json")
        kernels = [each for each in await self.ask("GET", "kernels") if each["id"] in runtime.kernels]
        raise Answer(200, json.dumps(kernels), "application/json")

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await super().carry(reader, writer)
        for runtime in self.runtimes.values():
            runtime.writers.discard(writer)

    def opened(self, request: Request, writer: asyncio.StreamWriter) -> None:
        name = request.path.removeprefix(INGRESS).partition("/")[0]
        if runtime := self.runtimes.get(name):
            runtime.writers.add(writer)

    # the Jupyter server

    async def ask(self, method: str, path: str, body: dict | None = None) -> object:
        headers = {"Authorization": f"token {self.server_token}"}
        url = f"http://{self.server.netloc}/api/{path}"
        async with aiohttp.ClientSession(headers=headers) as http, http.request(method, url, json=body) as answer:
            return await answer.json() if answer.status in (200, 201) else None

    async def run(self, kernel: str, code: str) -> str:
        """What code is worth in a kernel."""
        headers = {"Authorization": f"token {self.server_token}"}
        url = f"http://{self.server.netloc}/api/kernels/{kernel}/channels"
        content = {"code": code, "silent": False, "store_history": False, "user_expressions": {}, "allow_stdin": False}
        header = {"msg_id": secrets.token_hex(8), "msg_type": "execute_request", "username": "", "session": "", "version": "5.3"}
        message = {"header": header, "parent_header": {}, "metadata": {}, "content": content, "channel": "shell"}
        worth, is_over = "", set()
        async with aiohttp.ClientSession(headers=headers) as http, http.ws_connect(url, max_msg_size=0) as socket:
            await socket.send_json(message)
            while is_over != {"reply", "idle"}:
                told = await socket.receive_json()
                if told["parent_header"].get("msg_id") != header["msg_id"]:
                    continue
                if told["msg_type"] == "execute_result":
                    worth = told["content"]["data"]["text/plain"]
                if told["msg_type"] == "execute_reply":
                    is_over.add("reply")
                if told["msg_type"] == "status" and told["content"]["execution_state"] == "idle":
                    is_over.add("idle")
        return worth


PERSON = {
    "id": "1", "uid": "01", "handle_s": "somebody", "email_s": "somebody@example.org", "first_name_t": "Some",
    "last_name_t": "Body", "type_s": "user", "origin_s": "datalayer", "roles_ss": ["platform_member"],
    "creation_ts_dt": "2026-01-01T00:00:00Z", "last_update_ts_dt": "2026-01-01T00:00:00Z",
}


def told(status: int, **fields: object) -> Answer:
    return Answer(status, json.dumps({"success": True, "message": "", **fields}), "application/json")


def refused(status: int, message: str, **fields: object) -> Answer:
    return Answer(status, json.dumps({"success": False, "message": message, **fields}), "application/json")


def without_state(snapshot: dict) -> dict:
    return {name: value for name, value in snapshot.items() if name != "state"}


def cut(runtime: Runtime) -> None:
    for writer in list(runtime.writers):
        writer.transport.abort()


if __name__ == "__main__":
    asyncio.run(Datalayer(*sys.argv[1:]).serve())

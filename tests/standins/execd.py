"""Stands in for execd, the daemon that OpenSandbox puts into each sandbox: commands, files, metrics, and a proxy to what
listens on the sandbox's own loopback. Written so that a server surface can grow out of it.

Verified, against execd as of June 2026 and by the client `opensandbox` 1.1.1, which passes on this in the tests:
  - the header `X-EXECD-ACCESS-TOKEN` is wanted if `EXECD_ACCESS_TOKEN` is set; without it comes `401 {"error": …}`
  - events of a command are bare JSON objects with an empty line between them; a line of output has no newline, an empty
    one is "\\n"; an exit code other than 0 is an `error` whose `evalue` is the code
  - uploads are pairs of parts, `metadata` and `file`; `mode` is octal digits as a decimal number
  - `/proxy/PORT/…` leads to 127.0.0.1:PORT, WebSockets too

Guess: that releases after June 2026 do the same. None was seen.

Absent: `/code`, shells that stay (`/session`), terminals (`/pty`), isolated sessions.

    execd.py --port PORT [--port-of 44771=PORT …]     # where a port of the sandbox's loopback really is
"""

import argparse
import asyncio
import fnmatch
import json
import os
import shutil
import time
import uuid
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

from aiohttp import web

from execd_proxy import EXECD, Proxy

TOKEN = os.environ.get("EXECD_ACCESS_TOKEN", "")
routes = web.RouteTableDef()
jobs: dict[str, "Job"] = {}


def failure(status: int, code: str, message: str) -> web.Response:
    return web.json_response({"code": code, "message": message}, status=status)


@web.middleware
async def only_with_token(request: web.Request, handler: object) -> web.StreamResponse:
    if TOKEN and request.headers.get("X-EXECD-ACCESS-TOKEN") != TOKEN:
        return web.json_response({"error": "Unauthorized: invalid or missing X-EXECD-ACCESS-TOKEN"}, status=401)
    return await handler(request)


@routes.get("/ping")
async def ping(_: web.Request) -> web.Response:
    return web.json_response({})


# commands


class Job:
    """A command that runs or ran."""

    def __init__(self, command: str, process: asyncio.subprocess.Process) -> None:
        self.command, self.process = command, process
        self.output = b""
        self.started, self.finished = datetime.now(UTC), None

    async def kill(self) -> None:
        try:
            os.killpg(self.process.pid, 9)
        except ProcessLookupError:
            pass


async def start(body: dict[str, object]) -> tuple[str, Job]:
    environment = os.environ | {str(k): str(v) for k, v in (body.get("envs") or {}).items()}
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_shell(
        str(body["command"]), cwd=body.get("cwd") or None, env=environment, start_new_session=True,
        stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe, limit=64 << 20,
    )  # fmt: skip
    name = uuid.uuid4().hex
    jobs[name] = Job(str(body["command"]), process)
    return name, jobs[name]


async def lines_of(job: Job) -> AsyncIterator[tuple[str, str]]:
    """Each line that comes, with the name of its stream."""
    came: asyncio.Queue[tuple[str, bytes] | None] = asyncio.Queue()

    async def read(name: str, stream: asyncio.StreamReader) -> None:
        while line := await stream.readline():
            await came.put((name, line))
        await came.put(None)

    readers = [asyncio.create_task(read(n, s)) for n, s in [("stdout", job.process.stdout), ("stderr", job.process.stderr)]]
    for _ in readers:
        while (item := await came.get()) is not None:
            job.output += item[1]
            yield item[0], item[1].decode(errors="replace").rstrip("\r\n") or "\n"


@routes.post("/command")
async def command(request: web.Request) -> web.StreamResponse:
    try:
        body = await request.json()
        body["command"]
    except (json.JSONDecodeError, KeyError, TypeError):
        return failure(400, "INVALID_REQUEST_BODY", "a command is needed")
    answer = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    begun = time.monotonic()
    name, job = await start(body)
    await answer.prepare(request)

    async def say(kind: str, **more: object) -> None:
        event = {"type": kind, "timestamp": int(time.time() * 1000), **more}
        await answer.write(json.dumps(event).encode() + b"\n\n")

    await say("init", text=name)
    if body.get("background"):
        await say("execution_complete", execution_time=0)
        task = asyncio.create_task(finish_alone(job))
        job.task = task
        return answer
    limit = (body.get("timeout") or 0) / 1000 or None
    late = asyncio.get_running_loop().call_later(limit, lambda: asyncio.ensure_future(job.kill())) if limit else None
    async for stream, text in lines_of(job):
        await say(stream, text=text)
    code = await job.process.wait()
    job.finished = datetime.now(UTC)
    if late:
        late.cancel()
    if code == 0:
        await say("execution_complete", execution_time=int((time.monotonic() - begun) * 1000))
    else:
        said = [f"exit status {code}"] if code > 0 else ["signal: killed"]
        error = {"ename": "CommandExecError", "evalue": str(max(code, -1)), "traceback": said}
        await say("error", error=error)
    return answer


async def finish_alone(job: Job) -> None:
    async for _ in lines_of(job):
        pass
    await job.process.wait()
    job.finished = datetime.now(UTC)


@routes.delete("/command")
async def interrupt(request: web.Request) -> web.Response:
    if (job := jobs.get(request.query.get("id", ""))) is None:
        return failure(404, "CONTEXT_NOT_FOUND", "there is no such command")
    await job.kill()
    return web.Response()


@routes.get("/command/status/{name}")
async def status(request: web.Request) -> web.Response:
    if (job := jobs.get(request.match_info["name"])) is None:
        return failure(404, "CONTEXT_NOT_FOUND", "there is no such command")
    said = {"id": request.match_info["name"], "content": job.command, "running": job.finished is None}
    said |= {"started_at": job.started.isoformat()}
    if job.finished is not None:
        said |= {"exit_code": job.process.returncode, "finished_at": job.finished.isoformat()}
    return web.json_response(said)


@routes.get("/command/{name}/logs")
async def logs(request: web.Request) -> web.Response:
    if (job := jobs.get(request.match_info["name"])) is None:
        return failure(404, "CONTEXT_NOT_FOUND", "there is no such command")
    rest = job.output[int(request.query.get("cursor", 0)) :]
    return web.Response(body=rest, headers={"EXECD-COMMANDS-TAIL-CURSOR": str(len(job.output))})


# files


def described(path: Path) -> dict[str, object]:
    found = path.lstat()
    kind = "symlink" if path.is_symlink() else "directory" if path.is_dir() else "file" if path.is_file() else "other"
    at = datetime.fromtimestamp(found.st_mtime, UTC).isoformat()
    mode = int(oct(found.st_mode & 0o777)[2:])
    of = {"modified_at": at, "created_at": at, "owner": "root", "group": "root", "mode": mode}
    return {"path": str(path), "type": kind, "size": found.st_size} | of


@routes.get("/files/info")
async def info(request: web.Request) -> web.Response:
    try:
        return web.json_response({path: described(Path(path)) for path in request.query.getall("path", [])})
    except FileNotFoundError as error:
        return failure(404, "FILE_NOT_FOUND", str(error))


@routes.post("/files/upload")
async def upload(request: web.Request) -> web.Response:
    about = None
    async for part in await request.multipart():
        content = bytes(await part.read())
        if part.name == "metadata":
            about = json.loads(content)
        elif about is None:
            return failure(400, "INVALID_FILE_METADATA", "a file came before its metadata")
        else:
            path = Path(about["path"])
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            path.chmod(int(str(about.get("mode") or 644), 8))
    return web.Response()


@routes.get("/files/download")
async def download(request: web.Request) -> web.StreamResponse:
    path = Path(request.query["path"])
    if not path.exists():
        return failure(404, "FILE_NOT_FOUND", f"{path} is not there")
    return web.FileResponse(path)


@routes.post("/files/mv")
async def move(request: web.Request) -> web.Response:
    for pair in await request.json():
        shutil.move(pair["src"], pair["dest"])
    return web.Response()


@routes.post("/files/permissions")
async def permissions(request: web.Request) -> web.Response:
    for path, of in (await request.json()).items():
        os.chmod(path, int(str(of["mode"]), 8))
    return web.Response()


@routes.post("/files/replace")
async def replace(request: web.Request) -> web.Response:
    for path, change in (await request.json()).items():
        text = Path(path).read_text()
        Path(path).write_text(text.replace(change["old"], change["new"]))
    return web.json_response({})


@routes.get("/files/search")
async def search(request: web.Request) -> web.Response:
    root, pattern = Path(request.query["path"]), request.query.get("pattern", "**")
    files = (path for path in root.rglob("*") if path.is_file())
    named = (path for path in files if fnmatch.fnmatch(str(path.relative_to(root)), pattern.replace("**/", "*")))
    return web.json_response([described(path) for path in sorted(named)])


@routes.delete("/files")
async def remove(request: web.Request) -> web.Response:
    for path in request.query.getall("path", []):
        Path(path).unlink(missing_ok=True)
    return web.Response()


@routes.get("/directories/list")
async def listing(request: web.Request) -> web.Response:
    return web.json_response([described(path) for path in sorted(Path(request.query["path"]).iterdir())])


@routes.post("/directories")
async def make(request: web.Request) -> web.Response:
    for path in await request.json():
        Path(path).mkdir(parents=True, exist_ok=True)
    return web.Response()


@routes.delete("/directories")
async def remove_folder(request: web.Request) -> web.Response:
    for path in request.query.getall("path", []):
        shutil.rmtree(path, ignore_errors=True)
    return web.Response()


@routes.get("/metrics")
async def metrics(_: web.Request) -> web.Response:
    words = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
    kib = {name: int(words[name].split()[0]) for name in ("MemTotal", "MemAvailable")}
    used = (kib["MemTotal"] - kib["MemAvailable"]) / 1024
    said = {"cpu_count": os.cpu_count(), "cpu_used_pct": os.getloadavg()[0], "mem_total_mib": kib["MemTotal"] / 1024}
    return web.json_response(said | {"mem_used_mib": used, "timestamp": int(time.time() * 1000)})


async def main(port: int, ports: dict[int, int]) -> None:
    application = web.Application(middlewares=[only_with_token], client_max_size=1 << 30)
    application.add_routes([*routes, web.route("*", "/proxy/{port:\\d+}{path:.*}", Proxy(port, ports).lead)])
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    await asyncio.Event().wait()


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--port", type=int, default=EXECD)
    arguments.add_argument("--port-of", action="append", default=[])
    given = arguments.parse_args()
    pairs = (pair.split("=") for pair in given.port_of)
    asyncio.run(main(given.port, {int(inside): int(real) for inside, real in pairs}))

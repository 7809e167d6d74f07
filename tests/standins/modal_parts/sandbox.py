"""One sandbox: a folder, a process that keeps it alive, commands beside that, and its end."""

import asyncio
import os
import time

from modal_proto import api_pb2

from .place import Place, name, newer_name
from .process import Process

Result = api_pb2.GenericResult


class Sandbox:
    def __init__(self, place: Place, request, newer: bool, environment: dict[str, str]) -> None:
        self.place, self.app, self.newer = place, request.app_id, newer
        self.definition = request.definition
        self.tags = {tag.tag_name: tag.tag_value for tag in request.tags}
        self.id, self.task = (newer_name("sb"), newer_name("ta") + "V") if newer else (name("sb"), name("ta"))
        self.created, self.has_machine_at = time.time(), time.time() + place.chosen.schedule_seconds
        self.environment = environment
        self.keeper, self.commands = Process(), {}
        self.result: Result | None = None
        self.ended, self.used = asyncio.Event(), time.monotonic()
        self.folder = f"{place.state}/{self.id}"
        os.makedirs(self.folder)

    @property
    def cut_off(self) -> bool:
        return self.definition.network_access.network_access_type == api_pb2.NetworkAccess.BLOCKED

    def variables(self) -> dict[str, str]:
        path = os.environ["PATH"]
        if self.place.chosen.path:
            path = f"{self.place.chosen.path}:{path}"
        own = {"PATH": path, "HOME": self.folder, "LANG": "C.UTF-8", "MODAL_SANDBOX_ID": self.id}
        return own | self.environment

    async def start(self) -> None:
        words = list(self.definition.entrypoint_args) or ["sleep", "172800"]
        await self.keeper.start(words, self.variables(), self.folder, self.cut_off)
        asyncio.create_task(self.follow_keeper())
        asyncio.create_task(self.keep_limits())

    async def run(self, request, environment: dict[str, str]) -> None:
        process = self.commands[request.exec_id] = Process()
        folder = request.workdir if request.HasField("workdir") else self.folder
        variables = self.variables() | environment | dict(request.env)
        await process.start(list(request.command_args), variables, folder, self.cut_off)

    async def follow_keeper(self) -> None:
        await self.keeper.ended.wait()
        code = self.keeper.code
        self.finish("SUCCESS" if code == 0 else "FAILURE", 128 - code if code < 0 else code)

    async def keep_limits(self) -> None:
        definition, began = self.definition, time.monotonic()
        while self.result is None:
            await asyncio.sleep(0.1)
            now = time.monotonic()
            if any(not command.ended.is_set() for command in self.commands.values()):
                self.used = now
            if definition.timeout_secs and now - began > definition.timeout_secs:
                self.finish("TIMEOUT", 124)
            elif definition.HasField("idle_timeout_secs") and now - self.used > definition.idle_timeout_secs:
                self.finish("IDLE_TIMEOUT", 0)

    def finish(self, status: str, code: int) -> None:
        if self.result is None:
            self.place.record(ended=self.id, status=status)
            self.result = Result(status=getattr(Result, f"GENERIC_STATUS_{status}"), exitcode=code)
            for process in [self.keeper, *self.commands.values()]:
                process.kill()
            self.ended.set()

    def info(self):
        tags = [api_pb2.SandboxTag(tag_name=key, tag_value=value) for key, value in self.tags.items()]
        return api_pb2.SandboxInfo(
            id=self.id, created_at=self.created, app_id=self.app, name=self.definition.name, tags=tags,
            timeout_secs=self.definition.timeout_secs, task_info=api_pb2.TaskInfo(id=self.task, result=self.result),
        )

"""One layer of an image. Nothing is built: the log says its lines, and a line that runs `false` makes it fail."""

import asyncio

from modal_proto import api_pb2

from .place import name

Result = api_pb2.GenericResult


class Image:
    def __init__(self, lines: list[str], base: "Image | None", seconds: float) -> None:
        self.id, self.lines, self.base = name("im"), lines, base
        self.log: list[str] = []
        self.result: Result | None = None
        self.task = asyncio.create_task(self.build(seconds))

    async def build(self, seconds: float) -> None:
        for number, line in enumerate(self.lines):
            self.log.append(f"Step {number}: {line}\n")
            await asyncio.sleep(seconds)
            if line.endswith("-m pip install --no-cache-dir --disable-pip-version-check --root-user-action=ignore 'no-such-package'"):
                self.log.append("ERROR: No matching distribution found for no-such-package\n")
                said = f"Image build for {self.id} failed"
                self.result = Result(status=Result.GENERIC_STATUS_FAILURE, exception=said)
                return
        self.result = Result(status=Result.GENERIC_STATUS_SUCCESS)

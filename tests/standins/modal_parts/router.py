"""The calls of the router of commands."""

from grpclib import GRPCError, Status
from modal_proto import task_command_router_grpc, task_command_router_pb2 as commands

from .control import answers, only_what_is_here
from .place import Place
from .process import Process
from .sandbox import Sandbox


@only_what_is_here
class Router(task_command_router_grpc.TaskCommandRouterBase):
    def __init__(self, place: Place) -> None:
        self.place = place

    def sandbox(self, task: str, headers) -> Sandbox:
        claims = self.place.tokens.read(headers.get("authorization", "").removeprefix("Bearer "))
        if not claims or claims.get("kind") != "router":
            raise GRPCError(Status.UNAUTHENTICATED, "the token is none, or has ended")
        if claims["task"] != task:
            raise GRPCError(Status.PERMISSION_DENIED, "the token is for another task")
        sandbox = self.place.tasks.get(task)
        if sandbox is None or sandbox.result is not None:
            raise GRPCError(Status.NOT_FOUND, f"task {task} is not running")
        return sandbox

    def process(self, request, headers) -> Process:
        command = self.sandbox(request.task_id, headers).commands.get(request.exec_id)
        if command is None:
            raise GRPCError(Status.NOT_FOUND, f"exec {request.exec_id} not found")
        return command

    @answers
    async def TaskExecStart(self, request, headers):
        sandbox = self.sandbox(request.task_id, headers)
        if not request.command_args or sum(map(len, request.command_args)) > 1 << 16:
            raise GRPCError(Status.INVALID_ARGUMENT, "the words of a command are none, or too long")
        if request.exec_id not in sandbox.commands:
            self.place.record(command=list(request.command_args)[:3], environment=sorted(request.env))
            environment = self.place.variables(request.secret_ids, request.secret_sources)
            await sandbox.run(request, environment)
        return commands.TaskExecStartResponse()

    async def TaskExecStdioRead(self, stream) -> None:
        request = await stream.recv_message()
        process = self.process(request, stream.metadata)
        is_error = request.file_descriptor == commands.TASK_EXEC_STDIO_FILE_DESCRIPTOR_STDERR
        most, sent = self.place.chosen.break_output_after, 0
        async for piece in process.outputs[is_error].follow(request.offset):
            piece = piece[: most - sent] if most else piece
            await stream.send_message(commands.TaskExecStdioReadResponse(data=piece))
            sent += len(piece)
            if most and sent >= most:
                raise GRPCError(Status.UNAVAILABLE, "the line broke, as it was told to")

    @answers
    async def TaskExecStdinWrite(self, request, headers):
        await self.process(request, headers).write(request.offset, request.data, request.eof)
        return commands.TaskExecStdinWriteResponse()

    async def TaskExecStdinWriteStream(self, stream) -> None:
        first = (await stream.recv_message()).start
        process, place = self.process(first, stream.metadata), first.offset
        async for message in stream:
            end = message.WhichOneof("payload") == "end"
            await process.write(place, message.data, end)
            place += len(message.data)
            if end:
                break
        await stream.send_message(commands.TaskExecStdinWriteStreamResponse())

    @answers
    async def TaskExecStdinStatus(self, request, headers):
        process = self.process(request, headers)
        return commands.TaskExecStdinStatusResponse(num_bytes_written=process.taken, closed=process.closed)

    @answers
    async def TaskExecPoll(self, request, headers):
        process = self.process(request, headers)
        if not process.ended.is_set():
            return commands.TaskExecPollResponse()
        return process.status(commands.TaskExecPollResponse)

    @answers
    async def TaskExecWait(self, request, headers):
        process = self.process(request, headers)
        await process.ended.wait()
        return process.status(commands.TaskExecWaitResponse)

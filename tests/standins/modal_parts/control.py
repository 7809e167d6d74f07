"""The calls of the control plane."""

import asyncio
import hashlib
import time

from google.protobuf.empty_pb2 import Empty
from google.protobuf.json_format import MessageToDict
from grpclib import GRPCError, Status
from modal_proto import api_grpc, api_pb2 as api

from .image import Image
from .place import Place, name
from .sandbox import Result, Sandbox

MISSING, EVER = api.OBJECT_CREATION_TYPE_UNSPECIFIED, api.OBJECT_CREATION_TYPE_CREATE_IF_MISSING
PAGE = 50
BUILDER = "2025.06"


def only_what_is_here(service):
    """Whatever else Modal can do is said to be absent."""

    def absent(call: str):
        async def answer(_, stream) -> None:
            await stream.recv_message()
            raise GRPCError(Status.UNIMPLEMENTED, f"{call} is not in this stand-in")

        return answer

    for call in list(service.__abstractmethods__):
        setattr(service, call, absent(call))
    service.__abstractmethods__ = frozenset()
    return service


def answers(function):
    """One question, one answer."""

    async def call(self, stream) -> None:
        answer = await function(self, await stream.recv_message(), stream.metadata)
        await stream.send_message(answer)

    return call


@only_what_is_here
class Control(api_grpc.ModalClientBase):
    def __init__(self, place: Place) -> None:
        self.place = place

    @answers
    async def ClientHello(self, request, _):
        return api.ClientHelloResponse(image_builder_version=BUILDER)

    @answers
    async def AuthTokenGet(self, request, _):
        return api.AuthTokenGetResponse(token=self.place.tokens.make(self.place.chosen.auth_token_seconds, kind="auth"))

    @answers
    async def EnvironmentGetOrCreate(self, request, _):
        settings = api.EnvironmentSettings(image_builder_version=BUILDER)
        metadata = api.EnvironmentMetadata(name=request.deployment_name or "main", settings=settings)
        return api.EnvironmentGetOrCreateResponse(environment_id=name("en"), metadata=metadata)

    @answers
    async def AppGetOrCreate(self, request, _):
        key = (request.environment_name, request.app_name)
        if key not in self.place.apps:
            if request.object_creation_type != EVER:
                raise GRPCError(Status.NOT_FOUND, f"App '{request.app_name}' not found")
            self.place.apps[key] = name("ap")
        return api.AppGetOrCreateResponse(app_id=self.place.apps[key])

    @answers
    async def SecretGetOrCreate(self, request, _):
        place, kind = self.place, request.object_creation_type
        known = place.secret_names.get(request.deployment_name)
        if kind == MISSING and known is None:
            raise GRPCError(Status.NOT_FOUND, f"Secret '{request.deployment_name}' not found")
        if kind != MISSING and known is None:
            known = name("st")
            place.secrets[known] = dict(request.env_dict)
            if request.deployment_name:
                place.secret_names[request.deployment_name] = known
        return api.SecretGetOrCreateResponse(secret_id=known)

    @answers
    async def VolumeGetOrCreate(self, request, _):
        known = self.place.volumes.get(request.deployment_name)
        if known is None:
            if request.object_creation_type == MISSING:
                raise GRPCError(Status.NOT_FOUND, f"Volume '{request.deployment_name}' not found")
            known = self.place.volumes[request.deployment_name] = name("vo")
        metadata = api.VolumeMetadata(name=request.deployment_name)
        return api.VolumeGetOrCreateResponse(volume_id=known, metadata=metadata)

    @answers
    async def ImageGetOrCreate(self, request, _):
        place, image = self.place, request.image
        key = hashlib.sha256(image.SerializeToString(deterministic=True) + request.builder_version.encode()).digest()
        known = place.images.get(place.layers.get(key, ""))
        failed = known is not None and known.result is not None and known.result.status != Result.GENERIC_STATUS_SUCCESS
        if known is None or failed or request.force_build:
            base = place.image(image.base_images[0].image_id) if image.base_images else None
            known = Image(list(image.dockerfile_commands), base, place.chosen.build_seconds)
            place.images[known.id], place.layers[key] = known, known.id
            place.record(built=list(image.dockerfile_commands))
        return api.ImageGetOrCreateResponse(image_id=known.id, result=known.result)

    async def ImageJoinStreaming(self, stream) -> None:
        request = await stream.recv_message()
        image, told = self.place.image(request.image_id), int(request.last_entry_id or 0)
        while True:
            for number in range(told, len(image.log)):
                log = api.TaskLogs(data=image.log[number], file_descriptor=api.FILE_DESCRIPTOR_STDOUT)
                await stream.send_message(api.ImageJoinStreamingResponse(entry_id=str(number + 1), task_logs=[log]))
            told = len(image.log)
            if image.result is not None:
                return await stream.send_message(api.ImageJoinStreamingResponse(result=image.result, eof=True))
            await asyncio.sleep(0.02)

    @answers
    async def ImageFromId(self, request, _):
        self.place.image(request.image_id)
        return api.ImageFromIdResponse(image_id=request.image_id)

    async def create(self, request, newer: bool, environment: dict[str, str]) -> Sandbox:
        place, chosen = self.place, self.place.chosen
        place.record(create=MessageToDict(request, preserving_proto_field_name=True))
        if chosen.throttle_creates > 0:
            chosen.throttle_creates -= 1
            raise GRPCError(Status.RESOURCE_EXHAUSTED, "too fast", [api.RPCRetryPolicy(retry_after_secs=0.2)])
        definition = request.definition
        if newer and definition.resources.gpu_config.gpu_type:
            raise GRPCError(Status.INVALID_ARGUMENT, "GPUs are not supported by V2 Sandboxes")
        same = (s for s in place.sandboxes.values() if s.definition.name == definition.name and s.result is None)
        if definition.name and any(same):
            raise GRPCError(Status.ALREADY_EXISTS, f"Sandbox with name {definition.name!r} already exists")
        place.image(definition.image_id)
        sandbox = Sandbox(place, request, newer, environment)
        place.sandboxes[sandbox.id] = place.tasks[sandbox.task] = sandbox
        await sandbox.start()
        await asyncio.sleep(chosen.hold_creates)
        if chosen.lose_creates > 0:
            chosen.lose_creates -= 1
            raise GRPCError(Status.UNAVAILABLE, "the answer was lost")
        return sandbox

    @answers
    async def SandboxCreate(self, request, _):
        environment = self.place.variables(request.definition.secret_ids)
        return api.SandboxCreateResponse(sandbox_id=(await self.create(request, False, environment)).id)

    @answers
    async def SandboxCreateV2(self, request, _):
        environment = self.place.variables(request.definition.secret_ids, request.secret_sources)
        sandbox = await self.create(request, True, environment | dict(request.ephemeral_secrets.contents))
        url, token = self.place.access(sandbox)
        access = api.CommandRouterAccess(url=url, jwt=token)
        return api.SandboxCreateV2Response(
            sandbox_id=sandbox.id, task_id=sandbox.task, command_router_access=access, sandbox_token=name("sbt")
        )

    async def get_task(self, request, _):
        sandbox = self.place.sandbox(request.sandbox_id)
        has_machine = sandbox.has_machine_at <= time.time()
        return api.SandboxGetTaskIdResponse(task_id=sandbox.task if has_machine else None, task_result=sandbox.result)

    async def wait(self, request, _):
        sandbox = self.place.sandbox(request.sandbox_id)
        try:
            await asyncio.wait_for(sandbox.ended.wait(), request.timeout or 0.001)
        except TimeoutError:
            pass
        return api.SandboxWaitResponse(result=sandbox.result)

    async def terminate(self, request, _):
        sandbox = self.place.sandbox(request.sandbox_id)
        before = sandbox.result
        sandbox.finish("TERMINATED", 137)
        return api.SandboxTerminateResponse(existing_result=before)

    @answers
    async def SandboxListV2(self, request, _):
        wanted = {tag.tag_name: tag.tag_value for tag in request.tags}
        found = [
            sandbox.info()
            for sandbox in sorted(self.place.sandboxes.values(), key=lambda sandbox: -sandbox.created)
            if (not request.app_id or sandbox.app == request.app_id)
            and (not request.before_timestamp or sandbox.created < request.before_timestamp)
            and (sandbox.result is None or request.include_finished)
            and wanted.items() <= sandbox.tags.items()
        ]
        return api.SandboxListResponse(sandboxes=found[:PAGE])

    @answers
    async def SandboxTagsSetV2(self, request, _):
        self.place.sandbox(request.sandbox_id).tags = {tag.tag_name: tag.tag_value for tag in request.tags}
        return Empty()

    @answers
    async def TaskGetCommandRouterAccess(self, request, _):
        sandbox = self.place.tasks.get(request.task_id)
        if sandbox is None or sandbox.result is not None:
            raise GRPCError(Status.NOT_FOUND, f"Task {request.task_id} is not running")
        url, token = self.place.access(sandbox)
        return api.TaskGetCommandRouterAccessResponse(url=url, jwt=token)

    @answers
    async def SandboxGetCommandRouterAccess(self, request, _):
        by_id = request.WhichOneof("target") == "sandbox_id"
        sandbox = self.place.sandbox(request.sandbox_id) if by_id else self.place.tasks[request.task_id]
        url, token = self.place.access(sandbox)
        return api.SandboxGetCommandRouterAccessResponse(url=url, jwt=token)

    SandboxGetTaskId = SandboxGetTaskIdV2 = answers(get_task)
    SandboxWait = SandboxWaitV2 = answers(wait)
    SandboxTerminate = SandboxTerminateV2 = answers(terminate)

"""Compares descriptors of ours with those in Modal's own client: names, numbers, types, and what each call takes and gives.

    python modal_descriptors.py FILE     # prints how many things were compared; ends with 1 where something differs
"""

import sys

from google.protobuf import descriptor_pool
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from modal_proto import api_pb2, task_command_router_pb2  # noqa: F401

pool, compared, differing = descriptor_pool.Default(), 0, []


def differs(text: str) -> None:
    differing.append(text)


def compare_message(package: str, message) -> None:
    global compared
    full = f"{package}.{message.name}"
    theirs = pool.FindMessageTypeByName(full)
    for field in message.field:
        compared += 1
        other = theirs.fields_by_number.get(field.number)
        if other is None or other.name != field.name:
            differs(f"{full}.{field.name} = {field.number} is {other and other.name}")
            continue
        kind = other.message_type or other.enum_type
        kind = "." + kind.full_name if kind else ""
        repeated = field.label == field.LABEL_REPEATED
        if other.type != field.type or kind != field.type_name or other.is_repeated != repeated:
            differs(f"{full}.{field.name} has another type")
        if field.proto3_optional and not other.has_presence:
            differs(f"{full}.{field.name} is always there")
    for nested in message.nested_type:
        compare_message(full, nested)
    for enum in message.enum_type:
        compare_enum(full, enum)


def compare_enum(package: str, enum) -> None:
    global compared
    theirs = pool.FindEnumTypeByName(f"{package}.{enum.name}")
    for value in enum.value:
        compared += 1
        if value.name not in theirs.values_by_name or theirs.values_by_name[value.name].number != value.number:
            differs(f"{package}.{enum.name}.{value.name}")


def compare_service(package: str, service) -> None:
    global compared
    theirs = pool.FindServiceByName(f"{package}.{service.name}")
    for call in service.method:
        compared += 1
        other = theirs.methods_by_name.get(call.name)
        wanted = (call.input_type, call.output_type, call.server_streaming, call.client_streaming)
        got = other and (
            "." + other.input_type.full_name, "." + other.output_type.full_name, other.server_streaming, other.client_streaming
        )
        if got != wanted:
            differs(f"{service.name}.{call.name}: {got}")


with open(sys.argv[1], "rb") as file:
    ours = FileDescriptorSet.FromString(file.read())
for file in ours.file:
    for message in file.message_type:
        compare_message(file.package, message)
    for enum in file.enum_type:
        compare_enum(file.package, enum)
    for service in file.service:
        compare_service(file.package, service)
print("\n".join(differing) if differing else compared)
sys.exit(bool(differing))

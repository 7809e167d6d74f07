"""Modal's own client on the stand-in: what that client does, ours can rely on.

    python modal_official.py URL TOKEN_ID TOKEN_SECRET     # prints a line for each scenario; ends with 1 where one failed
"""

import os
import sys
import time
import traceback

URL, TOKEN_ID, TOKEN_SECRET = sys.argv[1:]
os.environ |= {"MODAL_SERVER_URL": URL, "MODAL_TOKEN_ID": TOKEN_ID, "MODAL_TOKEN_SECRET": TOKEN_SECRET}
os.environ["MODAL_CONFIG_PATH"] = os.devnull

import modal  # noqa: E402
from modal.exception import AlreadyExistsError, AuthError, NotFoundError, SandboxTimeoutError  # noqa: E402

SCENARIOS = []
APP = "official"


def scenario(function):
    SCENARIOS.append(function)
    return function


def sandbox(*words, **settings):
    app = modal.App.lookup(APP, create_if_missing=True)
    return modal.Sandbox.create(*words, app=app, **settings)


def fails(kind, call):
    try:
        call()
    except kind:
        return
    raise AssertionError(f"{kind.__name__} was expected")


@scenario
def an_app_is_found_once_it_was_made_and_a_wrong_pair_is_refused():
    fails(NotFoundError, lambda: modal.App.lookup("nobody"))
    assert modal.App.lookup(APP, create_if_missing=True).app_id == modal.App.lookup(APP).app_id
    fails(AuthError, lambda: modal.Client.from_credentials("ak-wrong", "as-wrong").hello())


@scenario
def a_command_streams_its_output_and_says_how_it_ended():
    box = sandbox(timeout=60)
    words = "for i in 1 2; do echo line $i; sleep 0.3; done; echo $A >&2; exit 7"
    command = box.exec("bash", "-c", words, env={"A": "error"}, bufsize=1)
    seen = [(line, time.monotonic()) for line in command.stdout]
    assert [line for line, _ in seen] == ["line 1\n", "line 2\n"], seen
    assert seen[1][1] - seen[0][1] > 0.1
    assert (command.stderr.read(), command.wait()) == ("error\n", 7)
    assert box.exec("bash", "-c", "kill -9 $$").wait() == 137
    assert box.exec("no-such-program").wait() == 127
    box.terminate()


@scenario
def input_is_taken_in_order_and_ends():
    box = sandbox(timeout=60)
    command = box.exec("cat")
    for part in (b"abc\n", b"x" * 3_000_000, b"\nend\n"):
        command.stdin.write(part)
        command.stdin.drain()
    command.stdin.write_eof()
    command.stdin.drain()
    assert command.stdout.read() == "abc\n" + "x" * 3_000_000 + "\nend\n"
    box.terminate()


@scenario
def a_name_belongs_to_one_that_runs_and_tags_find_it():
    box = sandbox(timeout=60, name="one", tags={"a": "1"})
    fails(AlreadyExistsError, lambda: sandbox(timeout=60, name="one"))
    app_id = modal.App.lookup(APP).app_id
    assert [found.object_id for found in modal.Sandbox.list(app_id=app_id, tags={"a": "1"})] == [box.object_id]
    again = modal.Sandbox.from_id(box.object_id)
    assert again.exec("echo", "again").stdout.read() == "again\n"
    assert box.terminate(wait=True) == 137
    assert list(modal.Sandbox.list(app_id=app_id, tags={"a": "1"})) == []
    fails(NotFoundError, lambda: again.exec("echo"))


@scenario
def a_graphics_card_makes_one_of_the_first_kind():
    box = sandbox(gpu="A100-80GB:2", cpu=0.5, memory=512, region="us-east", timeout=60)
    assert len(box.object_id) == len("sb-") + 22, box.object_id
    assert box.exec("echo", "first").stdout.read() == "first\n"
    box.terminate()


@scenario
def the_longest_life_and_the_idle_time_are_kept():
    box = sandbox("sleep", "60", timeout=1)
    fails(SandboxTimeoutError, box.wait)
    box = sandbox(timeout=60, idle_timeout=1)
    box.exec("true").wait()
    began = time.monotonic()
    box.wait(raise_on_termination=False)
    assert time.monotonic() - began < 30


@scenario
def secrets_become_variables_and_a_volume_is_known_by_its_name():
    modal.Secret.objects.create("s1", {"K": "v"})
    volume = modal.Volume.from_name("vol1", create_if_missing=True)
    box = sandbox(secrets=[modal.Secret.from_name("s1")], volumes={"/data": volume}, timeout=60)
    assert box.exec("printenv", "K").stdout.read() == "v\n"
    box.terminate()


@scenario
def without_a_network_nothing_is_reached():
    box = sandbox(block_network=True, timeout=60)
    port = URL.rsplit(":", 1)[1].strip("/")
    code = f"import socket; socket.create_connection(('127.0.0.1', {port}), 2)"
    ended = box.exec("python3", "-c", code).wait()
    assert ended != 0 or os.geteuid() != 0
    box.terminate()


@scenario
def an_image_is_built_layer_by_layer():
    image = modal.Image.from_registry("python:3.13-slim").pip_install("numpy")
    box = sandbox(image=image, timeout=60)
    box.terminate()


def main() -> int:
    failed = 0
    for function in SCENARIOS:
        try:
            function()
            print("passed", function.__name__, flush=True)
        except Exception:
            failed += 1
            print("failed", function.__name__, flush=True)
            traceback.print_exc()
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())

"""Stands in for Modal's control plane and for the router of commands in front of each sandbox. It really runs processes.

It speaks Modal's own protocol, with the stubs of Modal's own client (PyPI `modal`, pinned beside the tests), and that
client passes on it (`modal_official.py`). A sandbox is a folder and processes of this computer that end with it; where this
runs as root, one without a network is a network namespace of its own. Paths are those of this computer.

Verified, in the source of Modal's client 1.6.4 or by running it here:
  - names and numbers of calls and fields, the headers of each call, the token that newer calls want beside the pair
  - two kinds of sandboxes, told apart by their names; graphics cards belong to the first kind only
  - a command is started with an id of the client's, once however often it is asked for
  - output is read from any place on; input is written at a place, and what was taken before is not taken twice
  - a token of a router is refused with UNAUTHENTICATED once it has ended, and the client asks for another
  - a call that comes too fast is refused with RESOURCE_EXHAUSTED and how long to wait
  - the log of a build is read on from the last entry that came
Guesses, which no client shows:
  - the texts of errors; that a program that is not there ends with 127
  - FAILED_PRECONDITION for input beyond the place that was reached
  - that output is kept without a limit; that a chunk of it has 64 KiB at most
  - that a name can be given again once its sandbox has ended
Absent: files, snapshots, tunnels, functions; limits of cpu, memory, region and hosts are taken and not kept.

    python modal_standin.py [--state FOLDER] [OPTIONS]     # the first line is JSON: where it is, and which pair it takes
A test reads `calls.jsonl` in the folder: every call with its headers, without what is secret, and what was asked.
"""

import argparse
import asyncio
import json
import signal
import tempfile

import grpclib.events
import grpclib.server
from modal._utils.grpc_utils import custom_detail_codec

from modal_parts.control import Control
from modal_parts.place import Place
from modal_parts.router import Router


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--state", default=None)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--token-id", default="ak-standin0000000")
    parser.add_argument("--token-secret", default="as-standin0000000")
    parser.add_argument("--path", default="", help="folders in which programs of sandboxes are found first")
    parser.add_argument("--router", default="", help="a file with the address of a router, in place of this one's")
    parser.add_argument("--router-token-seconds", type=float, default=600)
    parser.add_argument("--auth-token-seconds", type=float, default=1200)
    parser.add_argument("--schedule-seconds", type=float, default=0, help="how long a sandbox has no machine")
    parser.add_argument("--break-output-after", type=int, default=0, help="bytes of each stream of output")
    parser.add_argument("--throttle-creates", type=int, default=0, help="so many are told to wait")
    parser.add_argument("--lose-creates", type=int, default=0, help="so many are done and not answered")
    parser.add_argument("--hold-creates", type=float, default=0, help="seconds until one is answered")
    parser.add_argument("--build-seconds", type=float, default=0)
    return parser.parse_args()


async def main() -> None:
    chosen = options()
    place = Place(chosen, chosen.state or tempfile.mkdtemp(prefix="modal-"))
    control = grpclib.server.Server([Control(place)], status_details_codec=custom_detail_codec)
    router = grpclib.server.Server([Router(place)], status_details_codec=custom_detail_codec)

    async def asked(event: grpclib.events.RecvRequest) -> None:
        place.admit(event.method_name.rsplit("/", 1)[-1], event.metadata)

    grpclib.events.listen(control, grpclib.events.RecvRequest, asked)
    await control.start("127.0.0.1", chosen.port)
    await router.start("127.0.0.1", 0)
    port = lambda server: server._server.sockets[0].getsockname()[1]  # noqa: E731
    place.router = f"http://127.0.0.1:{port(router)}"
    told = {
        "url": f"http://127.0.0.1:{port(control)}", "router": place.router, "state": place.state,
        "token_id": chosen.token_id, "token_secret": chosen.token_secret,
    }
    print(json.dumps(told), flush=True)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await stop.wait()
    for sandbox in place.sandboxes.values():
        sandbox.finish("TERMINATED", 137)


if __name__ == "__main__":
    asyncio.run(main())

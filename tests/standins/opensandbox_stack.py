"""The real `opensandbox-server` over an engine that is none: what the tests of the runtime opensandbox talk to.

Real: the server with its API, checks, errors, expiry, endpoints and proxy, as it comes from PyPI; the Jupyter server and
its kernels. Ours: the engine (`container_engine.py`) and execd (`execd.py`), each with what is known of it at its head.
So what a real engine adds is not proved by it: isolation, limits, networks, the images themselves.

    opensandbox_stack.py PYTHON_OF_THE_SERVER [key=KEY]

The first line on standard output is its port. It ends, with all that came of it, when its standard input does.
"""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

import container_engine

CONFIG = """
[server]
host = "127.0.0.1"
port = {port}
{key}
[proxy]
resolve_internal = false

[log]
level = "WARNING"

[runtime]
type = "docker"
execd_image = "{execd}"

[store]
type = "sqlite"
path = "{folder}/opensandbox.db"

[docker]
network_mode = "bridge"
publish_host = "127.0.0.1"
port_range_min = {first}
port_range_max = {last}
"""


def ports_of_this_process() -> tuple[int, int]:
    """Ports for the sandboxes that no other test's server chooses from, as far as that can be had."""
    first = 20000 + os.getpid() % 120 * 101
    return first, first + 100


def main(python: str, *options: str) -> None:
    key = next((option.split("=", 1)[1] for option in options if option.startswith("key=")), None)
    folder = Path(tempfile.mkdtemp(prefix="sbo"))
    engine = container_engine.serve(folder / "engine.sock", folder)
    server = None
    try:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
        first, last = ports_of_this_process()
        config = folder / "sandbox.toml"
        line = f'api_key = "{key}"\n' if key else ""
        config.write_text(
            CONFIG.format(port=port, key=line, execd=container_engine.EXECD, folder=folder, first=first, last=last)
        )
        environment = os.environ | {"DOCKER_HOST": f"unix://{folder}/engine.sock", "HOME": str(folder)}
        environment |= {"OPENSANDBOX_INSECURE_SERVER": "YES"}
        words = [str(Path(python).with_name("opensandbox-server")), "--config", str(config)]
        log = (folder / "server.log").open("wb")
        server = subprocess.Popen(words, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder)
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5).close()
                break
            except OSError:
                if server.poll() is not None:
                    print((folder / "server.log").read_text(), file=sys.stderr)
                    return
                time.sleep(0.05)
        print(port, flush=True)
        sys.stdin.read()
    finally:
        if server is not None:
            server.kill()
            server.wait()
        engine.end()
        shutil.rmtree(folder, ignore_errors=True)
if __name__ == "__main__":
    main(*sys.argv[1:])

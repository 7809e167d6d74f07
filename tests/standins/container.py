"""The first process of a container that is none: it runs programs of this computer and ends all that came of them.

Kernels start sessions of their own, so no process group holds them. This process takes in what its children leave behind
(Linux alone can do that), and kills all of it when the pipe to whoever started it closes, however that came about.

    container.py ROOT PORT INSIDE=PORT… -- PROGRAM…      # standard input: `pause`, `resume`; its end is the container's
"""

import ctypes
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36


def descendants() -> list[int]:
    """Every process that came of this one."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            after = (entry / "stat").read_text().rsplit(")", 1)[1].split()
        except (OSError, IndexError):
            continue
        if after[0] != "Z":
            parents[int(entry.name)] = int(after[1])
    found, last = [], [os.getpid()]
    while last:
        last = [child for child, parent in parents.items() if parent in last]
        found += last
    return found


def send(number: int) -> None:
    for process in descendants():
        try:
            os.kill(process, number)
        except ProcessLookupError:
            pass


def end(code: int = 0) -> None:
    while descendants():
        send(signal.SIGKILL)
    os._exit(code)


def obey() -> None:
    for line in sys.stdin:
        send(signal.SIGSTOP if line.strip() == "pause" else signal.SIGCONT)
    end()


def main() -> None:
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    at = sys.argv.index("--")
    root, port, *ports = sys.argv[1:at]
    program = sys.argv[at + 1 :]
    # a program of the image, where it has that one
    if (of_image := Path(root) / program[0].lstrip("/")).exists():
        program[0] = str(of_image)
    quiet = {"stdin": subprocess.DEVNULL, "cwd": Path(root) / "workspace"}
    execd = Path(root) / "opt/opensandbox/execd"
    if execd.exists():
        options = [word for pair in ports for word in ("--port-of", pair)]
        subprocess.Popen([str(execd), "--port", port, *options], **quiet)
    try:
        process = subprocess.Popen(program, **quiet)
    except OSError as error:
        print(error, file=sys.stderr, flush=True)
        end(127)
    # not before: what is started while everything is ended would be left
    threading.Thread(target=obey, daemon=True).start()
    code = process.wait()
    end(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main()

"""What the official client `opensandbox` finds on the server and the stand-ins of the tests: it keeps them honest.

    opensandbox_official.py DOMAIN KEY
"""

import asyncio
import sys
from datetime import UTC, datetime, timedelta

from opensandbox import Sandbox
from opensandbox.config import ConnectionConfig

IMAGE = "opensandbox/code-interpreter:v1.1.0"
ENTRYPOINT = ["/opt/code-interpreter/code-interpreter.sh"]


async def use(config: ConnectionConfig) -> None:
    sandbox = await Sandbox.create(
        IMAGE, connection_config=config, timeout=timedelta(minutes=10), entrypoint=ENTRYPOINT,
        env={"MINE": "b"}, metadata={"sandbook-test": "official"},
    )  # fmt: skip
    try:
        ran = await sandbox.commands.run("echo $MINE; echo; echo err >&2; exit 3")
        assert [line.text for line in ran.logs.stdout] == ["b", "\n"], ran
        assert [line.text for line in ran.logs.stderr] == ["err"], ran
        assert ran.error is not None and ran.error.value == "3", ran
        place = (await sandbox.commands.run("mktemp -d")).logs.stdout[0].text.strip()
        await sandbox.files.write_file(f"{place}/deep/a.txt", "ä\nb")
        assert await sandbox.files.read_file(f"{place}/deep/a.txt") == "ä\nb"
        told = (await sandbox.files.get_file_info([f"{place}/deep/a.txt"]))[f"{place}/deep/a.txt"]
        assert told.size == 4, told
        await sandbox.commands.run(f"rm -r {place}")
        assert (await sandbox.get_metrics()).memory_total_in_mib > 0
        ends = (await sandbox.renew(timedelta(minutes=20))).expires_at
        assert ends > datetime.now(UTC) + timedelta(minutes=15), ends
        await sandbox.pause()
        assert (await sandbox.get_info()).status.state == "Paused"
        again = await Sandbox.resume(sandbox.id, connection_config=config)
        assert (await again.get_info()).status.state == "Running"
        assert "44771" in (await again.get_endpoint(44771)).endpoint
    finally:
        await sandbox.kill()


async def main(domain: str, key: str) -> None:
    for proxied, how in [(False, "by its own address"), (True, "through the server")]:
        await use(ConnectionConfig(domain=domain, api_key=key, use_server_proxy=proxied))
        print(f"passed {how}", flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

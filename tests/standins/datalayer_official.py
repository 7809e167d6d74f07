"""The official Datalayer clients on the stand-in, so that it stays true to what they expect.

Run with a Python that has the packages of `tests/datalayer-requirements.txt`. Arguments: URL KEY. Each step is a line on
standard output; the first that fails ends it.
"""

import os
import sys
import tempfile

URL, KEY = sys.argv[1:3]
home = tempfile.mkdtemp()
for name in [name for name in os.environ if name.startswith("DATALAYER")]:
    del os.environ[name]
os.environ.update(
    HOME=home,
    IPYTHONDIR=os.path.join(home, "ipython"),
    PYTHON_KEYRING_BACKEND="keyring.backends.null.Keyring",
    DATALAYER_SNAPSHOT_POLL_INTERVAL="0.3",
)

from agent_runtimes.client import AgentClient  # noqa: E402
from datalayer_core.client.client import DatalayerClient  # noqa: E402
from datalayer_core.utils.urls import DatalayerURLs  # noqa: E402


def step(name: str, holds: object) -> None:
    assert holds, name
    print(name, flush=True)


urls = DatalayerURLs.from_single_origin(URL)
account = DatalayerClient(urls=urls, api_key=KEY)
step("signs in", account.authenticate() is True)
step("is told who it is", account.get_profile().handle_s == "somebody")
step("is told its credits", account.get_usage_credits()["credits"]["credits"] == 1000)
step("is refused with a wrong key", DatalayerClient(urls=urls, api_key="wrong")._log_in()["success"] is False)

client = AgentClient(urls=urls, api_key=KEY)
names = [environment.name for environment in client.list_environments()]
step("is told the environments", "python-cpu-env" in names)

runtime = client.create_runtime(name="of-the-official-client", environment="python-cpu-env", time_reservation=10)
runtime.start()
said = runtime.execute("a = 20\nprint('hi')\na + 1")
step("runs code in the kernel that waits", said.stdout == "hi\n" and "21" in str(said.execute_response))
step("keeps state", runtime.execute("print(a + 1)").stdout == "21\n")
step("lists its runtime", [each.runtime_name for each in client.list_runtimes()] == [runtime.runtime_name])
found = client.get_runtime(runtime.runtime_name)
step("finds its runtime", (found.ingress, found.jupyter_token) == (runtime.ingress, runtime.jupyter_token))
reserved = client.get_usage_credits()["reservations"][0]["credits"]
step("reserves the rate times ten minutes", abs(reserved - 0.017 * 600) < 1e-6)

# It sends these without the key that it was given, and only with the one of the environment.
os.environ["DATALAYER_API_KEY"] = KEY
snapshot = client.create_snapshot(runtime=runtime, name="kept", description="", stop=False)
step("takes a snapshot", snapshot.uid and [each.name for each in client.list_snapshots()] == ["kept"])
restored = client.create_runtime(name="restored", environment="python-cpu-env", snapshot_name="kept")
restored.start()
step("begins with a snapshot", restored.execute("print(a)").stdout == "20\n")
step("pauses", client.pause_runtime(restored))
step("finds no paused runtime", restored.runtime_name not in [each.runtime_name for each in client.list_runtimes()])
step("resumes", client.resume_runtime(restored))
step("ends its runtimes", client.stop_runtime(restored) and client.stop_runtime(runtime))
step("leaves none", client.list_runtimes() == [])

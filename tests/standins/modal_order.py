"""Modal's own client asks the stand-in for a sandbox, so that a test can compare what ours asks for with the same in mind.

    python modal_order.py URL TOKEN_ID TOKEN_SECRET NAME [GPU]
"""

import os
import sys

URL, TOKEN_ID, TOKEN_SECRET, NAME, *GPU = sys.argv[1:]
os.environ |= {"MODAL_SERVER_URL": URL, "MODAL_TOKEN_ID": TOKEN_ID, "MODAL_TOKEN_SECRET": TOKEN_SECRET}
os.environ["MODAL_CONFIG_PATH"] = os.devnull

import modal  # noqa: E402

modal.Secret.objects.create("keys", {"K": "v"}, allow_existing=True)
box = modal.Sandbox.create(
    "sleep",
    "172800",
    app=modal.App.lookup("sandbook", create_if_missing=True),
    name=NAME,
    tags={"sandbook": "1", "sandbook-id": NAME.removeprefix("sandbook-")},
    image=modal.Image.from_registry("python:3.12-slim"),
    secrets=[modal.Secret.from_name("keys")],
    volumes={"/data": modal.Volume.from_name("data", create_if_missing=True)},
    timeout=1800,
    idle_timeout=120,
    gpu=GPU[0] if GPU else None,
    region="us-east",
    cpu=1.5,
    memory=1536,
    outbound_cidr_allowlist=["192.0.2.0/24"],
    outbound_domain_allowlist=["pypi.org"],
)
box.terminate()

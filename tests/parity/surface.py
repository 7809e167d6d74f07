"""Prints what code-sandboxes 1.10.0 offers a program: parameters, fields and methods by group, as one JSON object.

Asked of the package itself, so that docs/parity.md cannot leave out what it has. Groups of providers that Sandbox has no runtime
for are left out.
"""

import inspect
import json

from code_sandboxes import CodeSandboxClient, Sandbox
from code_sandboxes.commands import SandboxCommands
from code_sandboxes.filesystem import SandboxFilesystem
from code_sandboxes.models import SandboxConfig
from code_sandboxes.sandboxes.datalayer.datalayer import DatalayerSandbox
from code_sandboxes.sandboxes.docker.docker import DockerSandbox
from code_sandboxes.sandboxes.eval.eval import EvalSandbox
from code_sandboxes.sandboxes.google_colab.google_colab import GoogleColabSandbox
from code_sandboxes.sandboxes.jupyter_server.jupyter_server import JupyterServerSandbox
from code_sandboxes.sandboxes.kaggle.kaggle import KaggleSandbox
from code_sandboxes.sandboxes.modal.modal import ModalSandbox
from code_sandboxes.sandboxes.monty.monty import MontySandbox

VARIANTS = {
    "eval": EvalSandbox,
    "monty": MontySandbox,
    "jupyter-server": JupyterServerSandbox,
    "docker": DockerSandbox,
    "google-colab": GoogleColabSandbox,
    "kaggle": KaggleSandbox,
    "modal": ModalSandbox,
    "datalayer": DatalayerSandbox,
}


def parameters(function):
    names = inspect.signature(function).parameters
    return [name for name in names if name not in ("self", "kwargs", "args", "config")]


def public(kind):
    return [name for name in dir(kind) if not name.startswith("_")]


surface = {
    "Sandbox.create": parameters(Sandbox.create),
    "SandboxConfig": list(SandboxConfig.model_fields),
    "Sandbox": public(Sandbox),
    "Sandbox.run_code": parameters(Sandbox.run_code),
    "sandbox.files": public(SandboxFilesystem),
    "sandbox.commands": public(SandboxCommands),
    "CodeSandboxClient": public(CodeSandboxClient),
}
for name, kind in VARIANTS.items():
    own = [method for method in vars(kind) if not method.startswith("_") and method not in dir(Sandbox)]
    surface[name] = parameters(kind.__init__) + own
print(json.dumps(surface))

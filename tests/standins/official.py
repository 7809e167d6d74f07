"""Runs code-sandboxes 1.10.0, a client that is used with the real clouds, against a stand-in of their proxy.

What it needs is what the stand-in has to give, whatever our own client does. Arguments: colab|kaggle CHANNELS_URL.
Prints one JSON object: what three runs came to.
"""

import json
import sys

from code_sandboxes.sandboxes.google_colab import GoogleColabSandbox
from code_sandboxes.sandboxes.kaggle import KaggleSandbox

VARIANTS = {"colab": GoogleColabSandbox, "kaggle": KaggleSandbox}

sandbox = VARIANTS[sys.argv[1]](channels_url=sys.argv[2])
sandbox.start()
kept = sandbox.run_code("x = 40")
result = sandbox.run_code("print('said')\nx + 2")
failed = sandbox.run_code("1 / 0")
sandbox.stop()
print(
    json.dumps(
        {
            "kept": kept.success,
            "text": result.text,
            "stdout": result.stdout,
            "error": failed.code_error.name if failed.code_error else None,
        }
    )
)

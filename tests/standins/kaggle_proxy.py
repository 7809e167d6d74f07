"""Stands in for the proxy of an interactive Kaggle session, in front of a real Jupyter server.

Verified, in addresses that people posted and in the source of code-sandboxes 1.10.0:
  - the shape `wss://kkb-production.jupyter-proxy.kaggle.net/k/<number>/<secret>/proxy/api/kernels/<id>/channels`
  - the secret is an encrypted JSON web token, in which `..` can stand; nothing else is needed

Guesses:
  - the status for a wrong or ended secret (403 here)
  - whether the API beside the WebSocket is served (with `sockets-only` it is not, and a web page comes), and whether a
    kernel can be started there
  - whether an API token in `Authorization: Bearer` and in the WebSocket's `token` is looked at (with `api-token=…` it is
    needed)

Arguments: SERVER SERVER_TOKEN NUMBER SECRET [sockets-only] [api-token=…]
A test asks `/__door/seen`, `drop` and `renew?secret=…` (the old one is refused from now on, open connections end).
"""

import asyncio
import sys

from door import Answer, Door, Request


class KaggleProxy(Door):
    def __init__(self, server: str, server_token: str, number: str, secret: str, *options: str) -> None:
        super().__init__(server, server_token)
        self.number, self.secret = number, secret
        self.sockets_only = "sockets-only" in options
        self.api_token = next((o.split("=", 1)[1] for o in options if o.startswith("api-token=")), None)

    def admit(self, request: Request) -> tuple[str, list[tuple[str, str]]]:
        prefix = f"/k/{self.number}/{self.secret}/proxy"
        if not request.path.startswith(prefix + "/"):
            raise Answer(403, "Forbidden")
        if self.api_token is not None:
            in_header = request.header("Authorization") == f"Bearer {self.api_token}"
            if not (request.parameter("token") == self.api_token if request.is_websocket else in_header):
                raise Answer(401, "Unauthorized")
        if self.sockets_only and not request.is_websocket:
            raise Answer(404, "<!doctype html><p>Not here", "text/html")
        return request.path[len(prefix) :], [pair for pair in request.query if pair[0] != "token"]

    def asked(self, request: Request) -> object:
        if request.path.endswith("/renew"):
            self.secret = request.parameter("secret") or ""
            for writer in list(self.open):
                writer.transport.abort()
            return True
        return super().asked(request)


if __name__ == "__main__":
    asyncio.run(KaggleProxy(*sys.argv[1:]).serve())

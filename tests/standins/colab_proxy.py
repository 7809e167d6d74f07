"""Stands in for the proxy of a Google Colab machine, in front of a real Jupyter server.

Verified, in the sources of clients that are used with the real one (Google's extension for VS Code 0.9.1, Google's
command line, code-sandboxes 1.10.0):
  - the proxy serves the API of a Jupyter server at its root: kernels, contents, terminals
  - HTTP requests carry `X-Colab-Runtime-Proxy-Token` and `X-Colab-Client-Agent`
  - WebSockets carry the token in the query, as `colab-runtime-proxy-token`
  - a token is good for 3600 s, and a client that was given one asks for the next 5 minutes before its end
  - `GET /tun/m/<endpoint>/keep-alive/` with `X-Colab-Tunnel: Google` says that somebody is still there; it may not be
    answered in time, which clients take for success
  - a kernel of Colab sends `colab_request` on iopub and waits on stdin for a `colab_reply` with the same number (the
    kernel of this stand-in is an ordinary one; tests send the message by hand)

Guesses, which no client shows:
  - the status for a missing, wrong or ended token (401 here; one client takes 404 for the same)
  - whether a WebSocket that is open outlives its token (it does here, unless `cut` is asked for)
  - whether a channels address below `/tun/m/<endpoint>/` takes the same token, and its keep-alive with it
  - that a query parameter named `token` in an address that a person copied means nothing

Arguments: SERVER SERVER_TOKEN PROXY_TOKEN [PREFIX]
A test asks `/__door/seen`, `drop`, `expire` (the token is refused from now on), `cut` (the same, and open connections
end), `renew?token=…` and `keep-alives`.
"""

import asyncio
import sys

from door import Answer, Door, Request

HEADER, PARAMETER = "X-Colab-Runtime-Proxy-Token", "colab-runtime-proxy-token"


class ColabProxy(Door):
    def __init__(self, server: str, server_token: str, token: str, prefix: str = "") -> None:
        super().__init__(server, server_token)
        self.token: str | None = token
        self.prefix = prefix.rstrip("/")
        self.keep_alives = 0

    def admit(self, request: Request) -> tuple[str, list[tuple[str, str]]]:
        given = request.parameter(PARAMETER) if request.is_websocket else request.header(HEADER)
        if self.token is None or given != self.token:
            raise Answer(401, "Unauthorized")
        if not request.is_websocket and not request.header("X-Colab-Client-Agent"):
            raise Answer(400, "no client agent")
        if not request.path.startswith(self.prefix + "/"):
            raise Answer(404, "no such tunnel")
        path = request.path[len(self.prefix) :]
        if self.prefix and path == "/keep-alive/":
            if request.header("X-Colab-Tunnel") != "Google":
                raise Answer(400, "no tunnel header")
            self.keep_alives += 1
            raise Answer(200)
        return path, [(name, value) for name, value in request.query if name != PARAMETER]

    def asked(self, request: Request) -> object:
        match request.path.rsplit("/", 1)[-1]:
            case "expire":
                self.token = None
                return True
            case "cut":
                self.token = None
                for writer in list(self.open):
                    writer.transport.abort()
                return True
            case "renew":
                self.token = request.parameter("token")
                return True
            case "keep-alives":
                return self.keep_alives
        return super().asked(request)


if __name__ == "__main__":
    asyncio.run(ColabProxy(*sys.argv[1:]).serve())

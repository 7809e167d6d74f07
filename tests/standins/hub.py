"""A stand-in for the hub behind JupyterHub's single-user server, which is the real one: who a token belongs to.

Verified against jupyterhub 6.1.1: the single-user server asks `GET /hub/api` for the version and `GET /hub/api/user`
for the owner of the token that came with a request. Absent: logging in, spawning, the proxy in front of the servers.

    python hub.py PORT TOKEN      # the token is the one that opens the server of the user `me`
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

VERSION = "6.1.1"


class Hub(BaseHTTPRequestHandler):
    token = ""

    def do_GET(self):
        if self.path.startswith("/hub/api/user"):
            if self.headers.get("Authorization") not in (f"token {self.token}", f"Bearer {self.token}"):
                return self.answer(403, {"status": 403, "message": "Missing or invalid credentials."})
            me = {"kind": "user", "name": "me", "admin": False, "groups": [], "session_id": None}
            return self.answer(200, me | {"scopes": ["access:servers!server=me/", "read:users:name!user=me"]})
        return self.answer(200, {"version": VERSION})

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.answer(200, {})

    def answer(self, status, body):
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("X-JupyterHub-Version", VERSION)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    Hub.token = sys.argv[2]
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Hub).serve_forever()

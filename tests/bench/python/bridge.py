"""The bare page's server: files, and a WebSocket that hands code to a kernel over plain ZeroMQ sockets.

    bridge.py PAGE MODULES      prints its port
"""

import json
import sys

import zmq
from jupyter_client import KernelManager
from tornado.httpserver import HTTPServer
from tornado.ioloop import IOLoop
from tornado.netutil import bind_sockets
from tornado.web import Application, StaticFileHandler
from tornado.websocket import WebSocketHandler
from zmq.eventloop.zmqstream import ZMQStream

REQUEST = {"silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": False, "stop_on_error": True}


class Kernel:
    def __init__(self):
        self.manager = KernelManager(kernel_name="python3")
        self.manager.start_kernel()
        self.session = self.manager.session
        self.shell, self.iopub = self.manager.connect_shell(), self.manager.connect_iopub()
        self.cells = {}
        self.page = None
        self._settle()
        ZMQStream(self.shell).on_recv(self._reply)
        ZMQStream(self.iopub).on_recv(self._output)

    def _settle(self):
        """Runs code until its output arrives as well: a subscription takes effect late."""
        while True:
            self.session.send(self.shell, "execute_request", {"code": "1", **REQUEST})
            self.session.recv(self.shell, mode=0)
            if self.iopub.poll(200):
                break
        while self.iopub.poll(200):
            self.session.recv(self.iopub)

    def run(self, cell, code):
        message = self.session.send(self.shell, "execute_request", {"code": code, **REQUEST})
        self.cells[message["header"]["msg_id"]] = cell

    def _read(self, frames):
        _, frames = self.session.feed_identities(frames)
        message = self.session.deserialize(frames)
        return self.cells.get(message["parent_header"].get("msg_id")), message["msg_type"], message["content"]

    def _reply(self, frames):
        cell, _, content = self._read(frames)
        if cell is not None and self.page:
            self.page.write_message(json.dumps({"cell": cell, "count": content["execution_count"]}))

    def _output(self, frames):
        cell, kind, content = self._read(frames)
        if cell is None or not self.page:
            return
        if kind == "execute_result":
            self.page.write_message(json.dumps({"cell": cell, "text": content["data"]["text/plain"]}))
        elif kind == "stream":
            self.page.write_message(json.dumps({"cell": cell, "text": content["text"]}))


class Socket(WebSocketHandler):
    def open(self):
        self.set_nodelay(True)
        kernel.page = self

    def on_message(self, message):
        request = json.loads(message)
        kernel.run(request["cell"], request["code"])

    def on_close(self):
        kernel.page = None


page, modules = sys.argv[1:]
kernel = Kernel()
server = HTTPServer(
    Application(
        [
            ("/kernel", Socket),
            ("/modules/(.*)", StaticFileHandler, {"path": modules}),
            ("/(.*)", StaticFileHandler, {"path": page, "default_filename": "index.html"}),
        ]
    )
)
sockets = bind_sockets(0, "127.0.0.1")
server.add_sockets(sockets)
print(sockets[0].getsockname()[1], flush=True)
try:
    IOLoop.current().start()
finally:
    kernel.manager.shutdown_kernel(now=True)
    zmq.Context.instance().destroy(0)

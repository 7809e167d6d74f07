"""Runs code for Sandbook in a plain Python, 3.8 or newer, with nothing installed.

    python driver.py SOCKET STDOUT STDERR

SOCKET is a Unix socket on which both sides send frames: four bytes of length, then JSON. STDOUT and STDERR are FIFOs
that become descriptors 1 and 2, so that whatever this process, its C code and its children write is read by the owner,
also when this process is dead, and nothing of it can disturb a frame. Before a frame that has a place among the text,
the driver waits until the owner has read what was written (`settle`).

The main thread runs code, one piece after the other; a second thread reads frames and answers questions while the first
is busy. `mod.rs` beside this file says what the frames are.
"""

import ast
import base64
import builtins
import codeop
import io
import json
import linecache
import os
import queue
import signal
import socket
import struct
import sys
import threading
import time
import traceback
import types

try:
    import fcntl
    import termios
except ImportError:
    fcntl = termios = None

FLAGS = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
HERE = __file__
COROUTINE = 0x80  # as `inspect` has it, which takes long to load
SETTLE_SECONDS = 1
PIPE_BYTES = 1 << 20
SHOWN_FRAMES = 20
PART_SECONDS = 0.02


class StdinNotImplementedError(RuntimeError):
    """Code asked for input where nobody answers."""


# ---------------------------------------------------------------------------------------------------------------- frames


class Wire:
    """The socket to the owner."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(path)
        self.lock = threading.Lock()
        self.process = os.getpid()

    def send(self, kind, **fields):
        if os.getpid() != self.process:
            return  # a forked child has no say here
        body = json.dumps({kind: fields}, ensure_ascii=False, default=repr).encode("utf-8", "replace")
        with self.lock:
            self.socket.sendall(struct.pack(">I", len(body)) + body)

    def receive(self):
        head = self._exactly(4)
        body = head and self._exactly(struct.unpack(">I", head)[0])
        return body and json.loads(body).popitem()

    def _exactly(self, count):
        parts = []
        while count:
            part = self.socket.recv(min(count, 1 << 20))
            if not part:
                return None
            parts.append(part)
            count -= len(part)
        return b"".join(parts)


def take_descriptors(out, err):
    """Puts the FIFOs in place of descriptors 1 and 2, and of the streams above them."""
    for number, path in ((1, out), (2, err)):
        pipe = os.open(path, os.O_WRONLY)
        os.dup2(pipe, number)
        os.close(pipe)
        try:
            fcntl.fcntl(number, getattr(fcntl, "F_SETPIPE_SZ", 1031), PIPE_BYTES)
        except (OSError, AttributeError):
            pass
    for name, number in (("stdout", 1), ("stderr", 2)):
        stream = Stream(number)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


class Stream(io.TextIOWrapper):
    """A standard stream: a line is written when it is whole, a part of one a moment later."""

    mode = "w"

    def __init__(self, number):
        buffer = io.BufferedWriter(io.FileIO(number, "w", closefd=False))
        super().__init__(buffer, encoding="utf-8", errors="backslashreplace", newline="", line_buffering=True)
        self.part = threading.Event()
        threading.Thread(target=self.flush_parts, daemon=True).start()

    def write(self, text):
        count = super().write(text)
        if "\n" not in text:
            self.part.set()
        return count

    def flush_parts(self):
        while True:
            self.part.wait()
            time.sleep(PART_SECONDS)
            self.part.clear()
            try:
                self.flush()
            except (OSError, ValueError):
                pass  # the code closed it


def unread(number):
    count = bytearray(4)
    fcntl.ioctl(number, termios.FIONREAD, count)
    return int.from_bytes(count, sys.byteorder)


def flush_c():
    """What C code printed lies in a buffer of its own."""
    try:
        import ctypes

        ctypes.CDLL(None).fflush(None)
    except (ImportError, OSError, AttributeError, TypeError):
        pass


def settle():
    """Waits until the owner has read what was written, for a moment at most."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            pass
    end = time.monotonic() + SETTLE_SECONDS
    try:
        while (unread(1) or unread(2)) and time.monotonic() < end:
            time.sleep(0.0002)
    except (OSError, AttributeError):
        pass  # the code closed them


# --------------------------------------------------------------------------------------------------------------- display

METHODS = (
    ("text/html", "_repr_html_"),
    ("text/markdown", "_repr_markdown_"),
    ("image/svg+xml", "_repr_svg_"),
    ("image/png", "_repr_png_"),
    ("image/jpeg", "_repr_jpeg_"),
    ("application/pdf", "_repr_pdf_"),
    ("text/latex", "_repr_latex_"),
    ("application/json", "_repr_json_"),
    ("application/javascript", "_repr_javascript_"),
)


def method_of(value, name):
    """A method by which a value shows itself; a class is shown as a class."""
    if isinstance(value, type):
        return None
    try:
        found = getattr(value, name, None)
        # what answers to every name means nothing by this one
        if found is None or getattr(value, "_no_object_answers_to_this_", None) is not None:
            return None
    except Exception:
        return None
    return found if callable(found) else None


def forms_of(value):
    """The forms of a value by media type, and what it says about them. Only its plain text may raise."""
    data, metadata = {}, {}
    bundle = method_of(value, "_repr_mimebundle_")
    if bundle:
        try:
            answer = bundle(include=None, exclude=None)
            if isinstance(answer, tuple):
                answer, metadata = answer
            data.update(answer or {})
        except Exception:
            pass
    for media_type, name in METHODS:
        method = None if media_type in data else method_of(value, name)
        if not method:
            continue
        try:
            answer = method()
        except Exception:
            continue
        if isinstance(answer, tuple):
            answer, metadata[media_type] = answer
        if answer is not None:
            data[media_type] = answer
    if "text/plain" not in data:
        data["text/plain"] = repr(value)
    return {name: json_form(form) for name, form in data.items()}, plain_json(metadata or {})


def json_form(form):
    if isinstance(form, (bytes, bytearray)):
        return base64.b64encode(form).decode()
    return form if isinstance(form, str) else plain_json(form)


def plain_json(value):
    """A value without what is no JSON: other objects, infinities."""
    return json.loads(json.dumps(value, default=repr, skipkeys=True), parse_constant=lambda name: None)


class DisplayHandle:
    """What `display(…, display_id=…)` gives back."""

    def __init__(self, driver, display_id):
        self.driver, self.display_id = driver, display_id

    def display(self, value, **options):
        self.driver.display(value, display_id=self.display_id, **options)

    def update(self, value, **options):
        self.driver.display(value, display_id=self.display_id, update=True, **options)


# ------------------------------------------------------------------------------------------------------------ the driver


class Stdin(io.TextIOBase):
    """Standard input: each line is asked for."""

    encoding = "utf-8"
    name = "<stdin>"

    def __init__(self, ask):
        self.ask = ask

    def readable(self):
        return True

    def readline(self, size=-1):
        try:
            return self.ask("", False) + "\n"
        except EOFError:
            return ""

    def read(self, size=-1):
        return self.readline()

    def close(self):
        pass  # `exit()` closes it, and the next cell may ask again


class Driver:
    def __init__(self, wire):
        self.wire = wire
        self.work = queue.Queue()
        self.answers = queue.Queue()
        self.running = False
        self.allow_input = False
        self.count = 0
        self.history = []
        self.displays = 0
        self.loop = None
        module = types.ModuleType("__main__")
        sys.modules["sandbook_driver"] = sys.modules["__main__"]
        module.__dict__.update(__builtins__=builtins, In=[""], Out={})
        sys.modules["__main__"] = module
        self.names = module.__dict__

    # what the second thread does

    def read(self):
        while True:
            try:
                frame = self.wire.receive()
            except (OSError, ValueError):
                frame = None
            if frame is None:
                os._exit(0)  # the owner is gone
            kind, fields = frame
            if kind == "answer_input":
                self.answers.put(fields["value"])
            elif kind == "ask" and self.running:
                threading.Thread(target=self.answer, args=(fields,), daemon=True).start()
            else:
                self.work.put(frame)

    # what the main thread does

    def interrupted(self, number, frame):
        if self.running:
            raise KeyboardInterrupt

    def serve(self):
        signal.signal(signal.SIGINT, self.interrupted)
        threading.Thread(target=self.read, daemon=True).start()
        while True:
            kind, fields = self.work.get()
            if kind == "execute":
                self.execute(**fields)
            elif kind == "ask":
                self.answer(fields)
            elif kind == "quit":
                return

    def execute(self, id, code, silent, allow_input, stop_on_error):
        if not silent:
            self.count += 1
            self.history.append((0, self.count, code))
            self.names["In"].append(code)
        self.allow_input = allow_input
        self.answers = queue.Queue()
        settle()
        self.wire.send("started", id=id, count=self.count)
        exit_code = error = None
        try:
            exit_code, error = self.attempt(code, silent)
        except KeyboardInterrupt as late:  # it came when the code had just ended
            error = self.error_of(late)
        self.running = False
        self.show_figures()
        flush_c()
        settle()
        if error:
            self.wire.send("error", **error)
        if (error or exit_code) and stop_on_error:
            self.drop_waiting()
        self.wire.send("end", id=id, count=self.count, exit_code=exit_code)

    def attempt(self, code, silent):
        """Runs a block once and shows its value; gives the exit code and the error, where it came to one."""
        try:
            self.running = True
            value = self.run(code, "<silent>" if silent else f"<cell {self.count}>")
            if value is not None and not silent:
                self.show_result(value)
            self.running = False
        except SystemExit as exit:
            self.running = False
            return self.exit_code(exit), None
        except BaseException as error:
            self.running = False
            return None, self.error_of(error)
        return None, None

    def drop_waiting(self):
        kept = []
        while True:
            try:
                frame = self.work.get_nowait()
            except queue.Empty:
                break
            if frame[0] == "execute":
                self.wire.send("end", id=frame[1]["id"], aborted=True)
            else:
                kept.append(frame)
        for frame in kept:
            self.work.put(frame)

    def run(self, code, name):
        """Runs a block; gives the value of its last expression, unless a semicolon follows."""
        linecache.cache[name] = (len(code), None, code.splitlines(True), name)
        tree = compile(code, name, "exec", FLAGS | ast.PyCF_ONLY_AST, True)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        if tree.body:
            self.evaluate(compile(tree, name, "exec", FLAGS, True))
        if last is None:
            return None
        value = self.evaluate(compile(ast.Expression(last.value), name, "eval", FLAGS, True))
        return None if is_silenced(code, last) else value

    def evaluate(self, code):
        value = eval(code, self.names)
        if not code.co_flags & COROUTINE:
            return value
        import asyncio

        if self.loop is None or self.loop.is_closed():
            self.loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self.loop)
        task = self.loop.create_task(value)
        try:
            return self.loop.run_until_complete(task)
        except KeyboardInterrupt:
            task.cancel()
            self.loop.run_until_complete(asyncio.gather(task, return_exceptions=True))
            raise

    def show_result(self, value):
        data, metadata = forms_of(value)
        self.names["_"] = value
        self.names["Out"][self.count] = value
        settle()
        self.wire.send("result", data=data, metadata=metadata, count=self.count)

    # what code can call

    def display(self, *values, display_id=None, update=False, raw=False, metadata=None, **ignored):
        if display_id is True:
            self.displays += 1
            display_id = f"{os.getpid()}-{self.displays}"
        for value in values:
            data, about = (plain_json(value), {}) if raw else forms_of(value)
            about.update(plain_json(metadata or {}))
            settle()
            self.wire.send("display", data=data, metadata=about, display_id=display_id, update=update)
        return DisplayHandle(self, display_id) if display_id else None

    def update_display(self, value, display_id, **options):
        self.display(value, display_id=display_id, update=True, **options)

    def clear_output(self, wait=False):
        settle()
        self.wire.send("clear", wait=bool(wait))

    def input(self, prompt=""):
        return self.ask_person(str(prompt), False)

    def getpass(self, prompt="Password: ", stream=None, **ignored):
        return self.ask_person(str(prompt), True)

    def ask_person(self, prompt, password):
        if not self.allow_input:
            raise StdinNotImplementedError("this code was run where nobody answers: input() cannot be used")
        settle()
        self.wire.send("input", prompt=prompt, password=password)
        answer = self.answers.get()
        if answer == "\x04":  # as at a terminal: there is no more
            raise EOFError
        return answer

    def show_figures(self):
        """Shows and closes the figures that matplotlib drew for nobody."""
        if "matplotlib.pyplot" not in sys.modules:
            return
        try:
            from matplotlib._pylab_helpers import Gcf

            for manager in Gcf.get_all_fig_managers():
                figure = manager.canvas.figure
                if hasattr(manager.canvas, "print_png") and (figure.axes or figure.lines):
                    image = io.BytesIO()
                    figure.savefig(image, format="png", bbox_inches="tight")
                    self.display({"image/png": json_form(image.getvalue()), "text/plain": str(figure)}, raw=True)
            Gcf.destroy_all()
        except Exception:
            traceback.print_exc()

    # errors

    def exit_code(self, exit):
        code = exit.code
        if code is None or isinstance(code, int):
            return int(code or 0)
        print(code, file=sys.stderr)
        return 1

    def error_of(self, error):
        try:
            value = str(error)
        except Exception:
            value = "<its text cannot be made>"
        try:
            lines = lines_of(error)
        except Exception:
            lines = traceback.format_exception_only(type(error), error)
        return {"name": type(error).__name__, "value": value, "traceback": lines}

    # questions

    def answer(self, asked):
        (what, fields), = asked["question"].items()
        try:
            value = getattr(self, f"answer_{what}")(**fields)
        except Exception as error:
            self.wire.send("answer", id=asked["id"], failed=repr(error))
        else:
            self.wire.send("answer", id=asked["id"], value=value)

    def answer_complete(self, code, position):
        return complete(self.names, code, position)

    def answer_inspect(self, code, position, detail):
        return describe(self.names, code, position, detail)

    def answer_is_complete(self, code):
        return completeness(code)

    def answer_history(self, count):
        return self.history[-count:] if count else []


def is_silenced(code, last):
    """Whether a semicolon follows the last expression."""
    lines = code.encode().splitlines(True)[last.end_lineno - 1 :]
    return b"".join(lines)[last.end_col_offset :].lstrip().startswith(b";")


def lines_of(error):
    """The traceback, without the driver's frames, those of cells named as notebooks name them."""
    seen, chain = set(), []
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        chain.append(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    lines = []
    for place, one in enumerate(reversed(chain)):
        if place:
            asked = one.__cause__ is not None
            reason = "The above exception was the direct cause of the following exception:"
            lines.append(f"\n{reason if asked else 'During handling of the above exception, another exception occurred:'}\n")
        frames = [frame for frame in traceback.extract_tb(one.__traceback__) if frame.filename != HERE]
        if frames:
            lines.append("Traceback (most recent call last):")
        left_out = max(0, len(frames) - 2 * SHOWN_FRAMES)
        for number, frame in enumerate(frames):
            if not SHOWN_FRAMES <= number < SHOWN_FRAMES + left_out:
                lines.append(f"{place_of(frame)}\n    {frame.line or ''}".rstrip())
            elif number == SHOWN_FRAMES:
                lines.append(f"[{left_out} more calls]")
        lines.extend(summary_of(one))
    return lines


def place_of(frame):
    where = "" if frame.name == "<module>" else f", in {frame.name}"
    if frame.filename.startswith("<cell "):
        return f"Cell In[{frame.filename[6:-1]}], line {frame.lineno}{where}"
    return f'File "{frame.filename}", line {frame.lineno}{where}'


def summary_of(error):
    lines = "".join(traceback.format_exception_only(type(error), error)).rstrip("\n").split("\n")
    if isinstance(error, SyntaxError):
        if (error.filename or "").startswith("<cell ") and lines:
            lines[0] = f"Cell In[{error.filename[6:-1]}], line {error.lineno}"
        if (error.text or "").lstrip()[:1] in ("%", "!"):
            lines.append("Lines with % and ! are IPython's own; a Jupyter kernel runs them, a plain Python does not.")
    return lines


# ------------------------------------------------------------------------------------------------- questions about names


def token_before(code, position):
    start = position
    while start and (code[start - 1].isalnum() or code[start - 1] in "_."):
        start -= 1
    return start, code[start:position]


def complete(names, code, position):
    import rlcompleter

    start, token = token_before(code, position)
    completer = rlcompleter.Completer(names)
    texts = []
    if token.strip():
        found = completer.attr_matches(token) if "." in token else completer.global_matches(token)
        texts = list(dict.fromkeys(text.rstrip("(): ") for text in found))
    return [start, position, [[text, kind_of(names, text)] for text in texts]]


def kind_of(names, text):
    import inspect
    import keyword

    if keyword.iskeyword(text):
        return "keyword"
    try:
        value = look_up(names, text)
    except Exception:
        return None
    for kind, test in (("module", inspect.ismodule), ("class", inspect.isclass), ("function", callable)):
        if test(value):
            return kind
    return "instance"


def look_up(names, text):
    """The value of a dotted name. Calls nothing but what getting an attribute calls."""
    first, *rest = text.split(".")
    value = names[first] if first in names else getattr(builtins, first)
    for name in rest:
        value = getattr(value, name)
    return value


def describe(names, code, position, detail):
    import inspect

    end = position
    while end < len(code) and (code[end].isalnum() or code[end] == "_"):
        end += 1
    # inside a call, what is called is meant
    _, token = token_before(code, end)
    if not token and code[:position].rstrip().endswith("("):
        _, token = token_before(code, len(code[:position].rstrip()) - 1)
    try:
        value = look_up(names, token.strip("."))
    except Exception:
        return None
    parts = []
    if callable(value):
        try:
            parts.append(f"{token}{inspect.signature(value)}")
        except (TypeError, ValueError):
            pass
    else:
        text = repr(value)
        parts.append(f"{type(value).__name__}: {text if len(text) < 2000 else text[:2000] + '…'}")
    if detail:
        try:
            parts.append(inspect.getsource(value))
        except (TypeError, OSError):
            pass
    documentation = inspect.getdoc(value)
    if documentation:
        parts.append(documentation)
    return "\n\n".join(parts)


def completeness(code):
    import warnings

    compiler = codeop.CommandCompiler()
    compiler.compiler.flags |= FLAGS
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compiled = compiler(code, "<cell>", "exec")
    except (SyntaxError, OverflowError, ValueError):
        return ["invalid", ""]
    if compiled is not None:
        return ["complete", ""]
    last = (code.splitlines() or [""])[-1]
    indent = last[: len(last) - len(last.lstrip())]
    return ["incomplete", indent + "    " if last.rstrip().endswith(":") else indent]


# ----------------------------------------------------------------------------------------------------------------- start


class AfterImport:
    """Changes a module once it is loaded."""

    def __init__(self, name, change):
        self.name, self.change = name, change
        sys.meta_path.insert(0, self)

    def find_spec(self, name, path=None, target=None):
        if name != self.name or self not in sys.meta_path:
            return None
        sys.meta_path.remove(self)
        import importlib.util

        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def load_and_change(module):
                load(module)
                self.change(module)

            spec.loader.exec_module = load_and_change
        return spec


def teach_libraries(driver):
    """What is drawn with pyplot or shown with IPython's functions is shown here."""

    def teach_pyplot(module):
        module.show = lambda *ignored, **also_ignored: driver.show_figures()

    def teach_ipython(module):
        module.display, module.update_display = driver.display, driver.update_display
        module.clear_output = driver.clear_output

    AfterImport("IPython.core.display_functions", teach_ipython)
    if "MPLBACKEND" not in os.environ:  # else the person chose another way to draw
        os.environ["MPLBACKEND"] = "agg"
        AfterImport("matplotlib.pyplot", teach_pyplot)


def main():
    address, out, err = sys.argv[1:]
    wire = Wire(address)
    take_descriptors(out, err)
    driver = Driver(wire)
    sys.argv = [""]
    sys.path[0] = ""
    os.environ.pop("JPY_PARENT_PID", None)
    teach_libraries(driver)
    sys.stdin = Stdin(driver.ask_person)
    builtins.input = driver.input
    builtins.display = driver.display
    builtins.update_display = driver.update_display
    builtins.clear_output = driver.clear_output
    import getpass

    getpass.getpass = driver.getpass
    wire.send("hello", version=".".join(map(str, sys.version_info[:3])), banner=f"Python {sys.version}")
    driver.serve()


if __name__ == "__main__":
    main()

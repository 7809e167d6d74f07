// The wire by itself: `1+1` over WebSocket and ZeroMQ, and starting and stopping a kernel.

import { execFile, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { Home, freePort, until } from "../processes.js";

const execute = promisify(execFile);
const RAW = fileURLToPath(new URL("../../python/raw.py", import.meta.url));
const TOKEN = "bench";

/** Runs raw.py and answers its lists of seconds. */
export async function raw(home, words, input = "") {
  const running = execute(process.env.SANDBOOK_BENCH_PYTHON, [RAW, ...words], {
    cwd: home.notebooks,
    env: home.environment,
  });
  running.child.stdin.end(input);
  return JSON.parse((await running).stdout);
}

/** Runs one of the measuring programs and answers what it printed. */
export async function example(home, name, words) {
  const program = `${process.env.SANDBOOK_BENCH_EXAMPLES}/${name}`;
  const environment = { ...home.environment, JUPYTER_TOKEN: TOKEN };
  const { stdout } = await execute(program, words, { cwd: home.notebooks, env: environment });
  return JSON.parse(stdout);
}

const inHome = async (body) => {
  const home = new Home();
  try {
    await body(home);
  } finally {
    await home.remove();
  }
};
const milliseconds = (seconds) => seconds.map((value) => value * 1000);

/** `1+1` through a real Jupyter server, until reply and idle. */
export function websocket({ record, quick }) {
  return inHome(async (home) => {
    const port = await freePort();
    const server = `http://127.0.0.1:${port}`;
    const words = ["--no-browser", "--allow-root", `--IdentityProvider.token=${TOKEN}`, `--ServerApp.port=${port}`];
    const options = { cwd: home.notebooks, env: home.environment, stdio: "ignore" };
    spawn(process.env.SANDBOOK_BENCH_PYTHON, ["-m", "jupyter_server", ...words], options);
    await until(
      () =>
        fetch(`${server}/api`).then(
          (answer) => answer.ok,
          () => false,
        ),
      60,
      "jupyter_server",
    );
    const headers = { Authorization: `token ${TOKEN}`, "Content-Type": "application/json" };
    const answer = await fetch(`${server}/api/kernels`, { method: "POST", headers, body: '{"name":"python3"}' });
    const { id } = await answer.json();
    const count = quick ? 50 : 200;
    for (let round = 0; round < (quick ? 2 : 5); round++) {
      await record.part("websocket", "raw", async () => {
        const { run } = await raw(home, ["websocket", server, TOKEN, id, "-n", String(count)]);
        record.add("websocket", "raw", "1+1", "ms", milliseconds(run));
      });
      await record.part("websocket", "sandbook", async () => {
        const { times_ms: times } = await example(home, "roundtrip", ["ws", server, id, "-n", String(count)]);
        record.add("websocket", "sandbook", "1+1", "ms", times);
      });
    }
    await record.part("websocket", "code-sandboxes", async () => {
      const { run } = await raw(home, ["code_sandboxes", "-n", quick ? "10" : "50"]);
      record.add("websocket", "code-sandboxes", "1+1", "ms", milliseconds(run));
    });
  });
}

/** `1+1` through ZeroMQ to one kernel, until reply and idle. */
export function zeromq({ record, quick }) {
  return inHome(async (home) => {
    const file = home.at("run/kernel.json");
    const options = { cwd: home.notebooks, env: home.environment, stdio: "ignore" };
    spawn(process.env.SANDBOOK_BENCH_PYTHON, ["-m", "ipykernel_launcher", "-f", file], options);
    await until(() => isWritten(file), 60, "the kernel's connection file");
    const count = quick ? 50 : 200;
    for (let round = 0; round < (quick ? 2 : 5); round++) {
      await record.part("zeromq", "raw", async () => {
        const { run } = await raw(home, ["zeromq", file, "-n", String(count)]);
        record.add("zeromq", "raw", "1+1", "ms", milliseconds(run));
      });
      await record.part("zeromq", "sandbook", async () => {
        const { times_ms: times } = await example(home, "roundtrip", ["zmq", file, "-n", String(count)]);
        record.add("zeromq", "sandbook", "1+1", "ms", times);
      });
    }
  });
}

/** `1+1` through the standard streams of a program, beside ZeroMQ to another kernel. */
export function bridge({ record, quick }) {
  return inHome(async (home) => {
    const file = home.at("run/kernel.json");
    const options = { cwd: home.notebooks, env: home.environment, stdio: "ignore" };
    spawn(process.env.SANDBOOK_BENCH_PYTHON, ["-m", "ipykernel_launcher", "-f", file], options);
    await until(() => isWritten(file), 60, "the kernel's connection file");
    const count = ["-n", String(quick ? 50 : 200)];
    const ways = [
      ["zeromq", ["zmq", file, ...count]],
      ["sandbook", ["bridge", process.env.SANDBOOK_BENCH_PYTHON, ...count]],
    ];
    for (let round = 0; round < (quick ? 2 : 5); round++) {
      for (const [who, words] of ways) {
        await record.part("bridge", who, async () => {
          const { times_ms: times } = await example(home, "roundtrip", words);
          record.add("bridge", who, "1+1", "ms", times);
        });
      }
    }
  });
}

function isWritten(file) {
  try {
    return JSON.parse(readFileSync(file, "utf8")).key !== undefined;
  } catch {
    return false;
  }
}

/** Monty from the wish for a sandbox to the end of its first run, and one run after the other. There is no peer. */
export function monty({ record, quick }) {
  return inHome(async (home) => {
    for (let round = 0; round < (quick ? 1 : 4); round++) {
      await record.part("monty", "sandbook", async () => {
        const words = [process.env.SANDBOOK_BENCH_PROGRAM, quick ? "3" : "10"];
        const { first, next } = await example(home, "first_result", words);
        record.add("monty", "sandbook", "first result", "ms", first);
        record.add("monty", "sandbook", "next result", "ms", next);
      });
    }
  });
}

/** What 100 pasted links are: a bound, there is no peer. */
export function paste({ record, quick }) {
  return inHome(async (home) => {
    await record.part("paste", "sandbook", async () => {
      const { times_ms: times } = await example(home, "parse_links", [quick ? "20" : "500"]);
      record.add("paste", "sandbook", "100 links", "ms", times);
    });
  });
}

/** A kernel from its start to its first reply, and from the wish to stop it until it is gone. */
export function kernel({ record, quick }) {
  return inHome(async (home) => {
    for (let round = 0; round < (quick ? 1 : 4); round++) {
      await record.part("kernel", "raw", async () => {
        const { start, stop } = await raw(home, ["kernels", "-n", "3"]);
        record.add("kernel", "raw", "start", "s", start);
        record.add("kernel", "raw", "stop", "s", stop);
      });
      await record.part("kernel", "sandbook", async () => {
        const words = [process.env.SANDBOOK_BENCH_PYTHON, process.env.SANDBOOK_BENCH_PROGRAM, home.at("run"), "3"];
        const { start, stop } = await example(home, "kernels", words);
        record.add("kernel", "sandbook", "start", "s", start);
        record.add("kernel", "sandbook", "stop", "s", stop);
      });
    }
  });
}

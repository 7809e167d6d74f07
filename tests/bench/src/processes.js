// Programs that one measure starts, their memory, and their end. They are found by a mark in their environment, because the
// owner process leaves its starter's session and is nobody's descendant any more.

import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const MARK = "SANDBOOK_BENCH_HOME";

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Rejects when a promise takes longer than it may. */
export function within(promise, seconds, what) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: not done after ${seconds} s`)), seconds * 1000);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

export async function until(condition, seconds, what) {
  const end = performance.now() + seconds * 1000;
  for (;;) {
    const answer = await condition();
    if (answer) return answer;
    if (performance.now() > end) throw new Error(`${what}: not so after ${seconds} s`);
    await sleep(5);
  }
}

export function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

const read = (path) => {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return ""; // it has ended
  }
};

export const commandLine = (pid) => read(`/proc/${pid}/cmdline`).replaceAll("\0", " ").trim();
const isKernel = (pid) => /ipykernel_launcher/.test(commandLine(pid)) && !/supervise/.test(commandLine(pid));

/** A process and everything below it. */
export function tree(root) {
  const children = new Map();
  for (const entry of readdirSync("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    const stat = read(`/proc/${entry}/stat`);
    const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
    children.set(parent, [...(children.get(parent) ?? []), Number(entry)]);
  }
  const found = [root];
  for (let at = 0; at < found.length; at++) found.push(...(children.get(found[at]) ?? []));
  return found;
}

/** Proportional set size in megabytes: pages that several processes share count once. */
export function memory(pids) {
  const of = (pid) => Number(/^Pss:\s+(\d+)/m.exec(read(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0);
  return pids.reduce((sum, pid) => sum + of(pid), 0) / 1024;
}

/** A throw-away home with a folder for notebooks. Removing it ends every program that was started in it. */
export class Home {
  constructor() {
    this.folder = mkdtempSync(join(tmpdir(), "sbb-")); // short: sockets inside have to fit into 108 bytes
    this.notebooks = join(this.folder, "notebooks");
    for (const name of ["notebooks", "config", "data", "state", "run", "cache"]) {
      mkdirSync(join(this.folder, name), { mode: 0o700 });
    }
  }

  at(name) {
    return join(this.folder, name);
  }

  get environment() {
    return {
      ...process.env,
      [MARK]: this.folder,
      PATH: `${join(process.env.SANDBOOK_BENCH_PYTHON, "..")}:${process.env.PATH}`,
      IPYTHONDIR: this.at("ipython"),
      SANDBOOK_CONFIG_DIR: this.at("config"),
      SANDBOOK_DATA_DIR: this.at("data"),
      SANDBOOK_STATE_DIR: this.at("state"),
      SANDBOOK_RUNTIME_DIR: this.at("run"),
      XDG_CACHE_HOME: this.at("cache"),
      JUPYTER_CONFIG_DIR: this.at("config/jupyter"),
      JUPYTER_DATA_DIR: this.at("data/jupyter"),
      JUPYTER_RUNTIME_DIR: this.at("run/jupyter"),
      JUPYTERLAB_SETTINGS_DIR: this.at("config/lab"),
      JUPYTERLAB_WORKSPACES_DIR: this.at("config/workspaces"),
    };
  }

  /** Everything that runs in this home but the kernels. */
  running() {
    return this.#all().filter((pid) => !isKernel(pid));
  }

  #all() {
    const mark = `${MARK}=${this.folder}`;
    const marked = (pid) => read(`/proc/${pid}/environ`).split("\0").includes(mark);
    return readdirSync("/proc")
      .filter((entry) => /^\d+$/.test(entry) && Number(entry) !== process.pid && marked(entry))
      .map(Number);
  }

  async remove() {
    for (let round = 0; round < 50; round++) {
      const pids = this.#all();
      if (pids.length === 0) break;
      for (const pid of pids) {
        try {
          process.kill(pid, round < 20 ? "SIGTERM" : "SIGKILL");
        } catch {
          // it has ended
        }
      }
      await sleep(100);
    }
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

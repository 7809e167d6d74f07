// Web mode, started for one test in a home of its own and ended with it.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const MARK = "SANDBOOK_TEST_HOME";

/** An environment variable that `cargo xtask test` sets. */
function given(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set. Run these tests with \`cargo xtask test --only browser\``);
  return value;
}

/** A person's home that belongs to one test: settings, data and runtime folder, so the owner in it is its own. */
export class Home {
  /** What else its programs find in their environment. */
  readonly variables: Record<string, string> = {};

  private constructor(private readonly folder: string) {}

  static async make(): Promise<Home> {
    // Short, because the sockets inside have to fit into 108 bytes.
    const home = new Home(await mkdtemp(join(tmpdir(), "sb-")));
    for (const name of ["run", "data", "config", "state", "cache", "notebooks"]) {
      await mkdir(join(home.folder, name), { mode: 0o700 });
    }
    return home;
  }

  get notebooks(): string {
    return join(this.folder, "notebooks");
  }

  get environment(): NodeJS.ProcessEnv {
    const place = (name: string): string => join(this.folder, name);
    const python = given("SANDBOOK_TEST_PYTHON");
    return {
      ...process.env,
      [MARK]: this.folder,
      PATH: `${join(python, "..")}:${process.env["PATH"] ?? ""}`,
      XDG_RUNTIME_DIR: place("run"),
      XDG_DATA_HOME: place("data"),
      XDG_CONFIG_HOME: place("config"),
      XDG_STATE_HOME: place("state"),
      XDG_CACHE_HOME: place("cache"),
      ...this.variables,
    };
  }

  /** Process ids of the programs of this home whose command line holds a text. */
  async running(text = ""): Promise<number[]> {
    const found: number[] = [];
    for (const entry of await readdir("/proc")) {
      const pid = Number(entry);
      if (!Number.isInteger(pid) || pid === process.pid) continue;
      const environment = await readFile(`/proc/${entry}/environ`, "utf8").catch(() => "");
      if (!environment.split("\0").includes(`${MARK}=${this.folder}`)) continue;
      const line = await readFile(`/proc/${entry}/cmdline`, "utf8").catch(() => "");
      if (line.replaceAll("\0", " ").includes(text)) found.push(pid);
    }
    return found;
  }

  /** Ends every program that still runs in this home and removes it. */
  async remove(): Promise<void> {
    for (let round = 0; round < 50; round++) {
      const pids = await this.running();
      if (pids.length === 0) break;
      for (const pid of pids) signal(pid, "SIGKILL");
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await rm(this.folder, { recursive: true, force: true });
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended by itself in the meantime.
  }
}

/** `sandbook web`, running. */
export class WebMode {
  private constructor(
    private readonly child: ChildProcess,
    /** The address to open. Its token can be used once. */
    readonly url: string,
  ) {}

  static async start(home: Home, notebook?: string): Promise<WebMode> {
    const words = ["web", "--port", "0", "--json", ...(notebook === undefined ? [] : [notebook])];
    const child = spawn(given("SANDBOOK_TEST_PROGRAM"), words, {
      cwd: home.notebooks,
      env: home.environment,
      stdio: ["ignore", "pipe", "inherit"],
    });
    const lines = createInterface({ input: child.stdout });
    const ended = once(child, "exit").then(([code]) => {
      throw new Error(`\`sandbook web\` ended with ${String(code)} before it printed its address`);
    });
    const first = await Promise.race([once(lines, "line"), ended]);
    ended.catch(() => undefined);
    const { url } = JSON.parse(String(first[0])) as { url: string };
    return new WebMode(child, url);
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const ended = once(this.child, "exit");
    this.child.kill("SIGINT");
    await ended;
  }
}

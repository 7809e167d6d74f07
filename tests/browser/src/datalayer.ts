// An account at a cloud that sells machines: a stand-in of the platform, with kernels on a real Jupyter server.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { freePort, STANDINS, until } from "./cloud.ts";
import type { Home } from "./sandbook.ts";

const SERVER_TOKEN = "not-a-real-token";

export class Datalayer {
  private constructor(
    private readonly children: readonly ChildProcess[],
    readonly url: string,
  ) {}

  static async open(home: Home, key: string): Promise<Datalayer> {
    const python = process.env["SANDBOOK_TEST_PYTHON"] ?? "python3";
    const port = await freePort();
    const words = ["-m", "jupyter_server", "--no-browser", "--allow-root", `--ServerApp.port=${port}`];
    const env = { ...home.environment, JUPYTER_TOKEN: SERVER_TOKEN, JUPYTER_NO_CONFIG: "1" };
    const server = spawn(python, words, { cwd: home.notebooks, env, stdio: "ignore" });
    const address = `http://127.0.0.1:${port}/`;
    await until("a server", async () => ((await fetch(`${address}api`)).ok ? true : null));
    const arguments_ = ["-B", join(STANDINS, "datalayer.py"), address, SERVER_TOKEN, key, "credits=50"];
    const platform = spawn(python, arguments_, { stdio: ["ignore", "pipe", "inherit"], env: home.environment });
    const [line] = (await once(createInterface({ input: platform.stdout }), "line")) as [string];
    return new Datalayer([server, platform], `http://127.0.0.1:${line.trim()}/`);
  }

  async runtimes(): Promise<number> {
    const living = (await (await fetch(`${this.url}__door/runtimes`)).json()) as string[];
    return living.length;
  }

  close(): void {
    for (const child of this.children) child.kill("SIGKILL");
  }
}

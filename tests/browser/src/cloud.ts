// The page of a cloud: a kernel on a real Jupyter server, behind a stand-in of the cloud's proxy.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";

import type { Home } from "./sandbook.ts";

export const STANDINS = join(import.meta.dirname, "../../standins");
const SERVER_TOKEN = "not-a-real-token";

/** A token in the form of a JSON web token, which says itself when it ends. */
export function tokenUntil(end: number): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${part({ alg: "none" })}.${part({ exp: Math.round(end / 1000) })}.c2lnbmF0dXJl`;
}

/** A port that nobody listens on just now. */
export async function freePort(): Promise<number> {
  const { createServer } = await import("node:net");
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("no port is free");
  return address.port;
}

export async function until<T>(what: string, look: () => Promise<T | null>): Promise<T> {
  for (let round = 0; round < 150; round++) {
    const found = await look().catch(() => null);
    if (found !== null) return found;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error(`${what} did not come`);
}

export class ColabTab {
  private constructor(
    private readonly children: readonly ChildProcess[],
    private readonly proxy: string,
    readonly kernel: string,
  ) {}

  /** Opens one whose proxy takes this token. */
  static async open(home: Home, token: string): Promise<ColabTab> {
    const python = process.env["SANDBOOK_TEST_PYTHON"] ?? "python3";
    const port = await freePort();
    const words = ["-m", "jupyter_server", "--no-browser", "--allow-root", `--ServerApp.port=${port}`];
    const env = { ...home.environment, JUPYTER_TOKEN: SERVER_TOKEN, JUPYTER_NO_CONFIG: "1" };
    const server = spawn(python, words, { cwd: home.notebooks, env, stdio: "ignore" });
    const address = `http://127.0.0.1:${port}/`;
    const headers = { Authorization: `token ${SERVER_TOKEN}` };
    const kernel = await until("a kernel", async () => {
      const answer = await fetch(`${address}api/kernels`, { method: "POST", headers });
      return answer.ok ? ((await answer.json()) as { id: string }).id : null;
    });
    const arguments_ = ["-B", join(STANDINS, "colab_proxy.py"), address, SERVER_TOKEN, token];
    const proxy = spawn(python, arguments_, { stdio: ["ignore", "pipe", "inherit"], env: home.environment });
    const [line] = (await once(createInterface({ input: proxy.stdout }), "line")) as [string];
    return new ColabTab([server, proxy], `127.0.0.1:${line.trim()}`, kernel);
  }

  /** What a person copies from the browser's tools. */
  link(token: string): string {
    const of = `session_id=of-the-tab&colab-runtime-proxy-token=${token}`;
    return `ws://${this.proxy}/api/kernels/${this.kernel}/channels?${of}`;
  }

  /** The token of before is refused from now on, open connections end, and another one is taken. */
  async changeToken(token: string): Promise<void> {
    await fetch(`http://${this.proxy}/__door/cut`);
    await fetch(`http://${this.proxy}/__door/renew?token=${token}`);
  }

  close(): void {
    for (const child of this.children) child.kill("SIGKILL");
  }
}

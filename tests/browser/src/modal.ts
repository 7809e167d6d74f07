// Modal, of which a stand-in keeps sandboxes with real kernels.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";

import { STANDINS } from "./cloud.ts";
import type { Home } from "./sandbook.ts";

export class Modal {
  private constructor(
    private readonly child: ChildProcess,
    private readonly state: string,
    readonly url: string,
  ) {}

  static async open(home: Home, id: string, secret: string): Promise<Modal> {
    const python = process.env["SANDBOOK_TEST_PYTHON"] ?? "python3";
    const state = join(home.notebooks, "..", "modal");
    const words = ["--state", state, "--path", dirname(python), "--token-id", id, "--token-secret", secret];
    const script = join(STANDINS, "modal_standin.py");
    const options = { stdio: ["ignore", "pipe", "inherit"], env: home.environment } as const;
    const child = spawn(python, ["-B", script, ...words], options);
    const [line] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
    return new Modal(child, state, (JSON.parse(line) as { url: string }).url);
  }

  /** How many sandboxes run. */
  async running(): Promise<number> {
    const lines = (await readFile(join(this.state, "calls.jsonl"), "utf8")).trim().split("\n");
    const entries = lines.map((line) => JSON.parse(line) as { ended?: string });
    const ended = new Set(entries.map((entry) => entry.ended));
    return (await readdir(this.state)).filter((name) => name.startsWith("sb-") && !ended.has(name)).length;
  }

  close(): void {
    this.child.kill("SIGKILL");
  }
}

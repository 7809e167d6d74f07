// The command line: from the start of the program to its end, kernel and all. The peer is a script of jupyter_client.

import { spawn } from "node:child_process";

import { Home } from "../processes.js";
import { CELLS } from "../workloads.js";
import { raw } from "./wire.js";

/** Seconds that `sandbook exec` takes for some code, and how many characters it printed. */
function exec(home, code) {
  return new Promise((resolve, reject) => {
    const began = performance.now();
    const words = ["exec", "--timeout", "0", "-"];
    const child = spawn(process.env.SANDBOOK_BENCH_PROGRAM, words, { cwd: home.notebooks, env: home.environment });
    let printed = 0;
    child.stdout.on("data", (chunk) => (printed += chunk.length));
    child.on("error", reject);
    child.on("close", (status) => {
      if (status === 0) resolve({ took: (performance.now() - began) / 1000, printed });
      else reject(new Error(`sandbook exec ended with ${status}`));
    });
    child.stdin.end(code);
  });
}

async function script(home, code) {
  const began = performance.now();
  await raw(home, ["run", "-n", "1"], code);
  return (performance.now() - began) / 1000;
}

export async function command({ record, quick }) {
  const home = new Home();
  try {
    for (let round = 0; round < (quick ? 1 : 5); round++) {
      await record.part("command", "sandbook", async () =>
        record.add("command", "sandbook", "print(1)", "s", (await exec(home, "print(1)")).took),
      );
      await record.part("command", "raw", async () =>
        record.add("command", "raw", "print(1)", "s", await script(home, "print(1)")),
      );
    }
    const { code, characters } = CELLS.lines;
    await record.part("command", "sandbook", async () => {
      const { took, printed } = await exec(home, code);
      record.add("command", "sandbook", "1,000,000 lines", "s", took);
      record.add("command", "sandbook", "1,000,000 lines: kept", "%", (100 * printed) / characters);
    });
    await record.part("command", "raw", async () =>
      record.add("command", "raw", "1,000,000 lines", "s", await script(home, code)),
    );
  } finally {
    await home.remove();
  }
}

// A container from the wish for it to a server and a kernel in it. The peer is what a person types: `docker run`, and asking the
// server until it answers.

import { execFile } from "node:child_process";
import { promisify } from "node:util";

import { Home, freePort, until } from "../processes.js";
import { example } from "./wire.js";

const execute = promisify(execFile);
const TOKEN = "bench";

/** Seconds from `docker run` until the server in the container answers with its list of kernels. */
async function byHand(home, engine, image) {
  const port = await freePort();
  const name = `sandbook-bench-${port}`;
  const docker = (...words) => execute("docker", ["--host", engine, ...words], { env: home.environment });
  const began = performance.now();
  await docker("run", "--detach", "--rm", "--name", name, "--env", `TOKEN=${TOKEN}`, "--publish", `127.0.0.1:${port}:8888`, image);
  try {
    const headers = { Authorization: `token ${TOKEN}` };
    const answers = () => fetch(`http://127.0.0.1:${port}/api/kernels`, { headers }).then((answer) => answer.ok, () => false);
    await until(answers, 60, "the server in the container");
    return (performance.now() - began) / 1000;
  } finally {
    await docker("rm", "--force", name);
  }
}

export async function container({ record, quick }) {
  const { SANDBOOK_TEST_DOCKER: engine, SANDBOOK_TEST_IMAGE: image } = process.env;
  const home = new Home();
  try {
    for (let round = 0; round < (quick ? 1 : 5); round++) {
      await record.part("container", "raw", async () =>
        record.add("container", "raw", "ready", "s", await byHand(home, engine, image)),
      );
      await record.part("container", "sandbook", async () => {
        const { ready, stopped } = await example(home, "container_ready", [engine, image, "1"]);
        record.add("container", "sandbook", "ready", "s", ready);
        record.add("container", "sandbook", "stopped", "s", stopped);
      });
    }
  } finally {
    await home.remove();
  }
}

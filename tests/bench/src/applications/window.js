// The real window, driven by WebKit's driver. The driver's own work is part of what it takes.

import { spawn } from "node:child_process";

import { commandLine, freePort, memory, until } from "../processes.js";

const ENTER = "\uE006";
const SHIFT = "\uE008";
const BACKSPACE = "\uE003";

/** Starts the window with a notebook. Times are in seconds from the request to start it. */
export async function openWindow(home, notebook) {
  const port = await freePort();
  const base = `http://127.0.0.1:${port}`;
  // Without the variable the program does not let itself be driven.
  const environment = { ...home.environment, TAURI_WEBVIEW_AUTOMATION: "true" };
  const options = { cwd: home.notebooks, env: environment, stdio: "ignore" };
  spawn("WebKitWebDriver", [`--port=${port}`, "--host=127.0.0.1"], options);
  await until(
    () =>
      fetch(`${base}/status`).then(
        (answer) => answer.ok,
        () => false,
      ),
    20,
    "WebKitWebDriver",
  );

  const began = performance.now();
  const since = () => (performance.now() - began) / 1000;
  const say = async (method, path, body) => {
    const answer = await fetch(base + path, {
      method,
      body: body && JSON.stringify(body),
      signal: AbortSignal.timeout(60_000),
    });
    const { value } = await answer.json();
    if (value?.error) throw new Error(`${value.error}: ${value.message}`);
    return value;
  };
  const browser = { binary: process.env.SANDBOOK_BENCH_WINDOW, args: [notebook] };
  const capabilities = { alwaysMatch: { "webkitgtk:browserOptions": browser } };
  const { sessionId } = await say("POST", "/session", { capabilities });
  const session = `/session/${sessionId}`;
  const run = (script) => say("POST", `${session}/execute/sync`, { script, args: [] });
  const keys = (actions) => say("POST", `${session}/actions`, { actions: [{ type: "key", id: "keys", actions }] });
  const type = (key) =>
    keys([
      { type: "keyDown", value: key },
      { type: "keyUp", value: key },
    ]);

  /** Presses the mouse there; nothing where nothing is yet. */
  const press = async (selector) => {
    const at = await run(
      `const box = document.querySelector(${JSON.stringify(selector)})?.getBoundingClientRect();
       return box && box.height > 0 ? [Math.round(box.x + 20), Math.round(box.y + 8)] : null`,
    );
    if (!at) return;
    const actions = [
      { type: "pointerMove", x: at[0], y: at[1] },
      { type: "pointerDown", button: 0 },
      { type: "pointerUp", button: 0 },
    ];
    await say("POST", `${session}/actions`, { actions: [{ type: "pointer", id: "mouse", actions }] });
  };

  return {
    /** Until a typed character shows in the first cell. */
    async typing() {
      await until(
        () => run("return document.querySelector('article .src, article .cm-content') !== null"),
        60,
        "the first cell",
      );
      await until(
        async () => {
          await press("article .src, article .cm-content");
          return run("return document.activeElement.matches('.cm-content')");
        },
        20,
        "the editor",
      );
      await type("§");
      await until(
        () => run("return document.querySelector('article .cm-content').textContent.includes('§')"),
        20,
        "the key",
      );
      const took = since();
      await type(BACKSPACE);
      return took;
    },
    /** Until the cell's `print(1)` shows. */
    async print() {
      const down = (value) => ({ type: "keyDown", value });
      const up = (value) => ({ type: "keyUp", value });
      await keys([down(SHIFT), down(ENTER), up(ENTER), up(SHIFT)]);
      await until(
        () => run("return document.querySelector('article .cell__out')?.textContent.trim() === '1'"),
        60,
        "the result",
      );
      return since();
    },
    memory() {
      return memory(home.running().filter((pid) => !commandLine(pid).includes("WebKitWebDriver")));
    },
    close: () => say("DELETE", session).catch(() => undefined),
  };
}

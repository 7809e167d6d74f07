// JupyterLab with its own server. Questions about the model go through its application object, what is visible is read from
// the page.

import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";

import { Home, freePort, memory, until } from "../processes.js";

const TOKEN = "bench";

/** Runs in the page. */
function eyes() {
  const panel = () => window.jupyterapp.shell.currentWidget;
  const notebook = () => panel().content;
  const cell = (i) => notebook().widgets[i];
  window.__app = {
    booted: () =>
      !!window.jupyterapp &&
      !document.getElementById("jupyterlab-splash") &&
      !!document.querySelector("#jp-main-dock-panel"),
    open: (path) => void window.jupyterapp.commands.execute("docmanager:open", { path }),
    firstVisible: () =>
      window.__probe.isVisible(document.querySelector(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Cell")),
    source: (i) => cell(i)?.node.querySelector(".cm-content[contenteditable=true]"),
    output: (i) => [...cell(i).node.querySelectorAll(".jp-OutputArea-output")].at(-1),
    outputs: (i) => cell(i).node.querySelectorAll(".jp-OutputArea-child").length,
    prompt: (i) => cell(i).node.querySelector(".jp-InputPrompt"),
    count: () => notebook().widgets.length,
    node: (i) => cell(i)?.node,
    ran: (i) => /^\[\d+\]/.test(cell(i).node.querySelector(".jp-InputPrompt").textContent.trim()),
    ready: () => panel().sessionContext.isReady && panel().sessionContext.session.kernel.status === "idle",
    reveal: async (i) => {
      await Promise.race([notebook().scrollToItem(i), new Promise((resolve) => setTimeout(resolve, 1500))]);
      cell(i).node.scrollIntoView({ block: "center" });
    },
    unsaved: () => panel().context.model.dirty,
    scroller: () => {
      const outer = [...notebook().node.querySelectorAll(".jp-WindowedPanel-outer"), notebook().node];
      return outer.find((node) => node.scrollHeight > node.clientHeight + 10) ?? notebook().node;
    },
  };
}

class Running {
  constructor(home, port) {
    this.home = home;
    this.base = `http://127.0.0.1:${port}`;
    this.url = `${this.base}/lab?token=${TOKEN}`;
    this.folder = home.notebooks;
  }

  memory() {
    return memory(this.home.running());
  }

  address(name) {
    return `${this.base}/lab/tree/${name}.ipynb?token=${TOKEN}`;
  }

  answers() {
    return until(
      () =>
        fetch(`${this.base}/api`).then(
          (answer) => answer.ok,
          () => false,
        ),
      60,
      "JupyterLab's server",
    );
  }

  async boot(page) {
    await page.goto(this.url, { waitUntil: "commit" });
    await page.evaluate(() => window.__probe.when(() => window.__app.booted()));
    await page.evaluate(() => window.__probe.quiet(500));
  }

  open(page, name) {
    return page.evaluate((path) => {
      const began = performance.now();
      window.__app.open(path);
      return began;
    }, `${name}.ipynb`);
  }

  stop() {
    return this.home.remove();
  }
}

/** `unlimited` takes the server's limit on output away, without which it drops most of a flood. */
async function start({ home = new Home(), unlimited = false, wait = true } = {}) {
  const port = await freePort();
  // The question about news and the search for updates need a network and cover the page.
  const settings = home.at("config/lab/@jupyterlab/apputils-extension");
  mkdirSync(settings, { recursive: true });
  writeFileSync(`${settings}/notification.jupyterlab-settings`, '{"fetchNews":"false","checkForUpdates":false}');
  const words = [
    ...["-m", "jupyterlab", "--no-browser", "--allow-root", "--expose-app-in-browser"],
    ...[`--IdentityProvider.token=${TOKEN}`, `--ServerApp.port=${port}`, "--ServerApp.port_retries=0"],
    `--ServerApp.root_dir=${home.notebooks}`,
    ...(unlimited ? ["--ZMQChannelsWebsocketConnection.limit_rate=False"] : []),
  ];
  spawn(process.env.SANDBOOK_BENCH_PYTHON, words, { cwd: home.notebooks, env: home.environment, stdio: "ignore" });
  const running = new Running(home, port);
  if (wait) {
    try {
      await running.answers();
    } catch (error) {
      await home.remove();
      throw error;
    }
  }
  return running;
}

export const jupyterlab = { name: "jupyterlab", eyes, start };

// What a person does with keys and mouse, the same in every application.

import { sleep } from "./processes.js";

/** Presses into a cell's source and waits until it takes keys. */
export async function enter(page, index) {
  const end = performance.now() + 60_000;
  while (performance.now() < end) {
    if (await press(page, index)) return;
    await sleep(20);
  }
  throw new Error(`cell ${index} did not take the focus`);
}

async function press(page, index) {
  const at = await page.evaluate((i) => {
    const box = window.__app.source(i)?.getBoundingClientRect();
    // JupyterLab goes on moving cells that were brought into view.
    const away = box && (box.y < 0 || box.y + 8 > window.innerHeight);
    if ((away || !box) && performance.now() - (window.__revealed ?? 0) > 2000) {
      window.__revealed = performance.now();
      void window.__app.reveal(i);
    }
    return box && box.height > 0 && !away ? { x: box.x + Math.min(box.width - 4, 200), y: box.y + 8 } : null;
  }, index);
  if (!at) return false;
  await page.mouse.click(at.x, at.y);
  return page.evaluate((i) => {
    const source = window.__app.source(i);
    return document.activeElement !== document.body && source?.contains(document.activeElement) === true;
  }, index);
}

/** Types a character into the first cell as soon as that is possible. Answers the page's time when it showed, and removes it. */
export async function typeAtOnce(page) {
  const shown = page.evaluate(() => window.__probe.when(() => window.__app.source(0).textContent.includes("§")));
  shown.catch(() => undefined);
  await enter(page, 0);
  await page.keyboard.press("End");
  await page.keyboard.type("§");
  const at = await shown;
  await page.keyboard.press("Backspace");
  return at;
}

/** Opens a notebook in an application that runs. Times in seconds: to the first cell seen, to a character typed. */
export async function open(page, running, name) {
  const seen = page.evaluate(() => window.__probe.when(() => window.__app.firstVisible()));
  seen.catch(() => undefined);
  const began = await running.open(page, name);
  const first = await seen;
  const typing = await typeAtOnce(page);
  return { began, first: (first - began) / 1000, typing: (typing - began) / 1000 };
}

/** Where an application tells that its kernel is ready, waits for that. */
export const kernelIsReady = (page) =>
  page.evaluate(() => window.__app.ready && window.__probe.when(() => window.__app.ready(), 60_000, false));

/** Runs the first cell and waits for its result, so that a kernel is there; the second cell is active then. */
export async function startKernel(page) {
  await kernelIsReady(page);
  await enter(page, 0);
  for (let round = 0; ; round++) {
    await page.keyboard.press("Shift+Enter");
    const ran = page.evaluate(() =>
      window.__probe
        .when(() => window.__app.ran(0), 15_000)
        .then(
          () => true,
          () => false,
        ),
    );
    if (await ran) break;
    if (round === 3) throw new Error("the first cell did not run");
    await enter(page, 0);
  }
  await page.evaluate(() => window.__probe.quiet(1000));
}

/** Runs the active cell; its place in the notebook is `index`. Times in ms from the key: result in the page, painted. */
export async function runForResult(page, index, result) {
  const times = page.evaluate(
    async ([i, text]) => {
      const shown = await window.__probe.when(
        () => window.__probe.tail(window.__app.output(i)).trim() === text,
        20_000,
      );
      const key = window.__probe.lastEnter;
      const painted = await window.__probe.painted();
      await window.__probe.when(() => window.__app.ran(i), 20_000);
      return { shown: shown - key, painted: painted - key };
    },
    [index, result],
  );
  times.catch(() => undefined);
  await sleep(30);
  await page.keyboard.press("Shift+Enter");
  return times;
}

/** Runs the active cell to its end and until the page rests. Times in seconds; the worst gap between frames in ms. */
export async function runToEnd(page, index, seconds) {
  const done = page.evaluate(
    async ([i, timeout]) => {
      const pressed = window.__probe.lastEnter;
      await window.__probe.when(() => window.__probe.lastEnter > pressed, 10_000);
      const key = window.__probe.lastEnter;
      await window.__probe.painted();
      const ran = await window.__probe.when(() => window.__app.ran(i), timeout, false);
      const rest = await window.__probe.quiet(1000, timeout);
      const end = window.__probe.tail(window.__app.output(i), 400).trimEnd();
      return {
        done: (ran - key) / 1000,
        rest: (Math.max(ran, rest) - key) / 1000,
        gap: window.__probe.worstGap(key),
        end,
        outputs: window.__app.outputs(i),
      };
    },
    [index, seconds * 1000],
  );
  done.catch(() => undefined);
  await sleep(200);
  await page.keyboard.press("Shift+Enter");
  return done;
}

/** Saves and waits until nothing is unsaved. Answers ms from the key. */
export async function save(page, seconds = 60) {
  // Keys overtake what a driver asks of a busy page, so the ear is there before the key.
  await page.evaluate(() => {
    window.__saveKey = 0;
    const heard = (event) => {
      if (event.ctrlKey && event.key === "s") window.__saveKey = event.timeStamp;
    };
    window.addEventListener("keydown", heard, { capture: true });
  });
  const saved = page.evaluate(async (timeout) => {
    const at = await window.__probe.when(() => window.__saveKey > 0 && !window.__app.unsaved(), timeout);
    return at - window.__saveKey;
  }, seconds * 1000);
  saved.catch(() => undefined);
  await sleep(50);
  await page.keyboard.press("Control+s");
  return saved;
}

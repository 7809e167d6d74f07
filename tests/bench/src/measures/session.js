// One application with its browser, for the time of one part of a measure.

import { Browser } from "../browser.js";
import { Home, sleep } from "../processes.js";
import { write } from "../workloads.js";

/** Starts an application over a folder with these notebooks, then the browser, and ends both. */
export async function session(application, notebooks, options, body) {
  const home = new Home();
  write(home.notebooks, notebooks);
  let running, browser;
  try {
    running = await application.start({ home, ...options });
    browser = await Browser.launch(application);
    return await body({ running, browser, page: browser.page, home: running.home });
  } finally {
    await browser?.close();
    await running?.stop();
    await home.remove();
  }
}

/** Does something so many times for each of the applications in turn, so that a loaded minute falls on all of them. */
export async function alternate(record, measure, applications, rounds, action) {
  for (let round = 0; round < rounds; round++) {
    for (const application of applications) {
      await record.part(measure, application.name, () => action(application, round));
    }
  }
}

/** Memory of the page and the application, kernels aside, once it has settled. */
export async function settledMemory(browser, running) {
  await sleep(1500);
  return browser.memory() + running.memory();
}

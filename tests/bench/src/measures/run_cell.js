// Shift+Enter to the result in the page, and to the frame that shows it.

import { bare } from "../applications/bare.js";
import { jupyterlab } from "../applications/jupyterlab.js";
import { sandbook } from "../applications/sandbook.js";
import * as person from "../person.js";
import { alternate, session } from "./session.js";

export function runCell({ record, quick }) {
  const count = quick ? 12 : 50;
  return alternate(record, "run_cell", [bare, sandbook, jupyterlab], quick ? 1 : 2, (application) =>
    session(application, application === bare ? [] : ["additions"], {}, async ({ running, page }) => {
      if (application === bare) {
        await running.show(page, { cells: 101, editors: 101, source: "1+1" });
      } else {
        await running.boot(page);
        await person.open(page, running, "additions");
      }
      await person.startKernel(page);
      const times = [];
      for (let index = 1; index <= count; index++) times.push(await person.runForResult(page, index, "2"));
      record.add(
        "run_cell",
        application.name,
        "result in the page",
        "ms",
        times.map(({ shown }) => shown),
      );
      record.add(
        "run_cell",
        application.name,
        "result painted",
        "ms",
        times.map(({ painted }) => painted),
      );
    }),
  );
}

// What is wanted. A row compares one of our values with a peer's or a floor's from the same run, or with a fixed bound.

const of = (measure, who, metric, statistic = "p50") => ({ measure, who, metric, statistic });

/** `atMost` is a ratio where there is a peer, else a value in the series' unit. */
const ratio = (work, ours, peer, atMost) => ({ work, ours, peer, atMost });
const bound = (work, ours, limit) => ({ work, ours, ...limit });
/** A value that is shown, with a peer's beside it where there is one, and of which nothing is wanted. */
const told = (work, ours, peer) => ({ work, ours, peer });

/** The same row twice: the value in the page and the painted one. */
const both = (work, measure, metrics, peer, atMost, statistic) =>
  metrics.map((metric) =>
    ratio(
      `${work}: ${metric}, against ${peer}`,
      of(measure, "sandbook", metric, statistic),
      of(measure, peer, metric, statistic),
      atMost,
    ),
  );

const FLOODS = [
  ["lines", "1,000,000 printed lines"],
  ["long_line", "a line of 20 MB"],
  ["redraws", "2,000 redraws with `\\r`"],
];
const RICH = [
  ["images", "1,000 PNG of 20 KB", 1000],
  ["frames", "200 HTML of 50 KB", 200],
];
const OPENED = [
  ["open_cells1000", "open 1,000 cells"],
  ["open_cells5000", "open 5,000 cells"],
  ["open_large", "open 100 MB"],
];

export const TARGETS = [
  ratio("`1+1` over WebSocket", of("websocket", "sandbook", "1+1"), of("websocket", "raw", "1+1"), 1.15),
  told(
    "`1+1` over WebSocket, against code-sandboxes",
    of("websocket", "sandbook", "1+1"),
    of("websocket", "code-sandboxes", "1+1"),
  ),
  ratio("`1+1` over ZeroMQ", of("zeromq", "sandbook", "1+1"), of("zeromq", "raw", "1+1"), 1.1),
  ratio("`1+1` over the bridge, against ZeroMQ", of("bridge", "sandbook", "1+1"), of("bridge", "zeromq", "1+1"), 2),
  // What is in the page is compared with JupyterLab; what is painted, with what the browser itself takes for two frames.
  ...both("Shift+Enter", "run_cell", ["result in the page"], "jupyterlab", 0.25, "p50"),
  ...both("Shift+Enter", "run_cell", ["result painted"], "bare", 1.2, "p50"),
  ratio("start a kernel here", of("kernel", "sandbook", "start"), of("kernel", "raw", "start"), 1.1),
  bound("Monty: from nothing to the first result", of("monty", "sandbook", "first result"), { atMost: 30 }),
  bound("Monty: the next result", of("monty", "sandbook", "next result"), { atMost: 1 }),
  bound("what 100 pasted links are", of("paste", "sandbook", "100 links"), { atMost: 1 }),
  ratio("a container, ready", of("container", "sandbook", "ready"), of("container", "raw", "ready"), 1.3),
  ratio("stop a kernel here", of("kernel", "sandbook", "stop"), of("kernel", "raw", "stop"), 1.2),

  told(
    "`sandbook exec 'print(1)'`, start to end",
    of("command", "sandbook", "print(1)"),
    of("command", "raw", "print(1)"),
  ),
  told(
    "1,000,000 lines through `sandbook exec`, start to end",
    of("command", "sandbook", "1,000,000 lines"),
    of("command", "raw", "1,000,000 lines"),
  ),
  bound("1,000,000 lines through `sandbook exec`: kept", of("command", "sandbook", "1,000,000 lines: kept", "least"), {
    atLeast: 100,
  }),

  ratio("1,000,000 printed lines: done", of("lines", "sandbook", "done"), of("lines", "raw", "done"), 1.2),
  bound("1,000,000 printed lines: kept", of("lines", "sandbook", "kept", "least"), { atLeast: 100 }),
  bound("1,000,000 printed lines: memory growth", of("lines", "sandbook", "memory growth"), { atMost: 150 }),
  ratio(
    "a line of 20 MB: page at rest",
    of("long_line", "sandbook", "page at rest"),
    of("long_line", "jupyterlab", "page at rest"),
    0.15,
  ),
  bound("a line of 20 MB: kept", of("long_line", "sandbook", "kept", "least"), { atLeast: 100 }),
  ratio("2,000 redraws with `\\r`: done", of("redraws", "sandbook", "done"), of("redraws", "raw", "done"), 1.1),
  ...FLOODS.map(([measure, work]) =>
    bound(`${work}: worst frame gap`, of(measure, "sandbook", "worst frame gap"), { atMost: 50 }),
  ),
  ...RICH.flatMap(([measure, work, all]) => [
    ratio(`${work}: done`, of(measure, "sandbook", "done"), of(measure, "raw", "done"), 1.2),
    bound(`${work}: kept in the file`, of(measure, "sandbook", "kept", "least"), { atLeast: all }),
    bound(`${work}: in the page`, of(measure, "sandbook", "in the page", "least"), { atLeast: all }),
    bound(`${work}: not drawn when scrolled to`, of(measure, "sandbook", "not drawn when reached", "most"), {
      atMost: 0,
    }),
  ]),

  ...OPENED.flatMap(([measure, work]) =>
    ["first cell", "typing"].map((metric) =>
      ratio(`${work}: ${metric}`, of(measure, "sandbook", metric), of(measure, "jupyterlab", metric), 0.3),
    ),
  ),
  ratio(
    "open 100 MB: memory over the file's size",
    of("open_large", "sandbook", "memory over an empty notebook"),
    of("open_large", "sandbook", "size of the file"),
    2.5,
  ),
  ratio(
    "save 100 MB after one character",
    of("save", "sandbook", "100 MB after one character"),
    of("save", "raw", "copy and fsync"),
    1.5,
  ),
  bound("scroll 1,000 cells: worst frame gap", of("scroll", "sandbook", "worst frame gap"), { atMost: 50 }),
  bound(
    "scroll 1,000 cells: height known at the start",
    of("scroll", "sandbook", "height known at the start", "least"),
    { atLeast: 90 },
  ),
  ...both("key amid 1,000 cells, p95", "middle", ["key in the page"], "jupyterlab", 0.5, "p95"),
  ...both("key amid 1,000 cells, p95", "middle", ["key painted"], "bare", 1.2, "p95"),
  ratio(
    "insert a cell amid 1,000: painted",
    of("middle", "sandbook", "inserted cell painted"),
    of("middle", "jupyterlab", "inserted cell painted"),
    0.1,
  ),

  ratio(
    "start to a cell that takes typing, window",
    of("start", "window", "typing"),
    of("start", "jupyterlab", "typing"),
    0.2,
  ),
  ratio(
    "start to `print(1)` shown, window",
    of("start", "window", "print(1) shown"),
    of("start", "jupyterlab", "print(1) shown"),
    0.2,
  ),
  ratio(
    "start to a cell that takes typing, web mode",
    of("start", "sandbook", "typing"),
    of("start", "jupyterlab", "typing"),
    0.2,
  ),
  ratio(
    "start to `print(1)` shown, web mode",
    of("start", "sandbook", "print(1) shown"),
    of("start", "jupyterlab", "print(1) shown"),
    0.2,
  ),
  ratio(
    "memory with a small notebook, web mode",
    of("memory", "sandbook", "growth"),
    of("memory", "jupyterlab", "growth"),
    0.5,
  ),
  told("memory in total, window and program", of("memory", "window", "window and program in total")),
  told(
    "memory in total, browser and program in web mode",
    of("memory", "sandbook", "in total"),
    of("memory", "jupyterlab", "in total"),
  ),
];

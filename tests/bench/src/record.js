// What was measured: series of values with the machine's load around them, and what could not be measured with the reason.

import { loadavg } from "node:os";

const load = () => Math.round(loadavg()[0] * 100) / 100;

/** The value below which a share `q` of the values lies. */
export function quantile(values, q) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.round(q * (sorted.length - 1))))];
}

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

const STATISTICS = {
  p50: median,
  p95: (values) => quantile(values, 0.95),
  least: (values) => Math.min(...values),
  most: (values) => Math.max(...values),
};

export class Record {
  /** One entry a measure, who was measured, and what of it. */
  series = [];
  /** Why a measure, or a part of it, has no values. */
  failures = [];
  #load = load();

  /** Takes over what another run recorded of the measures that are not taken again. */
  keep({ series, failures }, again) {
    this.series.push(...series.filter(({ measure }) => !again.has(measure)));
    this.failures.push(...failures.filter(({ measure }) => !again.has(measure)));
  }

  /** The measures that have values or a reason for having none. */
  measures() {
    return [...this.series, ...this.failures].map(({ measure }) => measure);
  }

  add(measure, who, metric, unit, values, note = "") {
    const list = (Array.isArray(values) ? values : [values]).filter((value) => Number.isFinite(value));
    const before = this.#load;
    this.#load = load();
    if (list.length === 0) return;
    const known = this.#find(measure, who, metric);
    if (known) {
      known.values.push(...list);
      known.load[1] = this.#load;
      if (note && !known.note.includes(note)) known.note = [known.note, note].filter(Boolean).join("; ");
    } else {
      this.series.push({ measure, who, metric, unit, values: list, note, load: [before, this.#load] });
    }
    const shown = list.map((value) => Number(value.toPrecision(4))).slice(0, 5);
    console.log(`${measure.padEnd(12)} ${who.padEnd(11)} ${metric.padEnd(24)} ${shown.join(" ")} ${unit} ${note}`);
  }

  fail(measure, who, error) {
    const reason = String(error?.message ?? error)
      .split("\n")[0]
      .slice(0, 200);
    this.failures.push({ measure, who, reason });
    console.log(`${measure.padEnd(12)} ${who.padEnd(11)} not measured: ${reason}`);
    if (process.env.SANDBOOK_BENCH_TRACE) console.error(error);
  }

  /** Runs one part of a measure; where it fails, the reason is recorded and the others go on. */
  async part(measure, who, action) {
    try {
      await action();
    } catch (error) {
      this.fail(measure, who, error);
    }
  }

  /** A statistic of a series with the loads around it, or null where there is none. */
  value(measure, who, metric, statistic = "p50") {
    const found = this.#find(measure, who, metric);
    return found ? { value: STATISTICS[statistic](found.values), ...found } : null;
  }

  reason(measure, who) {
    const found = this.failures.find((failure) => failure.measure === measure && failure.who === who);
    return (found ?? this.failures.find((failure) => failure.measure === measure))?.reason ?? "no value";
  }

  #find(measure, who, metric) {
    return this.series.find((one) => one.measure === measure && one.who === who && one.metric === metric);
  }
}

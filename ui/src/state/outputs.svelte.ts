// Outputs of a cell. Each has its own state, so that a line that comes in touches one output and nothing else.

import type { OutputBody, OutputView, Patch, TextView } from "../platform";

type TextChange = Omit<Extract<Patch, { type: "text_changed" }>, "type" | "cell" | "output">;

/** Keeps the first lines of the head, puts the new ones behind them, replaces the tail. */
export const growText = (text: TextView, change: TextChange): TextView => ({
  head: [...text.head.slice(0, change.keep), ...change.append],
  tail: change.tail,
  total_lines: change.total_lines,
  total_bytes: change.total_bytes,
});

export class Output {
  readonly id: string;
  body: OutputBody = $state.raw({ type: "unknown", output_type: "" });

  constructor(view: OutputView) {
    this.id = view.id;
    this.body = view.body;
  }

  grow(change: TextChange): void {
    if (this.body.type === "text") this.body = { ...this.body, text: growText(this.body.text, change) };
  }
}

/** The outputs that stand in `views`; those that were there before keep their object, and with it their place in the page. */
export function reconcile(before: readonly Output[], views: readonly OutputView[]): Output[] {
  const known = new Map(before.map((output) => [output.id, output]));
  return views.map((view) => {
    const output = known.get(view.id);
    if (!output) return new Output(view);
    output.body = view.body;
    return output;
  });
}

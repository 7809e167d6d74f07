// The editor is optimistic: whatever order edits meet in, page and owner end with the same text.
import { type ChangeSet, Text } from "@codemirror/state";
import { describe, expect, it } from "vitest";

import type { SourceEdit } from "../src/platform";
import * as sources from "../src/state/source";

const insert = (source: sources.Source, at: number, text: string): sources.Source =>
  sources.edit(source, sources.changesOf([{ from: at, to: at, insert: text }], source.text.length));

/** The owner: rebases an edit over everything accepted since the revision it names, as crates/notebook does. */
class Owner {
  text: string;
  readonly log: { edits: SourceEdit[]; author: string; changes: ChangeSet }[] = [];

  constructor(text: string) {
    this.text = text;
  }

  accept(base: number, edits: readonly SourceEdit[], author: string): void {
    let length = this.text.length;
    for (const entry of this.log.slice(base).toReversed()) length = entry.changes.length;
    let changes = sources.changesOf(edits, length);
    for (const entry of this.log.slice(base)) changes = changes.map(entry.changes);
    this.text = changes.apply(Text.of(this.text.split("\n"))).toString();
    this.log.push({ edits: sources.editsOf(changes), author, changes });
  }
}

class Page {
  source: sources.Source;
  seen = 0;
  readonly name: string;

  constructor(name: string, text: string) {
    this.name = name;
    this.source = sources.sourceOf(text, 0);
  }

  type(at: number, remove: number, text: string): void {
    const from = Math.min(at, this.source.text.length);
    const to = Math.min(from + remove, this.source.text.length);
    this.source = sources.edit(this.source, sources.changesOf([{ from, to, insert: text }], this.source.text.length));
  }

  send(owner: Owner): void {
    const taken = sources.take(this.source);
    if (!taken) return;
    this.source = taken.source;
    owner.accept(taken.source.revision, taken.edits, this.name);
  }

  read(owner: Owner, most = Infinity): void {
    for (const entry of owner.log.slice(this.seen, this.seen + most)) {
      this.seen += 1;
      this.source =
        entry.author === this.name
          ? sources.acknowledge(this.source, this.seen)
          : sources.receive(this.source, entry.edits, this.seen).source;
    }
  }
}

/** A small generator of numbers, so that a failure can be seen again. */
function numbers(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 4294967296) * below);
  };
}

describe("typing", () => {
  it("shows at once and is sent in one piece per round trip", () => {
    let source = insert(sources.sourceOf("ab", 3), 1, "x");
    const first = sources.take(source);
    expect(first?.edits).toEqual([{ from: 1, to: 1, insert: "x" }]);
    source = insert(insert(first?.source ?? source, 2, "y"), 3, "z");
    expect(source.text).toBe("axyzb");
    expect(sources.take(source)).toBeNull();
    source = sources.acknowledge(source, 4);
    expect(sources.take(source)?.edits).toEqual([{ from: 2, to: 2, insert: "yz" }]);
  });

  it("counts in UTF-16 units", () => {
    const source = insert(sources.sourceOf("a😀b", 0), 3, "x");
    expect(source.text).toBe("a😀xb");
  });

  it("keeps a carriage return as a character", () => {
    const source = insert(sources.sourceOf("a\r\nb", 0), 3, "x");
    expect(source.text).toBe("a\r\nxb");
    expect(sources.take(source)?.edits).toEqual([{ from: 3, to: 3, insert: "x" }]);
  });
});

describe("two pages on one cell", () => {
  it("end with the owner's text, whoever typed what when", () => {
    for (let seed = 1; seed <= 300; seed++) {
      const random = numbers(seed);
      const start = "def f(x):\n    return x\n";
      const owner = new Owner(start);
      const pages = [new Page("one", start), new Page("two", start)];
      for (let step = 0; step < 40; step++) {
        const page = pages[random(2)];
        if (!page) continue;
        const action = random(4);
        if (action <= 1) page.type(random(page.source.text.length + 1), random(3), "qwertz\n".slice(0, random(5)));
        else if (action === 2) page.send(owner);
        else page.read(owner, 1 + random(3));
      }
      for (let round = 0; round < 4; round++) {
        for (const page of pages) {
          page.read(owner);
          page.send(owner);
        }
      }
      for (const page of pages) {
        page.read(owner);
        expect(page.source.text, `seed ${seed}`).toBe(owner.text);
        expect(sources.settled(page.source)).toBe(true);
      }
    }
  });
});

describe("after a gap", () => {
  it("takes the owner's text where everything had got through", () => {
    expect(sources.resume(sources.sourceOf("old", 1), "new", 7)).toEqual(sources.sourceOf("new", 7));
  });

  it("keeps what the page had not got through", () => {
    const typed = insert(sources.sourceOf("print()", 1), 6, "1");
    const resumed = sources.resume(typed, "print()", 5);
    expect(resumed.text).toBe("print(1)");
    expect(sources.take(resumed)?.edits).toEqual([{ from: 6, to: 6, insert: "1" }]);
  });

  it("does not send again what had got through after all", () => {
    const typed = sources.take(insert(sources.sourceOf("a", 1), 1, "b"))?.source;
    if (!typed) throw new Error("nothing to send");
    expect(sources.settled(sources.resume(typed, "ab", 2))).toBe(true);
  });

  it("leaves in place what others typed meanwhile", () => {
    const typed = insert(sources.sourceOf("one two", 1), 7, "!");
    const resumed = sources.resume(typed, "zero one two", 4);
    expect(resumed.text).toBe("zero one two!");
    expect(sources.take(resumed)?.edits).toEqual([{ from: 12, to: 12, insert: "!" }]);
  });

  it("sends only the rest, where what was on its way had arrived", () => {
    const first = sources.take(insert(sources.sourceOf("a", 1), 1, "b"))?.source;
    if (!first) throw new Error("nothing to send");
    const resumed = sources.resume(insert(first, 2, "c"), "ab", 2);
    expect(resumed.text).toBe("abc");
    expect(sources.take(resumed)?.edits).toEqual([{ from: 2, to: 2, insert: "c" }]);
  });
});

describe("the difference of two texts", () => {
  it("never cuts a character in two", () => {
    expect(sources.difference("a😀b", "a😁b")).toEqual({ from: 1, to: 3, insert: "😁" });
    // The same second half, another first one.
    expect(sources.difference("a\u{1f600}b", "a\u{1fa00}b")).toEqual({ from: 1, to: 3, insert: "\u{1fa00}" });
    expect(sources.difference("😀😀", "😀")).toEqual({ from: 2, to: 4, insert: "" });
  });
});

// Writes codemirror.json: random changes, and what CodeMirror makes of them. Run it when the rules should be compared
// with a newer release:  npm install @codemirror/state @codemirror/collab && node codemirror.mjs > codemirror.json
import { ChangeSet, Text } from "@codemirror/state";
import { rebaseUpdates } from "@codemirror/collab";

let seed = 20261129;
const random = (n) => {
  seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff;
  return (seed >> 8) % n;
};
const pieces = ["a", "b", "\n", "é", "xyz", "", "q\nr"];
const word = () => Array.from({ length: random(3) }, () => pieces[random(pieces.length)]).join("");
function changes(length) {
  const list = [];
  for (let count = 1 + random(3), at = 0; count > 0; count--) {
    const from = at + random(Math.max(1, length - at + 1));
    const to = Math.min(length, from + random(4));
    list.push({ from, to, insert: word() });
    at = to;
  }
  return ChangeSet.of(list, length);
}
const text = (value) => Text.of(value.split("\n"));

const pairs = [];
for (let number = 0; number < 250; number++) {
  const doc = Array.from({ length: random(8) }, () => pieces[random(5)]).join("");
  const a = changes(doc.length), b = changes(doc.length);
  const positions = Array.from({ length: doc.length + 1 }, (_, at) => [b.mapPos(at, -1), b.mapPos(at, 1)]);
  pairs.push({
    doc, a, b,
    applied: a.apply(text(doc)).toString(),
    inverse: a.invert(text(doc)),
    after: a.map(b), before: a.map(b, true),
    positions,
  });
}

const rebases = [];
for (let number = 0; number < 120; number++) {
  let length = random(8);
  const start = length;
  const updates = [], over = [];
  for (let count = 1 + random(3); count > 0; count--) {
    const update = changes(length);
    updates.push({ clientID: "me", changes: update });
    length = update.newLength;
  }
  length = start;
  const known = random(4) == 0 ? random(updates.length + 1) : 0;
  const update = changes(length);
  over.push({ clientID: "other", changes: update });
  // Some of what is sent was accepted before; its acknowledgement got lost.
  over.push(...rebaseUpdates(updates, over).slice(0, known));
  rebases.push({
    updates: updates.map((update) => update.changes),
    over: over.map((update) => [update.clientID, update.changes]),
    rebased: rebaseUpdates(updates, over).map((update) => update.changes),
  });
}
console.log(JSON.stringify({ pairs, rebases }));

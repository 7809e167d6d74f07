import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { python } from "@codemirror/lang-python";
import { bracketMatching, defaultHighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { EditorState } from "@codemirror/state";
import { EditorView, keymap } from "@codemirror/view";

const asked = new URLSearchParams(location.search);
const [count, editors, source] = [Number(asked.get("cells")), Number(asked.get("editors")), asked.get("source")];

const socket = new WebSocket(`ws://${location.host}/kernel`);
const cells = [];

const EXTENSIONS = [
  history(),
  python(),
  bracketMatching(),
  syntaxHighlighting(defaultHighlightStyle),
  keymap.of([{ key: "Shift-Enter", run: runAndGoOn }, ...defaultKeymap, ...historyKeymap]),
];

function runAndGoOn(view) {
  const index = cells.findIndex((cell) => cell.view === view);
  socket.send(JSON.stringify({ cell: index, code: view.state.doc.toString() }));
  if (index + 1 < cells.length) edit(cells[index + 1]).focus();
  return true;
}

function edit(cell) {
  if (!cell.view) {
    const state = EditorState.create({ doc: cell.still.textContent, extensions: EXTENSIONS });
    cell.view = new EditorView({ state });
    cell.still.replaceWith(cell.view.dom);
  }
  return cell.view;
}

function make(index) {
  const node = document.createElement("article");
  const [number, still, output] = ["span", "pre", "output"].map((name) => document.createElement(name));
  still.textContent = source.replaceAll("INDEX", String(index));
  node.append(number, still, output);
  const cell = { node, number, still, output, view: null };
  still.addEventListener("mousedown", (event) => {
    event.preventDefault();
    edit(cell).focus();
  });
  return cell;
}

for (let index = 0; index < count; index++) cells.push(make(index));
for (const cell of cells.slice(0, editors)) edit(cell);
document.body.append(...cells.map((cell) => cell.node));

socket.onmessage = ({ data }) => {
  const { cell, text, count: number } = JSON.parse(data);
  if (text !== undefined) cells[cell].output.textContent = text;
  if (number !== undefined) cells[cell].number.textContent = `[${number}]`;
};
socket.onopen = () => {
  window.bareIsReady = true;
};

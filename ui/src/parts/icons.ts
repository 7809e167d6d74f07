// One sprite for the whole page: a thousand cells refer to the same few drawings. Lucide gives the pictures; the state
// glyphs are our own, because each state needs a silhouette that reads without colour.
import arrowDown from "lucide-static/icons/arrow-down.svg?raw";
import arrowUp from "lucide-static/icons/arrow-up.svg?raw";
import ban from "lucide-static/icons/ban.svg?raw";
import book from "lucide-static/icons/book.svg?raw";
import caseSensitive from "lucide-static/icons/case-sensitive.svg?raw";
import check from "lucide-static/icons/check.svg?raw";
import chevronDown from "lucide-static/icons/chevron-down.svg?raw";
import chevronRight from "lucide-static/icons/chevron-right.svg?raw";
import chevronUp from "lucide-static/icons/chevron-up.svg?raw";
import chevronsRight from "lucide-static/icons/chevrons-right.svg?raw";
import circleAlert from "lucide-static/icons/circle-alert.svg?raw";
import circleCheck from "lucide-static/icons/circle-check.svg?raw";
import circleDashed from "lucide-static/icons/circle-dashed.svg?raw";
import clipboardPaste from "lucide-static/icons/clipboard-paste.svg?raw";
import code from "lucide-static/icons/code.svg?raw";
import copy from "lucide-static/icons/copy.svg?raw";
import download from "lucide-static/icons/download.svg?raw";
import ellipsis from "lucide-static/icons/ellipsis.svg?raw";
import externalLink from "lucide-static/icons/external-link.svg?raw";
import eye from "lucide-static/icons/eye.svg?raw";
import eyeOff from "lucide-static/icons/eye-off.svg?raw";
import fileText from "lucide-static/icons/file-text.svg?raw";
import filter from "lucide-static/icons/filter.svg?raw";
import folder from "lucide-static/icons/folder.svg?raw";
import folderOpen from "lucide-static/icons/folder-open.svg?raw";
import foldVertical from "lucide-static/icons/fold-vertical.svg?raw";
import gripVertical from "lucide-static/icons/grip-vertical.svg?raw";
import hourglass from "lucide-static/icons/hourglass.svg?raw";
import image from "lucide-static/icons/image.svg?raw";
import info from "lucide-static/icons/info.svg?raw";
import keyRound from "lucide-static/icons/key-round.svg?raw";
import keyboard from "lucide-static/icons/keyboard.svg?raw";
import layers from "lucide-static/icons/layers.svg?raw";
import link from "lucide-static/icons/link.svg?raw";
import listTree from "lucide-static/icons/list-tree.svg?raw";
import memoryStick from "lucide-static/icons/memory-stick.svg?raw";
import minus from "lucide-static/icons/minus.svg?raw";
import monitor from "lucide-static/icons/monitor.svg?raw";
import notebookText from "lucide-static/icons/notebook-text.svg?raw";
import panelBottom from "lucide-static/icons/panel-bottom.svg?raw";
import panelLeft from "lucide-static/icons/panel-left.svg?raw";
import panelRight from "lucide-static/icons/panel-right.svg?raw";
import pilcrow from "lucide-static/icons/pilcrow.svg?raw";
import pause from "lucide-static/icons/pause.svg?raw";
import play from "lucide-static/icons/play.svg?raw";
import plug from "lucide-static/icons/plug.svg?raw";
import plus from "lucide-static/icons/plus.svg?raw";
import power from "lucide-static/icons/power.svg?raw";
import redo2 from "lucide-static/icons/redo-2.svg?raw";
import refreshCw from "lucide-static/icons/refresh-cw.svg?raw";
import regex from "lucide-static/icons/regex.svg?raw";
import replace from "lucide-static/icons/replace.svg?raw";
import replaceAll from "lucide-static/icons/replace-all.svg?raw";
import rotateCw from "lucide-static/icons/rotate-cw.svg?raw";
import save from "lucide-static/icons/save.svg?raw";
import scissors from "lucide-static/icons/scissors.svg?raw";
import search from "lucide-static/icons/search.svg?raw";
import server from "lucide-static/icons/server.svg?raw";
import settings from "lucide-static/icons/settings.svg?raw";
import square from "lucide-static/icons/square.svg?raw";
import squareTerminal from "lucide-static/icons/square-terminal.svg?raw";
import table2 from "lucide-static/icons/table-2.svg?raw";
import textCursorInput from "lucide-static/icons/text-cursor-input.svg?raw";
import trash2 from "lucide-static/icons/trash-2.svg?raw";
import triangleAlert from "lucide-static/icons/triangle-alert.svg?raw";
import undo2 from "lucide-static/icons/undo-2.svg?raw";
import unfoldVertical from "lucide-static/icons/unfold-vertical.svg?raw";
import unplug from "lucide-static/icons/unplug.svg?raw";
import upload from "lucide-static/icons/upload.svg?raw";
import variable from "lucide-static/icons/variable.svg?raw";
import wholeWord from "lucide-static/icons/whole-word.svg?raw";
import wifiOff from "lucide-static/icons/wifi-off.svg?raw";
import wrench from "lucide-static/icons/wrench.svg?raw";
import x from "lucide-static/icons/x.svg?raw";

const lucide = {
  "arrow-down": arrowDown,
  "arrow-up": arrowUp,
  ban: ban,
  book: book,
  "case-sensitive": caseSensitive,
  check: check,
  "chevron-down": chevronDown,
  "chevron-right": chevronRight,
  "chevron-up": chevronUp,
  "chevrons-right": chevronsRight,
  "circle-alert": circleAlert,
  "circle-check": circleCheck,
  "circle-dashed": circleDashed,
  "clipboard-paste": clipboardPaste,
  code: code,
  copy: copy,
  download: download,
  ellipsis: ellipsis,
  "external-link": externalLink,
  eye: eye,
  "eye-off": eyeOff,
  "file-text": fileText,
  filter: filter,
  folder: folder,
  "folder-open": folderOpen,
  "fold-vertical": foldVertical,
  "grip-vertical": gripVertical,
  hourglass: hourglass,
  image: image,
  info: info,
  "key-round": keyRound,
  keyboard: keyboard,
  layers: layers,
  link: link,
  "list-tree": listTree,
  "memory-stick": memoryStick,
  minus: minus,
  monitor: monitor,
  "notebook-text": notebookText,
  "panel-bottom": panelBottom,
  "panel-left": panelLeft,
  "panel-right": panelRight,
  pilcrow: pilcrow,
  pause: pause,
  play: play,
  plug: plug,
  plus: plus,
  power: power,
  "redo-2": redo2,
  "refresh-cw": refreshCw,
  regex: regex,
  replace: replace,
  "replace-all": replaceAll,
  "rotate-cw": rotateCw,
  save: save,
  scissors: scissors,
  search: search,
  server: server,
  settings: settings,
  square: square,
  "square-terminal": squareTerminal,
  "table-2": table2,
  "text-cursor-input": textCursorInput,
  "trash-2": trash2,
  "triangle-alert": triangleAlert,
  "undo-2": undo2,
  "unfold-vertical": unfoldVertical,
  unplug: unplug,
  upload: upload,
  variable: variable,
  "whole-word": wholeWord,
  "wifi-off": wifiOff,
  wrench: wrench,
  x: x,
};

const drawn = {
  "st-idle": `<circle cx="8" cy="8" r="4.75" fill="none" stroke="currentColor" stroke-width="1.5"/>`,
  "st-busy": `<circle cx="8" cy="8" r="4.75" fill="none" stroke="currentColor" stroke-width="1.5"/><path d="M8 3.25a4.75 4.75 0 0 0 0 9.5z" fill="currentColor"/>`,
  "st-start": `<circle cx="8" cy="8" r="4.75" fill="none" stroke="currentColor" stroke-width="1.5" opacity=".45"/><path d="M8 8V3.25A4.75 4.75 0 0 1 12.75 8z" fill="currentColor"/>`,
  "st-reconnect": `<path d="M12.9 8a4.9 4.9 0 0 1-8.6 3.2M3.1 8a4.9 4.9 0 0 1 8.6-3.2" fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round" stroke-dasharray="2.2 2.2"/><path d="M12.2 2.4v2.7H9.5M3.8 13.6v-2.7h2.7" fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round"/>`,
  "st-expired": `<rect x="2.75" y="2.75" width="10.5" height="10.5" rx="1.5" fill="none" stroke="currentColor" stroke-width="1.5"/><path d="M5.75 5.75l4.5 4.5M10.25 5.75l-4.5 4.5" stroke="currentColor" stroke-width="1.5" stroke-linecap="round"/>`,
  "st-stopped": `<rect x="4" y="4" width="8" height="8" rx="1" fill="none" stroke="currentColor" stroke-width="1.5"/>`,
  "st-ready": `<path d="M3.5 8.4l3 3 6-6.8" fill="none" stroke="currentColor" stroke-width="1.75" stroke-linecap="round" stroke-linejoin="round"/>`,
  "st-error": `<path d="M4.5 4.5l7 7M11.5 4.5l-7 7" fill="none" stroke="currentColor" stroke-width="1.75" stroke-linecap="round"/>`,
  "st-queue": `<g fill="currentColor"><circle cx="3.5" cy="8" r="1.4"/><circle cx="8" cy="8" r="1.4"/><circle cx="12.5" cy="8" r="1.4"/></g>`,
  "st-held": `<path d="M5.6 4v8M10.4 4v8" stroke="currentColor" stroke-width="1.75" stroke-linecap="round"/>`,
  "st-input": `<path d="M5 3.2h1.2c1 0 1.8.6 1.8 1.6v6.4c0 1 .8 1.6 1.8 1.6H11M11 3.2H9.8C8.8 3.2 8 3.8 8 4.8M5 12.8h1.2c1 0 1.8-.6 1.8-1.6" fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round"/>`,
  "st-edited": `<path d="M8 3v10M3.7 5.5l8.6 5M12.3 5.5l-8.6 5" stroke="currentColor" stroke-width="1.5" stroke-linecap="round"/>`,
  logo: `<path d="M2.2 5.9v4.2" stroke="var(--accent)" stroke-width="2.4" stroke-linecap="round"/><path d="M6 3h5.4M6 8h8M6 13h6.6" stroke="currentColor" stroke-width="2.2" stroke-linecap="round"/>`,
};

export type IconName = keyof typeof lucide | keyof typeof drawn;

const inner = (svg: string): string => svg.slice(svg.indexOf(">", svg.indexOf("<svg")) + 1, svg.lastIndexOf("</svg>"));

const symbol = (name: string, box: number, attributes: string, body: string): string =>
  `<symbol id="i-${name}" viewBox="0 0 ${box} ${box}"${attributes}>${body}</symbol>`;

const pen = ' fill="none" stroke="currentColor" stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round"';

export const sprite =
  Object.entries(drawn)
    .map(([name, body]) => symbol(name, 16, "", body))
    .join("") +
  Object.entries(lucide)
    .map(([name, svg]) => symbol(name, 24, pen, inner(svg)))
    .join("");

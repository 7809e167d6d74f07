// Which of an output's forms is shown: the owner lists them richest first, the page shows the first one it can. The others are
// offered. What can run code is shown in a frame and nowhere else.

import type { Representation } from "../platform";
import { isPlainTable } from "./table";

export type Drawing = "image" | "frame" | "table" | "markdown" | "latex" | "json" | "text";

const NAMES: Record<string, string> = {
  "text/html": "HTML",
  "text/plain": "Plain text",
  "text/markdown": "Markdown",
  "text/latex": "LaTeX",
  "application/json": "JSON",
  "application/javascript": "JavaScript",
  "image/svg+xml": "SVG",
  "image/png": "PNG",
  "image/jpeg": "JPEG",
  "image/gif": "GIF",
  "image/webp": "WebP",
};

const essence = (mediaType: string): string => (mediaType.split(";")[0] ?? "").trim().toLowerCase();

export const nameOf = (mediaType: string): string => NAMES[essence(mediaType)] ?? mediaType;

const IMAGES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp", "image/avif"]);

export const isJson = (mediaType: string): boolean => /^application\/(?:json|[\w.+-]+\+json)$/.test(essence(mediaType));

/** The page holds no more than this of one output. */
export const MOST = 512 * 1024;

/** Whether this drawing is made of the form's text. */
export const needsText = (drawing: Drawing | null): boolean =>
  drawing !== null && drawing !== "image" && drawing !== "frame";

/**
 * How a form is drawn, or null when this page cannot draw it. `text` is the form's, null while the page does not have it: then
 * the answer is what it will be once it came.
 */
export function drawingOf(form: Representation, text: string | null = form.text): Drawing | null {
  const type = essence(form.media_type);
  if (IMAGES.has(type)) return "image";
  if (type === "text/html" && (text === null ? form.table : isPlainTable(text))) return "table";
  if (form.framed) return "frame";
  if (text === null && (form.size > MOST || type === "text/plain")) return /^text\/|json$/.test(type) ? "frame" : null;
  if (type === "text/markdown") return "markdown";
  if (type === "text/latex") return "latex";
  if (isJson(type)) return "json";
  return type === "text/plain" ? "text" : null;
}

export const drawable = (forms: readonly Representation[]): Representation[] =>
  forms.filter((form) => drawingOf(form) !== null);

const ENDINGS: Record<string, string> = {
  "text/html": "html",
  "text/plain": "txt",
  "text/markdown": "md",
  "text/latex": "tex",
  "application/json": "json",
  "application/javascript": "js",
  "image/svg+xml": "svg",
  "image/jpeg": "jpg",
};

export function fileNameOf(form: Representation, stem: string): string {
  const type = essence(form.media_type);
  const ending = ENDINGS[type] ?? (isJson(type) ? "json" : (type.split("/")[1] ?? "bin").replace(/[^\w]/g, ""));
  return `${stem}.${ending}`;
}

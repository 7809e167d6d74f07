// Authors colour and centre things with style attributes. What only changes how text looks may stay; what could move a box out
// of its cell, cover the page or load something may not.

const ALLOWED = new Set([
  "color",
  "background-color",
  "text-align",
  "text-decoration",
  "font-weight",
  "font-style",
  "font-family",
  "font-size",
  "width",
  "max-width",
  "border",
  "border-collapse",
  "padding",
  "margin-left",
  "margin-right",
  "vertical-align",
  "list-style-type",
  "float",
]);

const UNSAFE = /url\s*\(|expression|var\s*\(|image|[\\<>@]/i;

export function safeStyle(style: string): string {
  const kept: string[] = [];
  for (const declaration of style.split(";")) {
    const colon = declaration.indexOf(":");
    if (colon < 0) continue;
    const name = declaration.slice(0, colon).trim().toLowerCase();
    const value = declaration.slice(colon + 1).trim();
    if (ALLOWED.has(name) && !UNSAFE.test(value) && value.length < 200) kept.push(`${name}: ${value}`);
  }
  return kept.join("; ");
}

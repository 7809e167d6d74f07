// Markdown to safe DOM. The order matters: marked makes HTML, DOMPurify throws away everything that could run, reach out or
// dress up as the page's own controls, and only then formulas and code colours are put in, made by us from plain text.

import createPurifier, { type Config } from "dompurify";
import { Marked } from "marked";

import { highlightStill } from "../editor/highlight";
import { language } from "../editor/languages";
import { fillMath, mathExtensions } from "./math";
import { safeStyle } from "./style";

const marked = new Marked({ gfm: true, extensions: mathExtensions });

const CONFIG: Config & { RETURN_DOM_FRAGMENT: true } = {
  USE_PROFILES: { html: true },
  FORBID_TAGS: [
    "style",
    "form",
    "input",
    "button",
    "textarea",
    "select",
    "option",
    "dialog",
    "marquee",
    "template",
    "audio",
    "video",
  ],
  FORBID_ATTR: [
    "srcset",
    "ping",
    "popover",
    "popovertarget",
    "autofocus",
    "tabindex",
    "contenteditable",
    "slot",
    "name",
    "usemap",
    "role",
  ],
  // Known schemes, and what is no address at all: every attribute's value passes here. Pictures may also be data.
  ALLOWED_URI_REGEXP: /^(?:(?:https?|mailto|attachment):|[^a-z]|[a-z+.-]+(?:[^a-z+.\-:]|$))/i,
  ALLOW_ARIA_ATTR: false,
  ALLOW_DATA_ATTR: false,
  ADD_ATTR: ["data-math"],
  // A heading called "app" must not become the page's #app.
  SANITIZE_NAMED_PROPS: true,
  RETURN_DOM_FRAGMENT: true,
};

const purifier = createPurifier(window);

purifier.addHook("uponSanitizeAttribute", (_node, data) => {
  if (data.attrName === "style") {
    data.attrValue = safeStyle(data.attrValue);
    if (data.attrValue === "") data.keepAttr = false;
  } else if (data.attrName === "class") {
    const kept = data.attrValue.split(/\s+/).filter((name) => /^language-[\w+#-]+$/.test(name));
    data.attrValue = kept.join(" ");
    if (kept.length === 0) data.keepAttr = false;
  }
});

export interface MarkdownOptions {
  /** The address of an attachment, perhaps later, or null when there is none of this name. */
  readonly attachment?: (name: string) => string | null | Promise<string | null>;
}

const LOOPBACK = /^(?:localhost|.*\.localhost|127(?:\.\d+){3}|0\.0\.0\.0|\[.*\])$/i;

/** A picture's address that a person may be led to: encrypted, and not a service of this computer. */
function isOutside(address: string): boolean {
  try {
    const url = new URL(address);
    return url.protocol === "https:" && !LOOPBACK.test(url.hostname);
  } catch {
    return false;
  }
}

/** What stands in place of a picture that is not drawn. */
function pictureNote(label: string, source: string): HTMLElement {
  const outside = isOutside(source);
  const note = document.createElement(outside ? "a" : "span");
  note.textContent = outside ? `${label} (opens in the browser)` : `${label} (not loaded: ${source})`;
  if (note instanceof HTMLAnchorElement) note.href = source;
  return note;
}

/** A picture from elsewhere would tell its server that this notebook is open: it becomes a link, or its address. */
function tameImages(root: DocumentFragment, options: MarkdownOptions): void {
  for (const image of root.querySelectorAll("img")) {
    const source = image.getAttribute("src") ?? "";
    const attachment = /^attachment:(.*)$/i.exec(source);
    const address = attachment ? (options.attachment?.(decodeURIComponent(attachment[1] ?? "")) ?? null) : null;
    if (address instanceof Promise) {
      image.removeAttribute("src");
      void address.then((later) => {
        if (later === null) image.replaceWith(pictureNote(image.alt || "Picture", source));
        else image.src = later;
      });
    } else if (address !== null) {
      image.src = address;
    } else if (!/^data:/i.test(source)) {
      image.replaceWith(pictureNote(image.alt || "Picture", source));
      continue;
    }
    image.decoding = "async";
  }
}

function tameLinks(root: DocumentFragment): void {
  for (const link of root.querySelectorAll("a[href]")) link.setAttribute("rel", "noopener noreferrer");
}

async function colourCode(root: DocumentFragment): Promise<void> {
  for (const code of root.querySelectorAll("pre > code")) {
    const name = /language-([\w+#-]+)/.exec(code.className)?.[1];
    const found = name === undefined ? null : await language(name);
    if (found) code.innerHTML = highlightStill((code.textContent ?? "").replace(/\n$/, ""), found);
  }
}

/** Headings in order, for the outline: no DOM needed. */
export function headings(source: string): { readonly level: number; readonly text: string }[] {
  const out: { level: number; text: string }[] = [];
  let fence: string | null = null;
  for (const line of source.split("\n")) {
    const mark = /^ {0,3}(```+|~~~+)/.exec(line)?.[1];
    if (mark !== undefined) {
      if (fence === null) fence = mark[0] ?? null;
      else if (mark.startsWith(fence)) fence = null;
      continue;
    }
    const heading = fence === null ? /^ {0,3}(#{1,6})\s+(.+?)\s*#*\s*$/.exec(line) : null;
    if (heading) out.push({ level: heading[1]?.length ?? 1, text: plainText(heading[2] ?? "") });
  }
  return out;
}

const plainText = (text: string): string =>
  text
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/<[^>]+>/g, "")
    .replace(/[*_`]/g, "")
    .trim();

/** Safe DOM at once; formulas and code colours follow within `done`. */
export function renderMarkdown(
  source: string,
  options: MarkdownOptions = {},
): { readonly fragment: DocumentFragment; readonly finish: (root: ParentNode) => Promise<void> } {
  const html = marked.parse(source, { async: false });
  const fragment = purifier.sanitize(html, CONFIG) as unknown as DocumentFragment;
  tameImages(fragment, options);
  tameLinks(fragment);
  return {
    fragment,
    finish: async (root) => {
      await Promise.all([fillMath(root), colourCode(root as DocumentFragment)]);
    },
  };
}

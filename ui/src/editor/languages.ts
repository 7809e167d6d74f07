// Python is always there. Other kernels' languages load when a notebook asks for one.

import { pythonLanguage } from "@codemirror/lang-python";
import { type Language, StreamLanguage, type StreamParser } from "@codemirror/language";

type Loader = () => Promise<StreamParser<unknown>>;

const LOADERS: Record<string, Loader> = {
  r: async () => (await import("@codemirror/legacy-modes/mode/r")).r,
  julia: async () => (await import("@codemirror/legacy-modes/mode/julia")).julia,
  bash: async () => (await import("@codemirror/legacy-modes/mode/shell")).shell,
  javascript: async () => (await import("@codemirror/legacy-modes/mode/javascript")).javascript,
  typescript: async () => (await import("@codemirror/legacy-modes/mode/javascript")).typescript,
  sql: async () => (await import("@codemirror/legacy-modes/mode/sql")).standardSQL,
  c: async () => (await import("@codemirror/legacy-modes/mode/clike")).c,
  "c++": async () => (await import("@codemirror/legacy-modes/mode/clike")).cpp,
  java: async () => (await import("@codemirror/legacy-modes/mode/clike")).java,
  rust: async () => (await import("@codemirror/legacy-modes/mode/rust")).rust,
  go: async () => (await import("@codemirror/legacy-modes/mode/go")).go,
  lua: async () => (await import("@codemirror/legacy-modes/mode/lua")).lua,
  ruby: async () => (await import("@codemirror/legacy-modes/mode/ruby")).ruby,
  xml: async () => (await import("@codemirror/legacy-modes/mode/xml")).xml,
  yaml: async () => (await import("@codemirror/legacy-modes/mode/yaml")).yaml,
  toml: async () => (await import("@codemirror/legacy-modes/mode/toml")).toml,
};

const ALIASES: Record<string, string> = {
  python: "python",
  python3: "python",
  py: "python",
  ipython: "python",
  ipython3: "python",
  sh: "bash",
  shell: "bash",
  zsh: "bash",
  js: "javascript",
  ts: "typescript",
  cpp: "c++",
  cpp17: "c++",
  html: "xml",
  svg: "xml",
  yml: "yaml",
  rs: "rust",
};

const loaded = new Map<string, Language>();

const canonical = (name: string): string => {
  const lower = name.toLowerCase();
  return ALIASES[lower] ?? lower;
};

/** The language, if it is here already. */
export function languageNow(name: string): Language | null {
  const id = canonical(name);
  if (id === "python") return pythonLanguage;
  return loaded.get(id) ?? null;
}

/** Markdown brings the grammars of HTML, CSS and JavaScript along: they wait until somebody edits a text cell. */
async function load(id: string): Promise<Language | null> {
  if (id === "markdown") return (await import("@codemirror/lang-markdown")).markdownLanguage;
  const mode = LOADERS[id];
  return mode ? StreamLanguage.define(await mode()) : null;
}

/** The language, loading it if there is such a one. */
export async function language(name: string): Promise<Language | null> {
  const here = languageNow(name);
  if (here) return here;
  const id = canonical(name);
  const made = await load(id);
  if (made) loaded.set(id, made);
  return made;
}

// A plain pandas table as data. pandas writes a bare `<table class="dataframe">` with a style sheet of its own before it; that
// is parsed here, in a document that loads and runs nothing, and drawn by the page itself. Anything beyond it (a Styler, links,
// pictures, nested tables) stays HTML and goes into a frame.

export interface HeaderCell {
  readonly text: string;
  readonly span: number;
}

export interface TableData {
  /** Header rows; a cell may span columns. */
  readonly header: readonly (readonly HeaderCell[])[];
  /** How many leading columns name the rows. */
  readonly indexColumns: number;
  readonly rows: readonly (readonly string[])[];
  /** "5 rows × 8 columns", as pandas wrote it. */
  readonly dimensions: string | null;
}

const PLAIN = new Set([
  "TABLE",
  "THEAD",
  "TBODY",
  "TFOOT",
  "TR",
  "TH",
  "TD",
  "DIV",
  "STYLE",
  "P",
  "HTML",
  "HEAD",
  "BODY",
  "BR",
]);

export const isPlainTable = (html: string): boolean =>
  /<table[^>]*class="[^"]*\bdataframe\b/.test(html) && parseTable(html) !== null;

/** What was read last: a table is looked at several times while it is drawn. Its text is the key, so the sum is bounded. */
const parsed = new Map<string, TableData | null>();
const KEPT = 2_000_000;
let kept = 0;

/** The table, or null when it is more than a plain one. */
export function parseTable(html: string): TableData | null {
  const known = parsed.get(html);
  if (known !== undefined) return known;
  const table = read(html);
  if (kept + html.length > KEPT) {
    parsed.clear();
    kept = 0;
  }
  parsed.set(html, table);
  kept += html.length;
  return table;
}

function read(html: string): TableData | null {
  const page = new DOMParser().parseFromString(html, "text/html");
  const tables = page.querySelectorAll("table");
  const table = tables[0];
  if (!table || tables.length !== 1) return null;
  for (const element of page.querySelectorAll("*")) if (!PLAIN.has(element.tagName)) return null;
  // A Styler gives cells ids and classes; a plain frame gives none.
  if (table.querySelector("td[id], td[class], td[style], th[class], td[colspan]")) return null;
  const header = [...table.querySelectorAll("thead tr")].map((row) => [...row.children].map(headerCell));
  const body = [...table.querySelectorAll("tbody tr")];
  const rows = expand(body);
  const indexColumns = Math.max(0, ...body.map((row) => row.querySelectorAll("th").length));
  const note = page.querySelector("p")?.textContent?.trim() ?? null;
  return { header, indexColumns, rows, dimensions: note };
}

const headerCell = (cell: Element): HeaderCell => ({
  text: cell.textContent?.trim() ?? "",
  span: Number(cell.getAttribute("colspan") ?? 1) || 1,
});

/** Row headers of a MultiIndex span rows: the rows below them get an empty cell in their place. */
function expand(rows: readonly Element[]): string[][] {
  const pending: number[] = [];
  return rows.map((row) => {
    const out: string[] = [];
    const put = (text: string): void => void out.push(text);
    const fill = (): void => {
      while ((pending[out.length] ?? 0) > 0) {
        pending[out.length] = (pending[out.length] ?? 1) - 1;
        put("");
      }
    };
    for (const cell of row.children) {
      fill();
      const span = Number(cell.getAttribute("rowspan") ?? 1) || 1;
      if (span > 1) pending[out.length] = span - 1;
      put(cell.textContent?.trim() ?? "");
    }
    fill();
    return out;
  });
}

const quote = (text: string): string => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

export function toCsv(table: TableData): string {
  const header = table.header.map((row) =>
    row.flatMap((cell) => [cell.text, ...Array<string>(cell.span - 1).fill("")]),
  );
  return [...header, ...table.rows].map((row) => row.map(quote).join(",")).join("\n");
}

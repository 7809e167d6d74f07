// Notebooks for tests.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Writes a notebook of code cells that ran nowhere yet, for the kernel `python3`, and returns its path. */
export async function writeNotebook(folder: string, name: string, sources: readonly string[]): Promise<string> {
  const cells = sources.map((source, index) => ({
    cell_type: "code",
    execution_count: null,
    id: `cell-${index}`,
    metadata: {},
    outputs: [],
    source: source.split(/(?<=\n)/),
  }));
  const kernelspec = { display_name: "Python 3", language: "python", name: "python3" };
  const path = join(folder, name);
  await writeFile(path, `${JSON.stringify({ cells, metadata: { kernelspec }, nbformat: 4, nbformat_minor: 5 }, null, 1)}\n`);
  return path;
}

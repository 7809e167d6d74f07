// A notebook that tries to get out, and the listener that tells whether it did.

import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { type AddressInfo, type Server, createServer } from "node:net";
import { join } from "node:path";

interface Attacks {
  readonly outputs: readonly { readonly name: string; readonly media_type: string; readonly content: string }[];
  readonly markdown: readonly { readonly name: string; readonly content: string }[];
}

/** A service of this computer that nobody was meant to reach. */
export class Listener {
  /** The first line of what each connection said; empty where it said nothing. */
  readonly heard: string[] = [];

  private constructor(private readonly server: Server) {
    server.on("connection", (socket) => {
      const index = this.heard.push("") - 1;
      socket.on("data", (data) => (this.heard[index] ||= String(data).split("\r\n", 1)[0] ?? ""));
      socket.on("error", () => undefined);
      setTimeout(() => socket.end("HTTP/1.1 204 No Content\r\nAccess-Control-Allow-Origin: *\r\n\r\n"), 50);
    });
  }

  static async start(): Promise<Listener> {
    const server = createServer();
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return new Listener(server);
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  stop(): void {
    this.server.close();
  }
}

export interface HostileNotebook {
  readonly path: string;
  readonly outputs: readonly string[];
  readonly markdown: readonly string[];
}

/** Writes a notebook with every attack: one code cell for each output, one text cell for each piece of Markdown. */
export async function writeHostileNotebook(folder: string, port: number): Promise<HostileNotebook> {
  const text = await readFile(join(import.meta.dirname, "../../hostile/attacks.json"), "utf8");
  const attacks = JSON.parse(text.replaceAll("PORT", String(port))) as Attacks;
  const outputs = attacks.outputs.map(({ name, media_type, content }, index) => ({
    cell_type: "code",
    execution_count: index + 1,
    id: `output-${index}`,
    metadata: {},
    source: `# ${name}`,
    outputs: [{ output_type: "display_data", metadata: {}, data: { [media_type]: content, "text/plain": name } }],
  }));
  const markdown = attacks.markdown.map(({ content }, index) => ({
    cell_type: "markdown",
    id: `markdown-${index}`,
    metadata: {},
    source: content,
  }));
  const path = join(folder, "hostile.ipynb");
  const cells = [...markdown, ...outputs];
  await writeFile(path, JSON.stringify({ cells, metadata: {}, nbformat: 4, nbformat_minor: 5 }));
  return {
    path,
    outputs: attacks.outputs.map(({ name }) => name),
    markdown: attacks.markdown.map(({ name }) => name),
  };
}

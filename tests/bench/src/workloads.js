// The cells and notebooks that every application gets. Nothing here reads a clock or unseeded randomness.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { deflateSync } from "node:zlib";

const PNG_SOURCE = `import random, struct, zlib
def png(width, height, seed):
    r = random.Random(seed)
    raw = b"".join(b"\\0" + r.randbytes(width * 3) for _ in range(height))
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return (b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(raw, 0)) + chunk(b"IEND", b""))
`;

// Shaped like a plotting library's output: a box, 50 KB of JSON and a script that draws it as SVG.
const HTML_SOURCE = `import json, random
def figure(i):
    r = random.Random(i)
    body = json.dumps({"y": [round(r.random(), 12) for _ in range(3250)]})
    return (f'<div id="fig-{i}" style="height:120px"></div>'
            f'<script type="application/json" id="data-{i}">{body}</script>'
            f'<script>(function(){{var y=JSON.parse(document.getElementById("data-{i}").textContent).y;'
            f'var p=y.map(function(v,k){{return (k/10).toFixed(1)+","+(v*100).toFixed(1)}}).join(" ");'
            f'document.getElementById("fig-{i}").innerHTML='
            f'"<svg width=330 height=110><polyline fill=none stroke=black points=\\'"+p+"\\'/></svg>";}})();</script>')
`;

/** What a cell runs, and what tells that all of it came: the text's length and end, or the number of outputs. Each gets a
    notebook with a small first cell, so that the kernel runs before the measure begins. */
export const CELLS = {
  lines: {
    code: "for i in range(1_000_000): print(i)",
    end: "999999",
    characters: 6_888_890,
  },
  long_line: {
    code: "print('0123456789' * 2_000_000 + 'END')",
    end: "END",
    /** Sandbook shows the beginning of such a line and says how long it is. */
    cut: true,
    characters: 20_000_004,
  },
  redraws: {
    code: `import sys
for i in range(1, 2001):
    done = '#' * (i // 50)
    sys.stderr.write(f'\\r{i/20:3.0f}%|{done:<40}| {i}/2000 [00:00<00:00, 1000.00it/s]')
    sys.stderr.flush()
`,
    end: "2000/2000 [00:00<00:00, 1000.00it/s]",
  },
  images: {
    code: `${PNG_SOURCE}from IPython.display import display, Image
images = [png(81, 81, i) for i in range(1000)]
for image in images: display(Image(data=image, format='png'))`,
    outputs: 1000,
  },
  frames: {
    code: `${HTML_SOURCE}from IPython.display import display, HTML
figures = [figure(i) for i in range(200)]
for text in figures: display(HTML(text))`,
    outputs: 200,
  },
};

export function notebook(cells) {
  return {
    cells,
    metadata: {
      kernelspec: { display_name: "Python 3 (ipykernel)", language: "python", name: "python3" },
      language_info: { name: "python" },
    },
    nbformat: 4,
    nbformat_minor: 5,
  };
}

export const code = (index, source, outputs = [], count = null) => ({
  cell_type: "code",
  execution_count: count,
  id: `c${String(index).padStart(6, "0")}`,
  metadata: {},
  outputs,
  source,
});

const stream = (text) => ({ name: "stdout", output_type: "stream", text });

/** The notebooks by name. */
const NOTEBOOKS = {
  empty: () => notebook([code(0, "")]),
  small: () => notebook([code(0, "print(1)"), code(1, "x = 41\nx + 1")]),
  additions: () => notebook(Array.from({ length: 101 }, (_, index) => code(index, "1+1"))),
  cells1000: () => steps(1000),
  cells5000: () => steps(5000),
  large: () => large(),
  ...Object.fromEntries(
    Object.entries(CELLS).map(([name, { code: source }]) => [name, () => notebook([code(0, "1+1"), code(1, source)])]),
  ),
};

function steps(count) {
  const cell = (i) => {
    const source = `# step ${i}\nvalue_${i} = sum(k * k for k in range(${(i % 97) + 3}))\nfor k in range(3):\n    print('step ${i}', k, value_${i})`;
    return code(i, source, [stream([0, 1, 2].map((k) => `step ${i} ${k} 1234\n`).join(""))], i + 1);
  };
  return notebook(Array.from({ length: count }, (_, i) => cell(i)));
}

/** 100 MB: 30 images of 2 MB (80 MB as base64) and 20 texts of 1 MB. */
function large() {
  const image = (i) => {
    const data = `${png(816, 817, i).toString("base64")}\n`;
    return { data: { "image/png": data, "text/plain": "<Figure>" }, metadata: {}, output_type: "display_data" };
  };
  const text = (i) =>
    Array.from(
      { length: 18_500 },
      (_, k) => `${i} ${String(k).padStart(6, "0")} the quick brown fox jumps over the lazy dog\n`,
    );
  return notebook(
    Array.from({ length: 50 }, (_, i) =>
      i % 5 < 3 ? code(i, `plot(${i})`, [image(i)], i + 1) : code(i, `log(${i})`, [stream(text(i).join(""))], i + 1),
    ),
  );
}

/** A picture that does not compress. */
function png(width, height, seed) {
  let state = seed + 1;
  const next = () => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) >>> 24;
  const rows = Buffer.alloc(height * (width * 3 + 1));
  for (let at = 0; at < rows.length; at++) rows[at] = at % (width * 3 + 1) === 0 ? 0 : next();
  const chunk = (kind, data) => {
    const body = Buffer.concat([Buffer.from(kind), data]);
    const frame = Buffer.alloc(8);
    frame.writeUInt32BE(data.length, 0);
    frame.writeUInt32BE(crc(body), 4);
    return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)]);
  };
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2, 0, 0, 0], 8);
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([
    signature,
    chunk("IHDR", header),
    chunk("IDAT", deflateSync(rows, { level: 0 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

const TABLE = Array.from({ length: 256 }, (_, n) => {
  let c = n;
  for (let k = 0; k < 8; k++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
  return c >>> 0;
});

function crc(bytes) {
  let c = 0xffffffff;
  for (const byte of bytes) c = TABLE[(c ^ byte) & 0xff] ^ (c >>> 8);
  return (c ^ 0xffffffff) >>> 0;
}

const made = new Map();

/** Writes notebooks into a folder and returns nothing: each is `NAME.ipynb`. */
export function write(folder, names) {
  for (const name of names) {
    if (!made.has(name)) made.set(name, `${JSON.stringify(NOTEBOOKS[name](), null, 1)}\n`);
    writeFileSync(join(folder, `${name}.ipynb`), made.get(name));
  }
}

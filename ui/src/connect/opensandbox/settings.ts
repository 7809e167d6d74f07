// The form of a sandbox of OpenSandbox as the words of the runtime. What is wrong is the owner's to say.

/** What a person filled in. Empty texts mean what the runtime does by itself. */
export interface Form {
  readonly image: string;
  /** Words, as on a command line; those with spaces in quotes. */
  readonly entrypoint: string;
  readonly minutes: string;
  /** Cores, as "1.5". */
  readonly cpu: string;
  /** "8" is gigabytes; any other unit is written with it. */
  readonly memory: string;
  readonly throughServer: boolean;
}

const isNumber = (text: string): boolean => /^\d+(?:\.\d+)?$/.test(text);
const numberOrText = (text: string): number | string => (isNumber(text) ? Number(text) : text);

/** The words of a command, without their quotes. */
export const wordsOf = (text: string): readonly string[] =>
  [...text.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, double, single, bare]) => double ?? single ?? bare ?? "");

export function settingsOf(form: Form): Record<string, unknown> {
  const texts = [form.image, form.entrypoint, form.minutes, form.cpu, form.memory].map((text) => text.trim());
  const [image = "", entrypoint = "", minutes = "", cpu = "", memory = ""] = texts;
  return {
    ...(image === "" ? {} : { image }),
    ...(entrypoint === "" ? {} : { entrypoint: wordsOf(entrypoint) }),
    ...(minutes === "" ? {} : { minutes: numberOrText(minutes) }),
    ...(cpu === "" ? {} : { cpu: numberOrText(cpu) }),
    ...(memory === "" ? {} : { memory: isNumber(memory) ? `${memory} GB` : memory }),
    ...(form.throughServer ? { through_server: true } : {}),
  };
}

/** A text with what stands in backticks told apart: it is to be typed somewhere. */
export const commandsIn = (text: string): readonly { readonly text: string; readonly typed: boolean }[] =>
  text.split("`").map((part, index) => ({ text: part, typed: index % 2 === 1 }));

// The form of a Modal sandbox as the words of the runtime `modal`. What is wrong is the owner's to say; only what could not be
// sent at all is said here.

export type Network = "inherit" | "none" | "allowlist";

/** What a person filled in. Empty texts mean what the runtime does by itself. */
export interface Form {
  readonly gpu: string;
  /** Cores, as "1.5". */
  readonly cpu: string;
  /** "8" is gigabytes; any other unit is written with it. */
  readonly memory: string;
  readonly image: string;
  /** One a line. */
  readonly packages: string;
  /** Minutes until it ends whatever happens. */
  readonly life: string;
  /** Minutes without anything running; "0" for none. */
  readonly idle: string;
  readonly network: Network;
  readonly hosts: readonly string[];
}

/** What the owner calls a sandbox without a card. */
export const NO_CARD = "none";

const isNumber = (text: string): boolean => /^\d+(?:\.\d+)?$/.test(text);

const seconds = (minutes: string): number | string => (isNumber(minutes) ? Math.round(Number(minutes) * 60) : minutes);

export function settingsOf(form: Form): Record<string, unknown> {
  const [cpu, memory, image] = [form.cpu.trim(), form.memory.trim(), form.image.trim()];
  const packages = form.packages.split("\n").map((line) => line.trim());
  const listed = packages.filter((line) => line !== "");
  const [life, idle] = [form.life.trim(), form.idle.trim()];
  return {
    ...(form.gpu === NO_CARD ? {} : { gpu: form.gpu }),
    ...(cpu === "" ? {} : { cpu: isNumber(cpu) ? Number(cpu) : cpu }),
    ...(memory === "" ? {} : { memory: isNumber(memory) ? `${memory} GB` : memory }),
    ...(image === "" ? {} : { image }),
    ...(listed.length === 0 ? {} : { packages: listed }),
    ...(life === "" ? {} : { longest_life: seconds(life) }),
    ...(idle === "" ? {} : { idle_timeout: seconds(idle) }),
    network: form.network,
    ...(form.network === "allowlist" ? { allowed_hosts: form.hosts } : {}),
  };
}

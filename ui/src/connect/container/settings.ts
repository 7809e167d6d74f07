// The form of a container as the words of the runtime `docker`. What is wrong is the owner's to say; only what could not be sent
// at all is said here.

export type Network = "inherit" | "none" | "allowlist" | "all";
export type Access = "write" | "read" | "none";

export interface Folder {
  readonly source: string;
  readonly target: string;
  readonly readOnly: boolean;
}

/** What a person filled in. Empty texts mean what the runtime does by itself. */
export interface Form {
  readonly image: string;
  /** Cores, as "1.5". */
  readonly cpu: string;
  /** "8" is gigabytes; any other unit is written with it. */
  readonly memory: string;
  readonly network: Network;
  readonly hosts: readonly string[];
  readonly access: Access;
  readonly folders: readonly Folder[];
  readonly readOnly: boolean;
  readonly obtain: boolean;
}

const isNumber = (text: string): boolean => /^\d+(?:\.\d+)?$/.test(text);

/** A path of the person's home in full. */
export const fromHome = (path: string, home: string): string =>
  path === "~" || path.startsWith("~/") ? home + path.slice(1) : path;

export function settingsOf(form: Form, home: string): Record<string, unknown> {
  const [image, cpu, memory] = [form.image.trim(), form.cpu.trim(), form.memory.trim()];
  return {
    ...(image === "" ? {} : { image }),
    ...(cpu === "" ? {} : { cpu: isNumber(cpu) ? Number(cpu) : cpu }),
    ...(memory === "" ? {} : { memory: isNumber(memory) ? `${memory} GB` : memory }),
    network: form.network,
    ...(form.network === "allowlist" ? { allowed_hosts: form.hosts } : {}),
    folder: form.access,
    mounts: form.folders.map(({ source, target, readOnly }) => ({
      source: fromHome(source.trim(), home),
      target: target.trim(),
      read_only: readOnly,
    })),
    read_only: form.readOnly,
    obtain_image: form.obtain,
  };
}

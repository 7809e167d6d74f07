// A container on its way.

import type { SandboxChoice } from "../../platform";
import type { Workbench } from "../../state/workbench.svelte";
import { StartDraft } from "../start-draft.svelte";
import { type Access, type Folder, type Form, type Network, settingsOf } from "./settings";

export class ContainerDraft extends StartDraft {
  image = $state("");
  cpu = $state("");
  memory = $state("");
  network: Network = $state("inherit");
  hosts: readonly string[] = $state.raw([]);
  access: Access = $state("write");
  folders: readonly Folder[] = $state.raw([]);
  readOnly = $state(false);
  /** The name of the image that the person agreed to build or pull. */
  agreedTo: string | null = $state(null);

  readonly found = $derived(this.survey?.image ?? null);
  readonly agreed = $derived(this.found !== null && this.agreedTo === this.found.name);
  readonly isReady = $derived(
    this.busy === "" &&
      this.survey?.readiness.state === "ready" &&
      this.toFix === 0 &&
      this.found !== null &&
      (this.found.state !== "missing" || this.agreed),
  );
  readonly settings = $derived.by(() => settingsOf(this.#form, this.desk.workspace?.home ?? ""));

  constructor(desk: Workbench) {
    super(desk);
    this.keep = desk.settings?.keep_kernels ?? false;
  }

  protected get choice(): Extract<SandboxChoice, { type: "new" }> {
    return { type: "new", runtime: "docker", settings: this.settings };
  }

  get #form(): Form {
    const { image, cpu, memory, network, hosts, access, folders, readOnly } = this;
    return { image, cpu, memory, network, hosts, access, folders, readOnly, obtain: this.agreed };
  }
}

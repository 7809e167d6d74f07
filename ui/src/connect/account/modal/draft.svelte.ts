// A sandbox at Modal on its way: its card, its machine, its image, its end.

import { AccountDraft } from "../draft.svelte";
import { type Network, NO_CARD, settingsOf } from "./settings";

export class ModalDraft extends AccountDraft {
  gpu = $state(NO_CARD);
  cpu = $state("");
  memory = $state("");
  image = $state("");
  packages = $state("");
  life = $state("60");
  idle = $state("15");
  network: Network = $state("inherit");
  hosts: readonly string[] = $state.raw([]);

  override get settings(): Record<string, unknown> {
    const { gpu, cpu, memory, image, packages, life, idle, network, hosts } = this;
    return settingsOf({ gpu, cpu, memory, image, packages, life, idle, network, hosts });
  }
}

// Which of the three looks the page has. The last one is remembered on this computer, so that a start in the dark is dark from
// the first picture on, before the owner has said what the settings are.

import type { Workbench } from "./workbench.svelte";

export type Look = "light" | "dark" | "hc";

const KEY = "sandbook-look";

/** The `data-theme` that settings and system add up to. */
export function themeOf(desk: Workbench): Look {
  const theme = desk.settings?.theme ?? "system";
  if (theme === "high-contrast" || (theme === "system" && desk.system.contrast)) return "hc";
  if (theme === "dark" || (theme === "system" && desk.system.dark)) return "dark";
  return "light";
}

export const isDark = (desk: Workbench): boolean => themeOf(desk) !== "light";

export function wear(look: Look): void {
  document.documentElement.dataset.theme = look;
  try {
    localStorage.setItem(KEY, look);
  } catch {
    // A browser without storage starts in the light.
  }
}

export function wearLast(): void {
  let last: string | null = null;
  try {
    last = localStorage.getItem(KEY);
  } catch {
    // As above.
  }
  if (last === "light" || last === "dark" || last === "hc") document.documentElement.dataset.theme = last;
}

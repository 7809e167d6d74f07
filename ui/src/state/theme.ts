import type { Workbench } from "./workbench.svelte";

/** The `data-theme` that settings and system add up to. */
export function themeOf(desk: Workbench): "light" | "dark" | "hc" {
  const theme = desk.settings?.theme ?? "system";
  if (theme === "high-contrast" || (theme === "system" && desk.system.contrast)) return "hc";
  if (theme === "dark" || (theme === "system" && desk.system.dark)) return "dark";
  return "light";
}

export const isDark = (desk: Workbench): boolean => themeOf(desk) !== "light";

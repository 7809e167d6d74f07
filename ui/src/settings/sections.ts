export const SECTIONS = ["Appearance", "Notebook", "Runtimes"] as const;

export const SECTIONS = ["Appearance", "Notebook", "Runtimes", "Credentials"] as const;

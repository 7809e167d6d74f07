// Two letters and a narrow colour edge for each kind of sandbox. The letters carry the meaning; a colour has their name.

/** The letters of each runtime, where only that is known: a saved connection, a pasted address. */
const OF_RUNTIME: Record<string, string> = {
  jupyter: "Js",
  docker: "Dk",
  eval: "Ev",
  monty: "Mt",
  kaggle: "Ka",
  colab: "Co",
  modal: "Mo",
  datalayer: "Dl",
  opensandbox: "Os",
};

/** A kernel of this computer has its own mark, though it is the same runtime as a server's. */
export const KERNEL_HERE = "Jy";
export const JUPYTER_SERVER = "Js";

const UNKNOWN = "··";
const KNOWN = new Set([KERNEL_HERE, ...Object.values(OF_RUNTIME)]);

export const lettersOf = (runtime: string): string => OF_RUNTIME[runtime] ?? UNKNOWN;
export const colourOf = (letters: string): string => (KNOWN.has(letters) ? letters.toLowerCase() : "ev");

// Two letters and a narrow colour edge for each kind of sandbox. The letters carry the meaning.

export interface MarkLook {
  readonly letters: string;
  readonly colour: string;
  readonly name: string;
}

const MARKS: Record<string, MarkLook> = {
  kernel: { letters: "Jy", colour: "jy", name: "Jupyter kernel" },
  jupyter: { letters: "Js", colour: "js", name: "Jupyter server" },
  docker: { letters: "Dk", colour: "dk", name: "Docker" },
  eval: { letters: "Ev", colour: "ev", name: "Eval" },
  monty: { letters: "Mt", colour: "mt", name: "Monty" },
  kaggle: { letters: "Ka", colour: "ka", name: "Kaggle" },
  colab: { letters: "Co", colour: "co", name: "Google Colab" },
  modal: { letters: "Mo", colour: "mo", name: "Modal" },
  datalayer: { letters: "Dl", colour: "dl", name: "Datalayer" },
  opensandbox: { letters: "Os", colour: "os", name: "OpenSandbox" },
};

const UNKNOWN: MarkLook = { letters: "··", colour: "ev", name: "Sandbox" };

export const markOf = (runtime: string): MarkLook => MARKS[runtime] ?? UNKNOWN;

import { createContext } from "svelte";

import type { Notebook } from "./notebook.svelte";
import type { Workbench } from "./workbench.svelte";

export const [getDesk, setDesk] = createContext<Workbench>();
export const [getNotebook, setNotebook] = createContext<Notebook>();

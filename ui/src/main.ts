import "@fontsource-variable/inter/wght.css";
import "@fontsource-variable/inter/wght-italic.css";
import "@fontsource-variable/jetbrains-mono/wght.css";
import "@fontsource-variable/jetbrains-mono/wght-italic.css";
import "./styles/fonts.css";
import "./styles/tokens.css";
import "./styles/app.css";
import "./styles/living.css";

import { mount } from "svelte";

import App from "./App.svelte";
import { choosePlatform } from "./platform";
import { wearLast } from "./state/theme";
import { Workbench } from "./state/workbench.svelte";

wearLast();
const target = document.getElementById("app");
if (target) {
  const desk = new Workbench(await choosePlatform());
  mount(App, { target, props: { desk } });
  desk.start();
}

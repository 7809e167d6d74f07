// What a person has to know of a cloud's page before joining its kernel.

import type { ConnectionView, RuntimeKind } from "../platform";

export interface Cloud {
  readonly kind: RuntimeKind;
  readonly title: string;
  /** What it is that has to stay open. */
  readonly page: string;
  readonly cost: string;
  readonly shared: string;
  readonly end: string;
  /** How long the link is good, in two words. */
  readonly left: string;
  /** How to come to a channels link. */
  readonly steps: readonly string[];
  /** What the fields take, where there is no link. */
  readonly addressHint: string;
  readonly kernelHint: string;
  readonly tokenHint: string;
  /** Whether there is nothing to join without a kernel and a token. */
  readonly needsAll: boolean;
}

const steps = (first: string): readonly string[] => [
  `${first} press F12, choose Network, then WS.`,
  "Run a cell there and click the entry that begins with channels.",
  "Right-click it, copy its URL, and paste that here.",
];

const CLOUDS: readonly Cloud[] = [
  {
    kind: "colab",
    title: "Google Colab",
    page: "Colab tab",
    cost: "Uses the compute units of the Colab account that opened the tab. A channels link does not show the balance.",
    shared: "The Colab tab and Sandbook use one kernel. Variables are shared, and cells queue behind each other.",
    end: "The link is good for an hour at most. Five minutes before, you are asked for a new one; what runs goes on.",
    left: "an hour at most",
    steps: steps("In the Colab tab"),
    addressHint: "The part before /api/kernels, such as https://8080-m-s-….prod.colab.dev/",
    kernelHint: "The part after /api/kernels/.",
    tokenHint: "What follows colab-runtime-proxy-token= in the link.",
    needsAll: true,
  },
  {
    kind: "kaggle",
    title: "Kaggle",
    page: "Kaggle page",
    cost: "Counts against the weekly GPU hours of the account that opened the page, also while idle.",
    shared: "The Kaggle page and Sandbook use one kernel. Variables are shared, and cells queue behind each other.",
    end: "When Kaggle ends the session. Files outside /kaggle/working are lost then.",
    left: "not reported",
    steps: steps("On the Kaggle page, with its session started,"),
    addressHint: "The part before /api/kernels, which ends in /proxy. The secret in it is hidden at once.",
    kernelHint: "The part after /api/kernels/. Without one a kernel is started, and removed afterwards.",
    tokenHint: "An API token, where the address holds no secret or its server asks for one.",
    needsAll: false,
  },
];

/** Every cloud whose pages can be joined. */
export const clouds = CLOUDS;

/** The cloud of a connection, if it is to one. */
export const cloudOf = (kind: ConnectionView["kind"]): Cloud | null =>
  CLOUDS.find((cloud) => cloud.kind === kind) ?? null;

/** The steps in a hint of the owner's that is written as `1. … 2. … 3. …`; none in any other. */
export const stepsIn = (hint: string): readonly string[] =>
  hint.startsWith("1. ") ? hint.split(/(?:^|\s)\d\. /).filter((step) => step !== "") : [];

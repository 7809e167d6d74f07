// Colours that a program chose are nudged until they can be read on the page's own paper. Only 256-colour and true-colour
// text passes here: the sixteen named colours are tokens that tests/contrast.test.ts holds to the same floor.

export type Rgb = readonly [number, number, number];

/** Text must reach this ratio against what it stands on (WCAG 2.2, AA). */
export const FLOOR = 4.5;

/** `--surface-doc` of the three themes, in the order light, dark, high contrast. */
export const PAPER: readonly [Rgb, Rgb, Rgb] = [
  [255, 255, 255],
  [28, 33, 35],
  [0, 0, 0],
];

const linear = (channel: number): number => {
  const c = channel / 255;
  return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
};

export const luminance = ([r, g, b]: Rgb): number => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);

export function ratio(a: Rgb, b: Rgb): number {
  const [dark, light] = [luminance(a), luminance(b)].sort((x, y) => x - y) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

const mix = (from: Rgb, to: Rgb, t: number): Rgb => [
  Math.round(from[0] + (to[0] - from[0]) * t),
  Math.round(from[1] + (to[1] - from[1]) * t),
  Math.round(from[2] + (to[2] - from[2]) * t),
];

/** Moves `colour` towards black or white, whichever `paper` is further from, just far enough to be read. */
export function nudge(colour: Rgb, paper: Rgb): Rgb {
  if (ratio(colour, paper) >= FLOOR) return colour;
  const white: Rgb = [255, 255, 255];
  const black: Rgb = [0, 0, 0];
  const pole = ratio(white, paper) >= ratio(black, paper) ? white : black;
  let [low, high] = [0, 1];
  for (let i = 0; i < 8; i++) {
    const middle = (low + high) / 2;
    if (ratio(mix(colour, pole, middle), paper) >= FLOOR) high = middle;
    else low = middle;
  }
  return mix(colour, pole, high);
}

export const hex = ([r, g, b]: Rgb): string => "#" + ((1 << 24) | (r << 16) | (g << 8) | b).toString(16).slice(1);

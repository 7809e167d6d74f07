// What the owner says is wrong with settings, and where in a form it belongs.

import type { SettingProblem } from "../platform";

/** A name of a setting without its place in a list. */
const listOf = (setting: string): string => setting.replace(/\[\d+\]$/, "");

const sentence = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1).replace(/[.\s]*$/, ".");

/** What is wrong with a setting, or with anything in a list of that name. */
export function wrongWith(problems: readonly SettingProblem[], ...settings: readonly string[]): string {
  const reasons = problems.filter((problem) => settings.includes(listOf(problem.setting)));
  return [...new Set(reasons.map((problem) => sentence(problem.reason)))].join(" ");
}

/** What is wrong with one of a list. */
export const isWrong = (problems: readonly SettingProblem[], list: string, index: number): boolean =>
  problems.some((problem) => problem.setting === `${list}[${index}]`);

/** How many fields need a fix. */
export const fieldsToFix = (problems: readonly SettingProblem[]): number =>
  new Set(problems.map((problem) => problem.setting)).size;

// How Sandbook writes times, sizes and dates. Pure: "now" is passed in.

const two = (n: number): string => String(n).padStart(2, "0");

/** 0.61 s, 7.3 s, 2:31 from one minute, 1 h 31 m from one hour. */
export function duration(milliseconds: number): string {
  const seconds = Math.max(0, milliseconds) / 1000;
  if (seconds < 1) return `${seconds.toFixed(2)} s`;
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`;
  return clock(milliseconds);
}

/** 0:18, 5:52, 1 h 31 m: what ticks once a second. */
export function clock(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  if (seconds < 3600) return `${Math.floor(seconds / 60)}:${two(seconds % 60)}`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} m`;
}

/** The same in words, for screen readers and settings. */
export function spokenDuration(milliseconds: number): string {
  const seconds = Math.max(0, milliseconds) / 1000;
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(2) : Math.round(seconds)} seconds`;
  const parts = [
    [Math.floor(seconds / 3600), "hour"],
    [Math.floor((seconds % 3600) / 60), "minute"],
    [seconds < 3600 ? Math.floor(seconds % 60) : 0, "second"],
  ] as const;
  return parts.flatMap(([n, unit]) => (n === 0 ? [] : [`${n} ${n === 1 ? unit : `${unit}s`}`])).join(" ");
}

const UNITS = ["B", "KB", "MB", "GB", "TB"] as const;

/** 212 KB, 4.1 MB: decimal units, one decimal below ten from megabytes on. */
export function size(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  const text = value < 9.95 && unit > 0 ? value.toFixed(1) : String(Math.round(value));
  return `${text} ${UNITS[unit] ?? "B"}`;
}

export const count = (n: number): string => n.toLocaleString("en-US");

/** "1 line", "8,914 lines". */
export const plural = (n: number, one: string, many = `${one}s`): string => `${count(n)} ${n === 1 ? one : many}`;

const DAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"] as const;
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"] as const;

export const timeOfDay = (at: Date): string => `${two(at.getHours())}:${two(at.getMinutes())}`;
export const timeWithSeconds = (at: Date): string => `${timeOfDay(at)}:${two(at.getSeconds())}`;

const dayNumber = (at: Date): number =>
  Math.floor(new Date(at.getFullYear(), at.getMonth(), at.getDate(), 12).getTime() / 864e5);

/** 10:42 today, Yesterday, Tue 3 Dec; the year joins once it differs. */
export function when(at: Date, now: Date): string {
  const days = dayNumber(now) - dayNumber(at);
  if (days === 0) return timeOfDay(at);
  if (days === 1) return "Yesterday";
  const date = `${at.getDate()} ${MONTHS[at.getMonth()] ?? ""}`;
  return at.getFullYear() === now.getFullYear() ? `${DAYS[at.getDay()] ?? ""} ${date}` : `${date} ${at.getFullYear()}`;
}

// How amounts are written: money with its sign first, what else a provider sells with its word behind.

import type { AmountView, PriceView, SpendingView } from "../../platform";

const SIGNS: Record<string, string> = { USD: "$", EUR: "€", GBP: "£" };

/** $2.54, or 10.20 credits. */
export function amount({ value, unit }: AmountView): string {
  const sign = SIGNS[unit];
  const digits = value.toFixed(2);
  return sign === undefined ? `${digits} ${unit}` : sign + digits;
}

/** $1.10/h, or 61.20 credits/h. */
export function perHour(price: PriceView | null): string {
  if (price === null) return "not reported";
  return `${amount(price.per_hour)}/h${price.estimated === null ? "" : `, estimate, ${price.estimated}`}`;
}

/** The name of the button that spends it. */
export const startLabel = (spending: SpendingView | null): string =>
  spending === null
    ? "Start"
    : spending.at_most
      ? `Start, up to ${amount(spending.at_most)}`
      : "Start, price not reported";

/** What the most is made of: what was chosen, and what comes with it. */
export function partsOf(
  spending: SpendingView | null,
): { offer: AmountView; rest: AmountView | null; estimated: string | null } | null {
  const price = spending?.offers.find((offer) => offer.name === spending.chosen)?.price;
  const most = spending?.at_most;
  if (!price || !most || price.per_hour.unit !== most.unit) return null;
  const value = (price.per_hour.value * (spending.seconds ?? 0)) / 3600;
  const rest = most.value - value;
  return {
    offer: { value, unit: most.unit },
    rest: rest < 0.005 ? null : { value: rest, unit: most.unit },
    estimated: price.estimated,
  };
}

/** 10 min, 1 h, 1 h 30 min. */
export function minutesText(minutes: number): string {
  const [hours, rest] = [Math.floor(minutes / 60), Math.round((minutes % 60) * 10) / 10];
  return [hours > 0 ? `${hours} h` : "", rest > 0 || hours === 0 ? `${rest} min` : ""].filter(Boolean).join(" ");
}

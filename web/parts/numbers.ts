/** Numbers, money and times as people read them. */
const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/** `17,241`, as the command line writes it. */
export function count(value: number): string {
  return whole.format(value);
}

/** `1.2k`, `3.4M`: for places where the exact number is a title. */
export function short(value: number): string {
  if (value < 1_000) return String(value);
  const [unit, letter] = value < 1_000_000 ? [1_000, "k"] : [1_000_000, "M"];
  const scaled = value / unit;
  return `${scaled < 10 ? scaled.toFixed(1) : Math.round(scaled)}${letter}`;
}

/** Four digits below a dollar, because a turn often costs less than a cent. */
export function money(dollars: number): string {
  return `$${dollars.toFixed(dollars < 1 ? 4 : 2)}`;
}

/** What is there is never nothing, and what is not all is never all. */
export function percent(share: number): string {
  if (share > 0 && share < 0.005) return "<1\u202f%";
  if (share < 1 && share >= 0.995) return ">99\u202f%";
  return `${Math.round(share * 100)}\u202f%`;
}

export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function bytes(value: number): string {
  if (value < 1_024) return `${value} B`;
  return value < 1_048_576 ? `${(value / 1_024).toFixed(1)} KB` : `${(value / 1_048_576).toFixed(1)} MB`;
}

const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "narrow" });
const units: [Intl.RelativeTimeFormatUnit, number][] = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
];

/** `2h ago`. A clock that is ahead of the server's gives `now`, not a time in the future. */
export function ago(at: number, now: number): string {
  const passed = Math.max(0, now - at);
  if (passed > 30 * 86_400_000) return exactTime(at).slice(0, 10);
  const [unit, ms] = units.find(([, one]) => passed >= one) ?? ["minute", 0];
  return ms === 0 ? "now" : relative.format(-Math.floor(passed / ms), unit);
}

/** `2026-11-27 13:05:09` in the time zone of this browser. Days stand in this form everywhere. */
export function exactTime(at: string | number): string {
  // Sweden writes times as ISO 8601 does.
  return new Date(at).toLocaleString("sv-SE");
}

/** `13:05` in the time zone of this browser. */
export function timeOfDay(at: string | number): string {
  return exactTime(at).slice(11, 16);
}

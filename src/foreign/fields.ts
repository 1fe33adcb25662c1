/** Reads fields of JSON that another tool wrote. Nothing of it is certain: a field of another type counts as absent. */
import { timeMax } from "../domain/ids.ts";
import { isRecord } from "../system/guards.ts";

export type Fields = Record<string, unknown>;

export function fields(value: unknown): Fields {
  return isRecord(value) ? value : {};
}

export function textField(value: unknown): string {
  return typeof value === "string" ? value : "";
}

export function textOrNull(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

export function count(value: unknown): number {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : 0;
}

export function listField(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Returns a time in milliseconds, or `otherwise` if the value is no time. */
export function millis(value: unknown, otherwise: number): number {
  const time = typeof value === "number" ? value : Date.parse(textField(value));
  return Number.isFinite(time) && time > 0 && time <= timeMax ? Math.trunc(time) : otherwise;
}

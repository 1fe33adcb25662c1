/**
 * Checks the fields of what a program gives to the library, by a plain loop: a turn must not wait for a schema. A program that is
 * written in JavaScript gets the same errors as a client of the API (Y1).
 */
import { closest } from "fastest-levenshtein";
import { AptoveError } from "./errors.ts";

/** The form of one field. An absent field is always in its form. */
export interface FieldForm {
  /** What a value in another form is, as words that follow the field: `is not text`. */
  fault: string;
  fits(value: unknown): boolean;
  /** The fields of the value, if it is an object whose fields are known. */
  fields?: FieldForms;
  /** The fields that the object must have. */
  required?: readonly string[];
  /** The form of each element, if the value is a list. */
  each?: FieldForm;
}

export type FieldForms = Readonly<Record<string, FieldForm>>;

export const isText: FieldForm = { fault: "is not text", fits: (value) => typeof value === "string" };
export const isFlag: FieldForm = { fault: "is not true or false", fits: (value) => typeof value === "boolean" };
export const isNumber: FieldForm = { fault: "is not a number", fits: (value) => Number.isFinite(value) };
export const isFunction: FieldForm = { fault: "is not a function", fits: (value) => typeof value === "function" };
export const isObject: FieldForm = {
  fault: "is not an object",
  fits: (value) => typeof value === "object" && value !== null && !Array.isArray(value),
};

export function oneOf(...values: readonly (string | boolean)[]): FieldForm {
  const [only] = values;
  const fault = values.length === 1 ? `is not ${String(only)}` : `is none of ${values.join(", ")}`;
  return { fault, fits: (value) => values.some((one) => one === value) };
}

export function isListOf(each: FieldForm): FieldForm {
  return { fault: "is not a list", fits: Array.isArray, each };
}

/** The value is an object that has no other fields. */
export function hasFields(fields: FieldForms, required: readonly string[] = []): FieldForm {
  return { ...isObject, fields, required };
}

export function orNull(form: FieldForm): FieldForm {
  return { ...form, fits: (value) => value === null || form.fits(value) };
}

/** Throws `request_invalid`, which names the first field that is unknown, or in another form, or missing. */
export function checkFields(value: Readonly<Record<string, unknown>>, fields: FieldForms, path = ""): void {
  for (const name of Object.keys(value)) {
    const given = value[name];
    if (given === undefined) continue;
    const form = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (form === undefined)
      throw invalid(path + name, `is not known; the nearest known field is "${closest(name, Object.keys(fields))}"`);
    checkValue(given, form, path + name);
  }
}

function checkValue(value: unknown, form: FieldForm, field: string): void {
  if (!form.fits(value)) throw invalid(field, form.fault);
  if (form.each !== undefined && Array.isArray(value)) {
    for (let at = 0; at < value.length; at += 1) checkElement(value, form.each, { field, at });
  }
  if (form.fields === undefined || !isRecord(value)) return;
  checkFields(value, form.fields, `${field}.`);
  const missing = form.required?.find((name) => value[name] === undefined);
  if (missing !== undefined) throw invalid(`${field}.${missing}`, "is missing");
}

/** The name of an element is made only if it has a fault: a list may have thousands. */
function checkElement(list: readonly unknown[], form: FieldForm, { field, at }: { field: string; at: number }): void {
  if (!form.fits(list[at]) || form.fields !== undefined) checkValue(list[at], form, `${field}[${at}]`);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return isObject.fits(value);
}

export function invalid(field: string, message: string): AptoveError {
  return new AptoveError("request_invalid", `${field} ${message}`, { facts: { faults: [{ field, message }] } });
}

/**
 * The items that a client sends (O1). An item is checked by its type, so that a fault is found in the form that was meant.
 * Unknown fields are ignored; items that this server does not have are refused by name.
 */
import * as z from "zod";
import { badParameter, unsupported } from "../wire-error.ts";
import { parseWire } from "./parse.ts";

const textPart = z.object({ type: z.enum(["input_text", "output_text", "text"]), text: z.string() });
const refusalPart = z.object({ type: z.literal("refusal"), refusal: z.string() });
const imagePart = z.object({
  type: z.literal("input_image"),
  image_url: z.string().nullish(),
  file_id: z.string().nullish(),
});
const filePart = z.object({
  type: z.literal("input_file"),
  filename: z.string().nullish(),
  file_data: z.string().nullish(),
  file_url: z.string().nullish(),
  file_id: z.string().nullish(),
});
const contentPart = z.discriminatedUnion("type", [textPart, refusalPart, imagePart, filePart], {
  error: "is none of the supported values: 'input_text', 'input_image', 'input_file', 'output_text', 'refusal'",
});
const content = z.union([z.string(), z.array(contentPart)]);

export type WireContentPart = z.infer<typeof contentPart>;
export type WireContent = z.infer<typeof content>;

const message = z.object({
  type: z.literal("message"),
  role: z.enum(["user", "assistant", "system", "developer"]),
  content,
  phase: z.string().nullish(),
});
const functionCall = z.object({
  type: z.literal("function_call"),
  call_id: z.string().min(1),
  name: z.string().min(1),
  arguments: z.string(),
});
const functionCallOutput = z.object({
  type: z.literal("function_call_output"),
  call_id: z.string().min(1),
  output: content,
});
const itemReference = z.object({ type: z.literal("item_reference"), id: z.string().min(1) });
const compaction = z.object({ type: z.literal("compaction"), encrypted_content: z.string() });
/** Reasoning belongs to the provider that wrote it. What this server has of it is in its own history. */
const reasoning = z.object({ type: z.literal("reasoning") });

const byType = {
  message,
  function_call: functionCall,
  function_call_output: functionCallOutput,
  item_reference: itemReference,
  compaction,
  reasoning,
} as const;

export type WireInputItem =
  | z.infer<typeof message>
  | z.infer<typeof functionCall>
  | z.infer<typeof functionCallOutput>
  | z.infer<typeof itemReference>
  | z.infer<typeof compaction>;

/** Returns the items in their forms, without those that only this server's own output has. `at` is the parameter. */
export function parseItems(values: readonly unknown[], at: string): WireInputItem[] {
  return values.flatMap((value, index) => {
    const item = parseItem(value, `${at}[${index}]`);
    return item === null ? [] : [item];
  });
}

function parseItem(value: unknown, at: string): WireInputItem | null {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw badParameter(at, `Invalid type for '${at}': expected an object.`, "invalid_type");
  }
  const type = typeOf(value);
  if (type.startsWith("aptove:")) return null;
  const schema = Object.hasOwn(byType, type) ? byType[type as keyof typeof byType] : null;
  if (schema === null) {
    throw unsupported(`${at}.type`, `Input items of the type '${type}' are not supported by this server.`);
  }
  const item = parseWire(schema, { ...value, type }, at);
  return item.type === "reasoning" ? null : item;
}

/** A message may be without its type, and so may a reference, which then has its id alone. */
function typeOf(item: { type?: unknown; role?: unknown; id?: unknown }): string {
  if (typeof item.type === "string") return item.type;
  return item.role === undefined && typeof item.id === "string" ? "item_reference" : "message";
}

/** What a request has as its input: one text of the person, or a list of items. */
export const inputSchema = z.union([z.string(), z.array(z.unknown())]);

export function parseInput(input: z.infer<typeof inputSchema> | null | undefined): WireInputItem[] {
  if (input === undefined || input === null) return [];
  if (typeof input === "string") return [{ type: "message", role: "user", content: input }];
  return parseItems(input, "input");
}

/** The small schemas that the larger ones are made of. Each has a counterpart in the domain. */
import { chunkReasons } from "../domain/chunk.ts";
import * as z from "zod";
import { reasoningEfforts, reasoningSummaries } from "../domain/context.ts";
import { errorCatalogue, type ErrorCode } from "../domain/errors.ts";
import { isId } from "../domain/ids.ts";
import { limits } from "../domain/limits.ts";
import type { Usage } from "../domain/usage.ts";

export const idSchema = z
  .string()
  .refine(isId, "is not an id")
  .meta({ format: "uuid", description: "A lower-case UUID." });

/** False for February 30: the runtime reads it as a day in March. */
function isTime(text: string): boolean {
  const at = Date.parse(text);
  return !Number.isNaN(at) && new Date(at).toISOString() === text;
}

/** A time in ISO 8601, in UTC with milliseconds and `Z`. */
export const timeSchema = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/, {
    error: "is not a time in UTC with milliseconds",
    abort: true,
  })
  .refine(isTime, "is a time that does not exist")
  .meta({ format: "date-time" });

/** Text that is stored in a database column. PostgreSQL accepts neither a NUL nor an unpaired surrogate. */
export function columnText(): z.ZodString {
  return z
    .string()
    .max(limits.fieldCharactersMax)
    .refine((text) => !text.includes("\u0000"), "contains a NUL character")
    .refine((text) => text.isWellFormed(), "contains an unpaired surrogate");
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A client's own data, which is stored and returned but never interpreted. What would come back as something else is refused. */
export const metadataSchema = z
  .custom<Record<string, unknown>>(isObject, { error: "is not an object", abort: true })
  .superRefine((value, context) => {
    const message = metadataFault(value);
    if (message !== null) context.addIssue({ code: "custom", message });
  })
  .meta({ type: "object", additionalProperties: {} });

function metadataFault(metadata: Record<string, unknown>): string | null {
  const faults = new Set<string>();
  const text = JSON.stringify(metadata, (key, value: unknown) => {
    if (key === inherited) faults.add(inheritedKey);
    if (typeof value === "number" && !Number.isFinite(value)) {
      faults.add("has a number that is too large, such as 1e400; send it as a text");
    }
    return value;
  });
  if (text.length > limits.metadataCharactersMax) {
    faults.add(`is larger than ${limits.metadataCharactersMax} characters of JSON`);
  }
  return faults.size === 0 ? null : [...faults].join(", and ");
}

const inherited = "__proto__";
const inheritedKey = `has the key \`${inherited}\`, which programs lose; choose another name`;

/** Returns a schema that refuses a key which a record would leave out in silence. */
export function keepingAllKeys<S extends z.ZodType>(schema: S) {
  const hasAll = (value: unknown): boolean => !isObject(value) || !Object.hasOwn(value, inherited);
  return z.unknown().refine(hasAll, inheritedKey).pipe(schema);
}

const errorCodes = Object.keys(errorCatalogue) as [ErrorCode, ...ErrorCode[]];
export const errorCodeSchema = z.enum(errorCodes).meta({ id: "ErrorCode" });

export const failureSchema = z
  .object({
    code: errorCodeSchema,
    message: z.string(),
    retryable: z.boolean(),
    retryAfterSeconds: z
      .int()
      .min(0)
      .optional()
      .describe("How long the provider asked to wait, from the failure on. Absent: it asked for nothing."),
    fix: z.string().describe("What a person does about it, in one line. It is not stored."),
  })
  .meta({
    id: "Failure",
    description: "The reason for a failure. `retryable` is true if the same request may succeed when it is sent again.",
  });

export type WireFailure = z.infer<typeof failureSchema>;

export const warningSchema = z
  .object({ code: z.string(), message: z.string() })
  .meta({ id: "Warning", description: "A warning, which did not stop the turn." });

export const stopReasonSchema = z.enum(["stop", "length", "tool_calls", "content_filter", "interrupted", "step_limit"]);
export const turnStatusSchema = z.enum(["pending", "completed", "awaiting_tool_results", "failed", "archived"]);
export const roleSchema = z.enum(["admin", "member", "reader"]);

const tokens = z.int().min(0).nullable();
export const usageSchema = z
  .object({
    inputTokens: tokens,
    outputTokens: tokens,
    cachedTokens: tokens,
    reasoningTokens: tokens,
    totalTokens: tokens,
    cacheWriteTokens: z.int().min(0).optional().describe("The part of the input that was written to a cache."),
    costUsd: z.number().optional().describe("Cost in US dollars. Absent if the price is not known."),
    isPartial: z
      .literal(true)
      .optional()
      .describe(
        "Present if an answer was cut before the provider reported all counts: they are the least that were used.",
      ),
  })
  .meta({
    id: "Usage",
    description:
      "`inputTokens` includes the cached tokens, and `outputTokens` includes the reasoning tokens. A count that is not known is null.",
  });

export type WireTokenUsage = z.infer<typeof usageSchema>;

export function toWireUsage(of: Usage): WireTokenUsage {
  // Of an answer that was cut, nothing reported means nothing known.
  const known = (count: number): number | null => (of.isPartial === true && count === 0 ? null : count);
  return {
    inputTokens: known(of.input),
    outputTokens: known(of.output),
    cachedTokens: known(of.cached),
    reasoningTokens: known(of.reasoning),
    totalTokens: known(of.total),
    ...(of.written !== undefined && { cacheWriteTokens: of.written }),
    ...(of.costUsd !== undefined && { costUsd: of.costUsd }),
    ...(of.isPartial === true && { isPartial: true }),
  };
}

export const budgetIdsSchema = z
  .array(z.string())
  .optional()
  .describe(
    "The budgets that the next call of the model could pass. It is no call of a tool: an approval lets the model's call pass once, if the caller may set these budgets.",
  );

export const deferredCallSchema = z
  .object({
    callId: z.string(),
    name: z.string(),
    arguments: z.string().describe("JSON text exactly as the model wrote it. It may be invalid JSON."),
    waitsFor: z.enum(["client", "approval"]),
    budgetIds: budgetIdsSchema,
  })
  .meta({ id: "DeferredCall", description: "A tool call that waits for the client's result or for an approval." });

const answerFormatSchema = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("json") }),
  z.strictObject({
    type: z.literal("schema"),
    name: z.string(),
    schema: z.record(z.string(), z.unknown()),
    description: z.string().exactOptional(),
    strict: z.boolean().exactOptional(),
  }),
]);

export const modelSettingsSchema = z
  .strictObject({
    temperature: z.number().min(0).max(2).optional(),
    topP: z.number().min(0).max(1).optional().describe("The share of the most likely words that count."),
    maxOutputTokens: z.int().min(1).optional(),
    reasoningEffort: z.enum(reasoningEfforts).optional().describe("How long the model thinks. `none`: it does not."),
    reasoningSummary: z
      .enum(reasoningSummaries)
      .optional()
      .describe("How much of its reasoning the model shows. Absent: what the provider shows unasked."),
    verbosity: z.enum(["low", "medium", "high"]).optional().describe("The length and detail of the answer."),
    answerFormat: answerFormatSchema.optional().describe("The form of the answer. Absent: free text."),
    parallelToolCalls: z.literal(false).optional().describe("False: the model calls one tool at a time."),
    stop: z.array(z.string().min(1)).max(4).optional().describe("The answer ends before it has one of these texts."),
    maxSteps: z
      .int()
      .min(1)
      .max(limits.stepsPerTurnSettingMax)
      .optional()
      .describe("The most model calls of one turn. A turn that reaches it ends with the stop reason `step_limit`."),
    maxToolCalls: z.int().min(1).optional().describe("The most calls of the server's own tools in one turn."),
    compaction: z
      .literal(false)
      .optional()
      .describe("False: a history that is too long fails the turn with `context_window_exceeded`."),
    cacheKey: z.string().max(64).optional().describe("A name for the provider's cache, for providers that take one."),
  })
  .meta({ id: "ModelSettings" });

/** A query parameter that is exactly `true` or `false`. */
export function queryFlag() {
  return z.stringbool({ truthy: ["true"], falsy: ["false"], case: "sensitive" }).meta({ enum: ["true", "false"] });
}

/** A query parameter that is a whole number. It arrives as text. */
export function queryNumber(min: number, max?: number) {
  const error = `is not a whole number from ${min}${max === undefined ? " on" : ` to ${max}`}`;
  const number = z.int({ error }).min(min, { error });
  return z.preprocess(fromDecimal, max === undefined ? number : number.max(max, { error }));
}

/** A query parameter that is a number. It arrives as text. */
export function queryDecimal() {
  return z.preprocess(fromDecimal, z.number({ error: "is not a decimal number" }));
}

/** Returns the number of a decimal text. JavaScript takes an empty text, white space and `0x5` as numbers too; they stay texts, which are refused. */
function fromDecimal(value: unknown): unknown {
  return typeof value === "string" && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value;
}

/** A chunk that was found for a turn. */
export const chunkRefSchema = z.object({
  id: z.string(),
  path: z.string(),
  startLine: z.int(),
  endLine: z.int(),
  contentHash: z.string(),
  document: z
    .string()
    .optional()
    .describe("SHA-256 of the attached document; `path` is its name. Absent for a file of the repository."),
  wasSent: z.boolean(),
  notSentBecause: z.enum(chunkReasons).optional(),
});

/** The small values that the wire's larger shapes are made of, each with its domain counterpart. */
import { z } from "zod";
import { errorCatalogue } from "../domain/errors.ts";
import type { ErrorCode } from "../domain/errors.ts";
import { isId } from "../domain/ids.ts";
import { limits } from "../domain/limits.ts";
import type { Usage } from "../domain/usage.ts";

export const id = z.string().refine(isId, "is not an id").meta({ format: "uuid", description: "A lower-case UUID." });

/** ISO 8601 in UTC with milliseconds and `Z`. */
export const time = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/, "is not a time in UTC with milliseconds")
  .meta({ format: "date-time" });

/** Text that ends in a database's column: PostgreSQL takes neither a NUL nor half a surrogate pair. */
export function columnText(): z.ZodString {
  return z
    .string()
    .max(limits.fieldCharactersMax)
    .refine((text) => !text.includes("\u0000"), "contains a NUL")
    .refine((text) => text.isWellFormed(), "contains half a surrogate pair");
}

/** A client's own data: stored and given back, never read. */
export const metadata = z
  .record(z.string(), z.unknown())
  .refine((value) => JSON.stringify(value).length <= limits.metadataCharactersMax, {
    message: `is larger than ${limits.metadataCharactersMax} characters of JSON`,
  });

const errorCodes = Object.keys(errorCatalogue) as [ErrorCode, ...ErrorCode[]];
export const errorCode = z.enum(errorCodes).meta({ id: "ErrorCode" });

export const failure = z.object({ code: errorCode, message: z.string(), retryable: z.boolean() }).meta({
  id: "Failure",
  description: "Why something failed. `retryable`: the same may succeed when it is sent again.",
});

export const warning = z
  .object({ code: z.string(), message: z.string() })
  .meta({ id: "Warning", description: "Something worth saying that did not stop the turn." });

export const stopReason = z.enum(["stop", "length", "tool_calls", "content_filter", "interrupted", "step_limit"]);
export const turnStatus = z.enum(["pending", "completed", "awaiting_tool_results", "failed", "archived"]);
export const role = z.enum(["admin", "member", "reader"]);

const tokens = z.int().min(0);
export const usage = z
  .object({
    inputTokens: tokens,
    outputTokens: tokens,
    cachedTokens: tokens,
    reasoningTokens: tokens,
    totalTokens: tokens,
    costUsd: z.number().optional().describe("US dollars; absent where no price is known."),
  })
  .meta({ id: "Usage", description: "`inputTokens` includes cached ones, `outputTokens` includes reasoning." });

export type WireUsage = z.infer<typeof usage>;

export function toWireUsage(of: Usage): WireUsage {
  return {
    inputTokens: of.input,
    outputTokens: of.output,
    cachedTokens: of.cached,
    reasoningTokens: of.reasoning,
    totalTokens: of.total,
    ...(of.costUsd === undefined ? {} : { costUsd: of.costUsd }),
  };
}

export const deferredCall = z
  .object({
    callId: z.string(),
    name: z.string(),
    arguments: z.string().describe("JSON text exactly as the model wrote it; it may be invalid."),
    waitsFor: z.enum(["client", "approval"]),
  })
  .meta({ id: "DeferredCall", description: "A call that waits for an answer from outside." });

export const modelSettings = z
  .strictObject({
    temperature: z.number().min(0).max(2).optional(),
    maxOutputTokens: z.int().min(1).optional(),
    reasoningEffort: z.enum(["minimal", "low", "medium", "high"]).optional(),
  })
  .meta({ id: "ModelSettings" });

/** `true` or `false` in a query, and nothing else. */
export function queryFlag() {
  return z.stringbool({ truthy: ["true"], falsy: ["false"], case: "sensitive" }).meta({ enum: ["true", "false"] });
}

/** A number of the query: it comes as text, and what is none is told in the query's words. */
export function queryNumber(min: number, max?: number) {
  const error = `the query parameter takes a whole number from ${min}${max === undefined ? " on" : ` to ${max}`}`;
  const number = z.coerce.number({ error }).int({ error }).min(min, { error });
  return max === undefined ? number : number.max(max, { error });
}

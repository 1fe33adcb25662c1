/** Steps in responses: the model calls of a turn, including failed attempts. */
import * as z from "zod";
import { isoTime } from "../domain/ids.ts";
import type { Step } from "../domain/step.ts";
import { failureSchema, stopReasonSchema, timeSchema, toWireUsage, usageSchema } from "./values.ts";
import { toWireFailure } from "./wire-failure.ts";

export const stepSchema = z
  .object({
    index: z.int().describe("Number of the step, from 1. The routes for requests and responses take it as `step`."),
    provider: z.string(),
    model: z.string(),
    startedAt: timeSchema,
    endedAt: timeSchema,
    previousResponseId: z
      .string()
      .nullable()
      .describe("The response that the provider continued from its own memory. Null if there is none."),
    responseId: z.string().nullable(),
    requestBytes: z.int(),
    requestSha256: z.string(),
    status: z.enum(["completed", "failed"]),
    stopReason: stopReasonSchema.nullable(),
    failure: failureSchema.nullable(),
    usage: usageSchema,
  })
  .meta({ id: "Step" });
export type WireStep = z.infer<typeof stepSchema>;

export function toWireStep(of: Step): WireStep {
  return {
    index: of.index,
    provider: of.provider,
    model: of.model,
    startedAt: isoTime(of.startedAt),
    endedAt: isoTime(of.endedAt),
    previousResponseId: of.previousResponseId,
    responseId: of.responseId,
    requestBytes: of.request.bytes,
    requestSha256: of.request.sha256,
    status: of.outcome.status,
    stopReason: of.outcome.status === "completed" ? of.outcome.stopReason : null,
    failure: of.outcome.status === "failed" ? toWireFailure(of.outcome.failure) : null,
    usage: toWireUsage(of.usage),
  };
}

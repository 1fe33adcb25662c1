/** The schema of sessions in an export, and what their turns share with it. */
import * as z from "zod";
import { reasoningEfforts, reasoningSummaries } from "../../domain/context.ts";
import { limits } from "../../domain/limits.ts";
import { pinnableParts } from "../../domain/pin.ts";
import type { ExportedSession } from "./format.ts";
import { exactly, fieldText, jsonObject, list, sha256Hex, time, uuid, wholeFromOne, wholeFromZero } from "./schema.ts";

const labels = list(fieldText).refine(
  ({ length }) => length <= limits.labelsPerSessionMax,
  `has more than ${limits.labelsPerSessionMax} labels`,
);

const metadata = jsonObject.refine(
  (value) => JSON.stringify(value).length <= limits.metadataCharactersMax,
  `has more than ${limits.metadataCharactersMax} characters`,
);

export const settings = z.strictObject({
  temperature: z.number().exactOptional(),
  topP: z.number().exactOptional(),
  maxOutputTokens: z.number().exactOptional(),
  reasoningEffort: z.enum(reasoningEfforts).exactOptional(),
  reasoningSummary: z.enum(reasoningSummaries).exactOptional(),
  verbosity: z.enum(["low", "medium", "high"]).exactOptional(),
  answerFormat: z
    .discriminatedUnion("type", [
      z.strictObject({ type: z.literal("json") }),
      z.strictObject({
        type: z.literal("schema"),
        name: z.string(),
        schema: jsonObject,
        description: z.string().exactOptional(),
        strict: z.boolean().exactOptional(),
      }),
    ])
    .exactOptional(),
  parallelToolCalls: z.literal(false).exactOptional(),
  stop: z.array(z.string()).exactOptional(),
  maxSteps: wholeFromOne.exactOptional(),
  maxToolCalls: wholeFromOne.exactOptional(),
  compaction: z.literal(false).exactOptional(),
  cacheKey: z.string().exactOptional(),
});

const between = (min: number, max: number) =>
  z.number().refine((value) => value >= min && value <= max, `is not a number from ${min} to ${max}`);

/**
 * The settings of later turns, with the ranges that every door checks. What a turn was run with is a fact, so it may have
 * other values: a program that uses the library can set them.
 */
const sessionSettings = settings.extend({
  temperature: between(0, 2).exactOptional(),
  topP: between(0, 1).exactOptional(),
  maxOutputTokens: z
    .number()
    .refine((value) => Number.isSafeInteger(value) && value >= 1, "is not a whole number from 1")
    .exactOptional(),
});

export const passage = {
  turnId: uuid,
  part: z.enum(pinnableParts),
  from: wholeFromZero,
  to: wholeFromOne,
  contentHash: sha256Hex,
};

const pins = list(z.strictObject({ ...passage, id: uuid, depth: wholeFromOne, createdAt: time })).refine(
  ({ length }) => length <= limits.pinsPerSessionMax,
  `has more than ${limits.pinsPerSessionMax} pins`,
);

const namedTurns = list(
  z.strictObject({
    turnId: uuid,
    depth: wholeFromOne,
    name: fieldText.min(1).max(limits.turnNameCharactersMax),
  }),
).refine(
  ({ length }) => length <= limits.turnNamesPerSessionMax,
  `has more than ${limits.turnNamesPerSessionMax} names of turns`,
);

const turnNames = namedTurns.refine(
  (names) => new Set(names.map(({ turnId }) => turnId)).size === names.length,
  "names a turn twice",
);

export const exportedSessionSchema = exactly<ExportedSession>()(
  z.strictObject({
    id: uuid,
    name: fieldText,
    nameIsSet: z.boolean(),
    key: fieldText,
    description: fieldText,
    labels,
    category: fieldText.nullable(),
    rating: z.number().nullable(),
    agentContextId: fieldText,
    conversationContextId: fieldText,
    // Files of version 0.1.0 lack both.
    model: fieldText.nullable().default(null),
    settings: sessionSettings.default({}),
    workspaceId: fieldText.nullable(),
    repo: fieldText.nullable(),
    // Files of earlier builds lack it.
    otherRepos: z.array(fieldText).max(limits.repositoriesPerSessionMax).default([]),
    defaultLanguage: fieldText.nullable(),
    metadata,
    // Files of version 0.1.0 lack it.
    pins: pins.default([]),
    turnNames: turnNames.default([]),
    originTurnId: uuid.nullable(),
    headTurnId: uuid.nullable(),
    createdAt: time,
    updatedAt: time,
    archivedAt: time.nullable(),
  }),
);

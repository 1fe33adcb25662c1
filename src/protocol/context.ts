/** Contexts in requests and responses (G1). Their keys are those of `config.toml` in camel case. Unknown keys are refused. */
import * as z from "zod";
import type { AgentContext, ContextVersionFacts, ConversationContext } from "../domain/context.ts";
import { isoTime } from "../domain/ids.ts";
import { limits } from "../domain/limits.ts";
import { columnText, modelSettingsSchema, timeSchema, queryNumber } from "./values.ts";

const kind = z.enum(["agent", "conversation"]);

/** The parameters of a context's path. The configuration checks the other rules for names. */
export const contextParamsSchema = z.strictObject({ kind, name: z.string().regex(/^[a-zA-Z0-9][a-zA-Z0-9_-]{0,63}$/) });

const agentFields = z
  .strictObject({
    name: z.string().optional(),
    provider: z
      .string()
      .optional()
      .describe("A provider of the configuration. If absent: the default provider of the configuration."),
    index: z.string().optional(),
  })
  .meta({ id: "AgentContextFields" });

const tool = z.strictObject({
  name: z.string(),
  description: z.string().optional(),
  parameters: z.record(z.string(), z.unknown()),
  strict: z.boolean().optional(),
});

const mode = z.strictObject({
  instructions: z.string().optional(),
  tools: z.array(z.string()).optional(),
  forceTool: z.string().optional(),
});

const conversationFields = z
  .strictObject({
    name: z.string().optional(),
    bootPrompt: z.string().optional(),
    model: z.string().optional(),
    history: z.enum(["chain", "replay"]).optional(),
    retrieval: z.enum(["required", "optional", "off"]).optional(),
    toolResend: z.enum(["always", "when-changed"]).optional(),
    tools: z.array(tool).optional(),
    modes: z.record(z.string(), mode).optional(),
    openModes: z
      .boolean()
      .optional()
      .describe("True if a request may name any mode; an unknown one is like `ask`, with a warning. If absent: false."),
    settings: modelSettingsSchema.optional(),
    subagents: z.boolean().optional().describe("True if the model may start subagents. If absent: false."),
    rules: z.boolean().optional().describe("False if the model does not get the repository's rules. If absent: true."),
    place: z.boolean().optional().describe("False if the model does not learn where it works. If absent: true."),
    memory: z
      .boolean()
      .optional()
      .describe("False if the model neither gets the memory of the workspace nor adds to it. If absent: true."),
    skills: z.boolean().optional().describe("False if no skills are offered to the model. If absent: true."),
  })
  .meta({ id: "ConversationContextFields" });

const fields = z.union([agentFields, conversationFields]);
type AgentFields = z.output<typeof agentFields>;
type ConversationFields = z.output<typeof conversationFields>;

const version = z.int().min(1);

export const contextEditSchema = z
  .strictObject({
    content: z
      .record(z.string(), z.unknown())
      .describe("The whole context: a key that is left out gets its built-in value."),
    expectedVersion: version
      .optional()
      .describe(
        "The version that this edit is based on; `If-Match` is an alternative. If absent, the edit succeeds only if the context has no record, or if its record is retired.",
      ),
  })
  .meta({ id: "ContextEdit" });
export type WireContextEdit = z.input<typeof contextEditSchema>;

export const contextSchema = z
  .object({
    kind,
    id: z.string(),
    version: version
      .nullable()
      .describe(
        "The version of the org's record. Null: the context comes from the configuration, and the org has no record of it.",
      ),
    createdAt: timeSchema.nullable(),
    createdBy: z.string().nullable(),
    content: fields
      .nullable()
      .describe("The keys of the context, in the form that an edit accepts. Null: this version retired the context."),
  })
  .meta({ id: "Context" });
export type WireContext = z.infer<typeof contextSchema>;

export const contextListSchema = z.object({ contexts: z.array(contextSchema) }).meta({ id: "ContextList" });

export const contextVersionSchema = z
  .object({ version, createdAt: timeSchema, createdBy: z.string(), isRetired: z.boolean() })
  .meta({ id: "ContextVersion" });
export type WireContextVersion = z.infer<typeof contextVersionSchema>;

export const contextVersionsSchema = z
  .object({ versions: z.array(contextVersionSchema).describe("Newest first.") })
  .meta({ id: "ContextVersions" });

export const contextQuerySchema = z.strictObject({
  version: queryNumber(1).optional().describe("A version of the org's record; it may be an old one."),
});
export const retireQuerySchema = z.strictObject({
  expectedVersion: queryNumber(1)
    .optional()
    .describe("Retire the context only if this is its newest version; `If-Match` is an alternative."),
});
export const versionsQuerySchema = z.strictObject({
  before: queryNumber(2).optional().describe("Only versions before this one."),
  limit: queryNumber(1, limits.pageSizeMax).optional(),
});

export const modelsQuerySchema = z.strictObject({
  workspaceId: columnText().optional().describe("The workspace whose configuration counts."),
});

const tokenPrice = z.number().describe("US dollars for a million tokens.");

const offeredModel = z
  .object({
    provider: z.string(),
    model: z.string(),
    contextTokens: z.int().nullable().describe("The size of the context window. Null: it is not known."),
    price: z
      .object({ input: tokenPrice, cached: tokenPrice, output: tokenPrice })
      .nullable()
      .describe("Null: it is not known."),
    source: z
      .object({ page: z.string(), asOf: z.string().describe("The month in which it was read.") })
      .nullable()
      .describe("The page from which aptove has the price. Null: the model is not in its table."),
  })
  .meta({ id: "OfferedModel" });
export type WireOfferedModel = z.infer<typeof offeredModel>;

export const modelListSchema = z
  .object({
    models: z
      .array(offeredModel)
      .describe("Each provider's default first. The lists of the providers are kept for an hour."),
  })
  .meta({ id: "ModelList" });

export function toWireVersion({
  version: of,
  createdAt,
  createdBy,
  isRetired,
}: ContextVersionFacts): WireContextVersion {
  return { version: of, createdAt: isoTime(createdAt), createdBy, isRetired };
}

/** Converts a context into the keys that an edit accepts: without its id, and without keys that have no value. */
export function contextFields(of: AgentContext | ConversationContext): AgentFields | ConversationFields {
  if ("provider" in of) return { name: of.name, provider: of.provider, index: of.index };
  const { name, bootPrompt, model, history, retrieval, toolResend, tools, modes, settings } = of;
  const { subagents, rules, place, skills, memory, openModes } = of;
  return {
    name,
    bootPrompt,
    ...(model !== null && { model }),
    ...(history !== null && { history }),
    retrieval,
    toolResend,
    ...(tools.length > 0 && { tools: tools.map(({ effect: _effect, ...shown }) => shown) }),
    modes: Object.fromEntries(
      modes.map((one) => [
        one.id,
        {
          instructions: one.instructions,
          ...(one.tools !== null && { tools: one.tools }),
          ...(one.forceTool !== null && { forceTool: one.forceTool }),
        },
      ]),
    ),
    ...(Object.keys(settings).length > 0 && { settings }),
    ...(subagents !== undefined && { subagents }),
    ...(rules !== undefined && { rules }),
    ...(place !== undefined && { place }),
    ...(memory !== undefined && { memory }),
    ...(skills !== undefined && { skills }),
    ...(openModes !== undefined && { openModes }),
  };
}

/**
 * Converts camel-case keys of a request into the keys of `config.toml`; `toWireKeys` converts them back. Keys inside a
 * tool definition, and names that a person chose, are not changed.
 */
export function toFileKeys(content: Record<string, unknown>): Record<string, unknown> {
  return rekeyed(content, (key) => key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));
}

/** Converts the keys of `config.toml` into camel case: the inverse of `toFileKeys`. */
export function toWireKeys(entry: Record<string, unknown>): Record<string, unknown> {
  return rekeyed(entry, (key) => key.replace(/_([a-z])/g, (_all, letter: string) => letter.toUpperCase()));
}

function rekeyed(fieldsOf: Record<string, unknown>, rename: (key: string) => string): Record<string, unknown> {
  const table = (value: unknown): value is Record<string, unknown> =>
    typeof value === "object" && value !== null && !Array.isArray(value);
  const keys = (value: unknown): unknown =>
    table(value) ? Object.fromEntries(Object.entries(value).map(([key, inner]) => [rename(key), inner])) : value;
  return Object.fromEntries(
    Object.entries(fieldsOf).map(([key, value]) => {
      if (key === "settings") return [key, keys(value)];
      if (key !== "modes" || !table(value)) return [rename(key), value];
      return [key, Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, keys(inner)]))];
    }),
  );
}

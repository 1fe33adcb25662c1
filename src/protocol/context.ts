/** Contexts on the wire (G1). What a person writes has the keys of `config.toml` in camel case; unknown ones are refused. */
import { z } from "zod";
import type { AgentContext, ContextVersionFacts, ConversationContext } from "../domain/context.ts";
import { isoTime } from "../domain/ids.ts";
import { limits } from "../domain/limits.ts";
import { modelSettings, time, queryNumber } from "./values.ts";

const kind = z.enum(["agent", "conversation"]);

/** The rest of a name's rules is the configuration's. */
export const contextParams = z.strictObject({ kind, name: z.string().regex(/^[a-zA-Z0-9][a-zA-Z0-9_-]{0,63}$/) });

const agentFields = z
  .strictObject({
    name: z.string().optional(),
    provider: z.string().optional().describe("A provider that the configuration has; absent: the one at its top."),
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
    settings: modelSettings.optional(),
    subagents: z.boolean().optional().describe("Whether the model may begin subagents; absent: no."),
  })
  .meta({ id: "ConversationContextFields" });

const fields = z.union([agentFields, conversationFields]);
type AgentFields = z.output<typeof agentFields>;
type ConversationFields = z.output<typeof conversationFields>;

const version = z.int().min(1);

export const contextEdit = z
  .strictObject({
    content: z.record(z.string(), z.unknown()).describe("Whole: what is left out takes its built-in value."),
    expectedVersion: version
      .optional()
      .describe("The version that this edits; also by `If-Match`. Absent: only if there is none, or it is retired."),
  })
  .meta({ id: "ContextEdit" });
export type WireContextEdit = z.input<typeof contextEdit>;

export const context = z
  .object({
    kind,
    id: z.string(),
    version: version.nullable().describe("Null: the configuration says it, and the org keeps no record over it."),
    createdAt: time.nullable(),
    createdBy: z.string().nullable(),
    content: fields.nullable().describe("As it can be sent again; null: this version retired the context."),
  })
  .meta({ id: "Context" });
export type WireContext = z.infer<typeof context>;

export const contextList = z.object({ contexts: z.array(context) }).meta({ id: "ContextList" });

export const contextVersion = z
  .object({ version, createdAt: time, createdBy: z.string(), isRetired: z.boolean() })
  .meta({ id: "ContextVersion" });
export type WireContextVersion = z.infer<typeof contextVersion>;

export const contextVersions = z
  .object({ versions: z.array(contextVersion).describe("Newest first.") })
  .meta({ id: "ContextVersions" });

export const contextQuery = z.strictObject({
  version: queryNumber(1).optional().describe("Of the org's record; also one that no longer counts."),
});
export const retireQuery = z.strictObject({
  expectedVersion: queryNumber(1).optional().describe("Only if this is the newest; also by `If-Match`."),
});
export const versionsQuery = z.strictObject({
  before: queryNumber(2).optional().describe("Only versions before this one."),
  limit: queryNumber(1, limits.pageSizeMax).optional(),
});

export function toWireVersion({
  version: of,
  createdAt,
  createdBy,
  isRetired,
}: ContextVersionFacts): WireContextVersion {
  return { version: of, createdAt: isoTime(createdAt), createdBy, isRetired };
}

/** A context as a person may write it: without its id, and without what is not said. */
export function contextFields(of: AgentContext | ConversationContext): AgentFields | ConversationFields {
  if ("provider" in of) return { name: of.name, provider: of.provider, index: of.index };
  const { name, bootPrompt, model, history, retrieval, toolResend, tools, modes, settings, subagents } = of;
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
  };
}

/**
 * The keys of `config.toml` for those of the wire, and back. Below a tool's own words, and for names that a person chose,
 * nothing is changed.
 */
export function toFileKeys(content: Record<string, unknown>): Record<string, unknown> {
  return rekeyed(content, (key) => key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));
}

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

/** The manifest of a turn in responses: what the turn gave to the model, each thing with its hash. */
import * as z from "zod";
import { skipReasons } from "../../domain/active-file.ts";
import type { ContextManifest } from "../../domain/context.ts";
import { mailboxKindSchema } from "../mailbox.ts";
import { idSchema, modelSettingsSchema, chunkRefSchema } from "../values.ts";
import { factRefSchema } from "../workspaces/memory.ts";
import { passageFields } from "./pin.ts";

const contextRef = z.object({
  id: z.string(),
  hash: z.string(),
  version: z
    .int()
    .optional()
    .describe("Version of the org's record that was used. Absent if the context came from the configuration."),
});

const rules = z
  .object({
    files: z
      .array(z.object({ path: z.string(), contentHash: z.string(), sizeBytes: z.int() }))
      .describe("The files at the end of the boot prompt, which are those of the session's start."),
    hash: z.string().describe("SHA-256 of that part of the boot prompt. Empty if it has none."),
    characters: z.int().describe("Its length in UTF-16 code units."),
    changed: z
      .array(z.object({ path: z.string(), contentHash: z.string(), wasSent: z.boolean() }))
      .optional()
      .describe(
        "Files that notes named since then; `wasSent`: in this turn. An empty hash: the file no longer counts.",
      ),
  })
  .meta({ id: "RulesRef" });

const place = z
  .object({
    folder: z.string(),
    platform: z.string(),
    date: z.string(),
    branch: z.string().nullable(),
    modifiedFiles: z.int().nullable().describe("How many files differed from the last commit. Null: unknown."),
    contentHash: z.string(),
    wasSent: z.boolean().describe("False if an earlier message of the history has the same text."),
  })
  .meta({ id: "PlaceRef" });

const skillRef = z.object({
  name: z.string(),
  source: z.enum(["repository", "workspace"]),
  path: z.string().describe("Of its SKILL.md, relative to the repository or to the folder of the workspace."),
  contentHash: z.string().describe("SHA-256 of its SKILL.md."),
});

const skills = z
  .object({
    offered: z.array(skillRef),
    contentHash: z.string().describe("SHA-256 of the list as the model has it."),
    wasSent: z.boolean().describe("False if an earlier message of the history has the same list."),
    read: z
      .array(z.object({ name: z.string(), path: z.string(), contentHash: z.string() }))
      .optional()
      .describe("The files of skills that the model read in this turn. Absent: none."),
  })
  .meta({ id: "SkillsRef" });

export const contextManifestSchema = z
  .object({
    agentContext: contextRef,
    conversationContext: contextRef,
    promptHash: z.string(),
    toolsHash: z.string(),
    history: z.enum(["none", "chain", "replay"]).describe("How the model received its history."),
    historyTurns: z.int(),
    settings: modelSettingsSchema,
    chunks: z.array(chunkRefSchema),
    searchWasKept: z
      .literal(true)
      .optional()
      .describe(
        "An earlier search found the chunks, with the same index, filters and question. Absent: it was searched.",
      ),
    activeFiles: z.array(
      z.object({
        path: z.string(),
        contentHash: z.string(),
        sizeBytes: z.int().nullable(),
        isTouched: z.boolean(),
        wasSentToLLM: z.boolean(),
        wasTooLargeToSend: z.boolean(),
      }),
    ),
    skippedFiles: z.array(
      z.object({
        path: z.string(),
        reason: z.enum(skipReasons),
        sizeBytes: z.int().nullable(),
      }),
    ),
    clientTools: idSchema
      .optional()
      .describe(
        "The turn that stored the tools that the client runs: this one, or an ancestor. Absent if there are none.",
      ),
    mailbox: z
      .array(z.object({ turnId: idSchema, subagentId: idSchema, kind: mailboxKindSchema, contentHash: z.string() }))
      .optional()
      .describe("Messages of subagents that the model received. Absent if there were none."),
    pins: z
      .array(
        z.object({
          ...passageFields,
          given: z
            .enum(["turn", "passage"])
            .describe("`turn`: the model has the turn itself. `passage`: it has the passage beside a summary."),
          wasSent: z.boolean().describe("True if a request of this turn was the first that had it beside a summary."),
        }),
      )
      .optional()
      .describe("Pinned passages of the history. Absent if there are none."),
    rules: rules.optional().describe("Rules of the repository that the model has. Absent if it has none."),
    place: place.optional().describe("The place in which the session worked. Absent if the model did not receive it."),
    facts: z
      .array(factRefSchema)
      .optional()
      .describe("Facts of the workspace's memory that the model has. Absent if it has none."),
    skills: skills.optional().describe("Skills that were offered to the model. Absent if none were."),
    // The document allows no other fields, so a field of the domain that is missing here does not compile.
  } satisfies Record<keyof ContextManifest, z.ZodType>)
  .meta({ id: "ContextManifest", description: "What the turn gave the model. Each item has its hash." });

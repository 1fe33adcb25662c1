/**
 * `POST /api/ai/agent/execute` on the wire (H1): one request and one answer for a browser, a thin command
 * line and a thick client. The JSON body is the contract; plain text and multipart are other ways to write it.
 */
import { z } from "zod";
import { fileBundle } from "./file-bundle.ts";
import { sessionFacts } from "./session.ts";
import {
  columnText,
  deferredCall,
  errorCode,
  id,
  modelSettings,
  queryFlag,
  stopReason,
  usage,
  warning,
} from "./values.ts";

/** Clients in languages that write absent fields as null are understood. */
function absent<T extends z.ZodType>(schema: T): z.ZodOptional<z.ZodNullable<T>> {
  return schema.nullish();
}

export const toolDefinition = z
  .strictObject({
    type: z
      .literal("function")
      .optional()
      .describe("Accepted because providers' formats carry it; it changes nothing."),
    name: z.string(),
    description: absent(z.string()),
    parameters: z.record(z.string(), z.unknown()).describe("A JSON Schema object."),
    strict: absent(z.boolean()),
    effect: absent(z.enum(["read", "write", "run"])).describe(
      "What a call may do. The model is never told; mode `ask` calls none that write or run.",
    ),
  })
  .meta({ id: "ToolDefinition" });

const activeFile = z
  .strictObject({
    path: z.string().describe("Relative to the repository, with forward slashes."),
    content: absent(z.string()).describe("The whole file as text."),
    contentBase64: absent(z.base64()).describe("The whole file's bytes; instead of `content`."),
    sha256: absent(z.string().regex(/^[0-9a-f]{64}$/, "is not a lower-case SHA-256")).describe(
      "Of the raw bytes. Needed without content: then it names a version that was sent earlier.",
    ),
    isTouched: absent(z.boolean()).describe("Whether the file differs from what git has."),
  })
  .refine((file) => file.content == null || file.contentBase64 == null, {
    message: "has both content and contentBase64; give one",
  })
  .refine((file) => file.content != null || file.contentBase64 != null || file.sha256 != null, {
    message: "has neither content nor sha256",
  })
  .meta({ id: "ActiveFile" });

const mode = absent(z.enum(["file", "inline"])).describe(
  "`file` (the default): put where the model can read it with a tool. `inline`: into its context, at once.",
);
const mediaType = absent(z.string()).describe("For example `image/png`; absent: found out.");

const inputPart = z
  .discriminatedUnion("type", [
    z.strictObject({ type: z.literal("text"), text: z.string().describe("Part of the instruction, behind it.") }),
    z.strictObject({
      type: z.literal("url"),
      url: z.string().describe("Read when the turn begins; http and https, of the public net."),
      mode,
    }),
    z
      .strictObject({
        type: z.literal("file"),
        path: z.string().describe("Relative to the project, with forward slashes."),
        content: absent(z.string()).describe("The file as text. Without any content the file is only named."),
        contentBase64: absent(z.base64()).describe("The file's bytes; instead of `content`."),
        mediaType,
        mode,
      })
      .refine((file) => file.content == null || file.contentBase64 == null, {
        message: "has both content and contentBase64; give one",
      }),
    z.strictObject({
      type: z.literal("binary"),
      data: z.base64().describe("The bytes."),
      mediaType,
      name: absent(columnText()).describe("By which the model knows it."),
      mode,
    }),
  ])
  .meta({ id: "InputPart" });
export type WireInputPart = z.input<typeof inputPart>;

const toolResult = z
  .strictObject({
    callId: z.string(),
    output: absent(z.string()).describe("What the tool of yours gave."),
    error: absent(z.string()).describe("Instead of `output`: why the call failed."),
    approved: absent(z.boolean()).describe(
      "Instead of both, where `waitsFor` is `approval`: whether the call may run.",
    ),
    reason: absent(columnText()).describe("With `approved`: what the model is told of a denial."),
  })
  .refine(({ output, error, approved }) => [output, error, approved].filter((one) => one != null).length === 1, {
    message: "needs exactly one of output, error and approved",
  })
  .refine(({ approved, reason }) => reason == null || approved != null, {
    message: "has a reason without approved",
  })
  .meta({ id: "ToolResult", description: "The answer to a call that waits." });

/** Clients that keep the id in a string variable send an empty one at first. */
function idOrEmpty(description: string) {
  return z.union([id, z.literal("")]).meta({ description });
}

/** The fields that are one string each; on a plain-text request they stand in the query. */
const scalars = z.strictObject({
  sessionId: idOrEmpty("Absent or empty: a new session."),
  responseContinuationId: idOrEmpty(
    "Continue only if this turn is the session's head; a `responseContinuationId` of an earlier answer.",
  ),
  mode: columnText(),
  agentContextId: columnText(),
  conversationContextId: columnText(),
  model: columnText(),
  workspaceId: columnText(),
  repo: columnText(),
  commit: z
    .string()
    .regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/)
    .describe("Where the asker's working copy of `repo` stands; a warning says where the index is of another commit."),
  language: columnText(),
  toolsJson: z.string().describe("`tools` as a string of JSON; instead of `tools`."),
  toolChoiceName: columnText().describe("The tool that the model must call."),
  ifBusy: z
    .enum(["refuse", "queue", "interrupt", "steer"])
    .describe(
      "When a turn of the session is running. `refuse` (the default): 409. `queue`: run after it. `interrupt`: stop it, then run. `steer`: give it the instruction, which it gets at its next step, and answer with that turn.",
    ),
  transport: z
    .enum(["sse", "stream"])
    .describe(
      "`sse`: the answer is the stream of events. `stream`: answer 202 at once; the events are read from `eventsUrl`.",
    ),
});
const one = scalars.shape;

const ofTurn = z.strictObject({ turnId: id });

/** Pairs of fields that say different things of one turn, and why. */
const contradictions = [
  ["fork", "sessionId", "a fork begins a session of its own"],
  ["fork", "responseContinuationId", "a fork begins a session of its own"],
  ["fork", "rerun", "a rerun has its place beside the turn that it repeats"],
  ["rerun", "sessionId", "a rerun has its place beside the turn that it repeats"],
  ["rerun", "responseContinuationId", "a rerun has its place beside the turn that it repeats"],
  ["fire", "fork", "a mailbox is for the head of its own session"],
  ["fire", "rerun", "a rerun repeats what its turn was given"],
  ["session", "sessionId", "it tells of a new session"],
  ["session", "responseContinuationId", "it tells of a new session"],
] as const;

/** What cannot be handed to a running turn. */
const notSteered = ["input", "toolResults", "rerun", "fork", "fire"] as const;

const executeFields = z.strictObject({
  instruction: absent(z.string()).describe(
    "May be absent only when `toolResults`, `rerun`, `fire`, or texts in `input` are given.",
  ),
  input: absent(z.array(inputPart)).describe("What comes with the instruction; its texts are part of it."),
  sessionId: absent(one.sessionId),
  responseContinuationId: absent(one.responseContinuationId),
  fork: absent(ofTurn).describe(
    "A new session that continues this finished turn, of any session that the caller may read.",
  ),
  rerun: absent(ofTurn).describe(
    "Run this finished turn again, beside it: with the same instruction or, if there is one, with another.",
  ),
  fire: absent(z.boolean()).describe(
    "Bring the session's agent all messages of subagents that wait in the session's mailbox, each exactly once.",
  ),
  ifBusy: absent(one.ifBusy),
  mode: absent(one.mode),
  agentContextId: absent(one.agentContextId),
  conversationContextId: absent(one.conversationContextId),
  model: absent(one.model),
  workspaceId: absent(one.workspaceId),
  repo: absent(one.repo),
  commit: absent(one.commit),
  language: absent(one.language),
  toolsJson: absent(one.toolsJson),
  toolChoiceName: absent(one.toolChoiceName),
  transport: absent(one.transport),
  stream: absent(z.boolean()).describe("True is the same as `transport: sse`."),
  settings: absent(modelSettings),
  ragScope: absent(z.strictObject({ paths: z.array(columnText()).min(1) })).describe(
    "Retrieve only below these paths.",
  ),
  activeFiles: absent(z.array(activeFile)),
  tools: absent(z.array(toolDefinition)),
  toolResults: absent(z.array(toolResult)),
  session: absent(sessionFacts).describe("For a new session only."),
});

export const executeRequest = executeFields
  .superRefine((request, context) => {
    const says = (field: keyof typeof request): boolean => !["", false, null, undefined].includes(request[field] as "");
    for (const [field, other, why] of contradictions) {
      if (!says(field) || !says(other)) continue;
      context.addIssue({ code: "custom", path: [field], message: `cannot stand beside ${other}: ${why}` });
    }
    for (const field of notSteered) {
      if (request.ifBusy !== "steer" || !says(field)) continue;
      const message = `"steer" cannot stand beside ${field}: a running turn only takes a message`;
      context.addIssue({ code: "custom", path: ["ifBusy"], message });
    }
  })
  .meta({ id: "ExecuteRequest" });

/** What `fire` takes: the session is in the path, and its head is continued (A2). */
export const fireRequest = executeFields
  .omit({ sessionId: true, fork: true, rerun: true, session: true, fire: true })
  .extend({ ifBusy: absent(z.enum(["refuse", "queue", "interrupt"])) })
  .meta({ id: "FireRequest" });

/** As it comes over the wire, and as clients write it. */
export type ExecuteRequest = z.input<typeof executeRequest>;

/** The query of a plain-text request, whose body is the instruction. */
export const executeQuery = scalars.partial().extend({
  stream: queryFlag().optional(),
  forkTurnId: id.optional().describe("`fork.turnId`."),
  rerunTurnId: id.optional().describe("`rerun.turnId`; the body may be empty."),
  paths: z.array(columnText()).optional().describe("Retrieve only below these paths; may be repeated."),
  sessionName: columnText().optional().describe("`session.name`."),
  temperature: z.coerce.number().optional(),
  maxOutputTokens: z.coerce.number().optional(),
  reasoningEffort: modelSettings.shape.reasoningEffort,
});

const source = z
  .object({ id: z.string(), path: z.string(), startLine: z.int(), endLine: z.int(), wasSent: z.boolean() })
  .meta({ id: "Source", description: "A piece of indexed code that was found for the instruction." });

export const executeAnswer = z
  .object({
    kind: z.enum(["answer", "tool_calls", "error"]),
    text: z.string().describe("Always whole. For an error: what the model had said until then."),
    sessionId: id,
    turnId: id,
    responseContinuationId: id.describe("Give it back to continue exactly here; the same as turnId."),
    sources: z.array(source),
    fileBundle: fileBundle.nullable(),
    toolCalls: z.array(deferredCall),
    warnings: z.array(warning),
    usage,
    stopReason: stopReason.nullable(),
    errorCode: errorCode.nullable(),
    errorMessage: z.string().nullable(),
  })
  .meta({ id: "ExecuteAnswer" });
export type ExecuteAnswer = z.infer<typeof executeAnswer>;

export const executeAccepted = z
  .object({ sessionId: id, turnId: id, streamKey: z.string(), eventsUrl: z.string() })
  .meta({ id: "ExecuteAccepted", description: "The turn runs; its events are read from `eventsUrl`." });
export type ExecuteAccepted = z.infer<typeof executeAccepted>;

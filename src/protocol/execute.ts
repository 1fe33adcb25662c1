/**
 * The request and the answer of `POST /api/ai/agent/execute` (H1), for every kind of client. The JSON body is the
 * contract; plain text and multipart are other ways to send the same request.
 */
import * as z from "zod";
import { contradictionsIn, contradictions, type Contradiction } from "../domain/contradictions.ts";
import { limits } from "../domain/limits.ts";
import { fileBundleSchema } from "./file-bundle.ts";
import { sessionFactsSchema } from "./session.ts";
import {
  columnText,
  deferredCallSchema,
  errorCodeSchema,
  idSchema,
  modelSettingsSchema,
  queryFlag,
  stopReasonSchema,
  usageSchema,
  warningSchema,
  queryDecimal,
} from "./values.ts";

/** Makes a field optional. It also accepts null, because clients in some languages write absent fields as null. */
function absent<T extends z.ZodType>(schema: T): z.ZodOptional<z.ZodNullable<T>> {
  return schema.nullish();
}

export const toolDefinitionSchema = z
  .strictObject({
    type: z
      .literal("function")
      .optional()
      .describe("Accepted because the formats of providers have it. It has no effect."),
    name: z.string(),
    description: absent(z.string()),
    parameters: z.record(z.string(), z.unknown()).describe("A JSON Schema object."),
    strict: absent(z.boolean()),
    effect: absent(z.enum(["read", "write", "run"])).describe(
      "What a call may do. The model does not see it. In mode `ask`, tools that write or run are not called.",
    ),
  })
  .meta({ id: "ToolDefinition" });

const activeFile = z
  .strictObject({
    path: z.string().describe("Path relative to the repository, with forward slashes."),
    content: absent(z.string()).describe("The whole file as text."),
    contentBase64: absent(z.base64()).describe("The bytes of the whole file, instead of `content`."),
    sha256: absent(z.string().regex(/^[0-9a-f]{64}$/, "is not a lower-case SHA-256")).describe(
      "SHA-256 of the raw bytes. Required if there is no content: it then names a version of the file that was sent earlier.",
    ),
    isTouched: absent(z.boolean()).describe("True if the file differs from its version in git."),
    isDeleted: absent(z.boolean()).describe(
      "True if the file does not exist any more. It then has neither content nor `sha256`. The message for the model says so, and indexed code of the file is not sent.",
    ),
    renamedTo: absent(z.string()).describe("The new path of a deleted file that was renamed."),
  })
  .refine((file) => file.content == null || file.contentBase64 == null, {
    message: "has both content and contentBase64; give one",
  })
  .refine(
    ({ content, contentBase64, sha256, isDeleted }) =>
      isDeleted === true || (content ?? contentBase64 ?? sha256) != null,
    {
      message: "has neither content nor sha256",
    },
  )
  .meta({ id: "ActiveFile" });

const mode = absent(z.enum(["file", "inline"])).describe(
  "`file` (the default): the model can read the part with a tool. `inline`: the part is put into the model's context.",
);
const mediaType = absent(z.string()).describe("For example `image/png`. If absent, it is detected.");

const inputPart = z
  .discriminatedUnion("type", [
    z.strictObject({
      type: z.literal("text"),
      text: z.string().describe("A text that is appended to the instruction."),
    }),
    z.strictObject({
      type: z.literal("url"),
      url: z.string().describe("An http or https address on the public internet. It is read when the turn starts."),
      mode,
    }),
    z
      .strictObject({
        type: z.literal("file"),
        path: z.string().describe("Path relative to the project, with forward slashes."),
        content: absent(z.string()).describe(
          "The file as text. Without any content, the model gets only the file's name.",
        ),
        contentBase64: absent(z.base64()).describe("The bytes of the file, instead of `content`."),
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
      name: absent(columnText()).describe("The name that the model sees."),
      mode,
    }),
  ])
  .meta({ id: "InputPart" });
export type WireInputPart = z.input<typeof inputPart>;

const toolResult = z
  .strictObject({
    callId: z.string(),
    output: absent(z.string()).describe("The output of the client's tool."),
    error: absent(z.string()).describe("Instead of `output`: the reason why the call failed."),
    approved: absent(z.boolean()).describe("Instead of both, if `waitsFor` is `approval`: true if the call may run."),
    reason: absent(columnText()).describe("With `approved`: the reason for a denial, which the model receives."),
    always: absent(z.boolean()).describe(
      "With `approved`: true if such calls are allowed permanently in the workspace.",
    ),
  })
  .refine(({ output, error, approved }) => [output, error, approved].filter((one) => one != null).length === 1, {
    message: "needs exactly one of output, error and approved",
  })
  .refine(({ approved, reason }) => reason == null || approved != null, {
    message: "has a reason without approved",
  })
  .refine(({ approved, always }) => always !== true || approved === true, {
    message: "has always without approved",
  })
  .meta({ id: "ToolResult", description: "The answer to a pending tool call." });

/** Accepts an id or an empty string, because clients that keep the id in a string variable first send an empty one. */
function idOrEmpty(description: string) {
  return z.union([idSchema, z.literal("")]).meta({ description });
}

const commitId = z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/);

/** The fields that are one string each. A plain-text request has them in its query. */
const scalars = z.strictObject({
  sessionId: idOrEmpty("The session to continue. If absent or empty: a new session."),
  responseContinuationId: idOrEmpty(
    "The `responseContinuationId` of an earlier answer. The request continues the session only if that turn is still its head.",
  ),
  mode: columnText(),
  agentContextId: columnText(),
  conversationContextId: columnText(),
  model: columnText(),
  workspaceId: columnText(),
  repo: columnText(),
  commit: commitId.describe(
    "The commit of the client's working copy of `repo`. If the index was built at another commit, the turn has a warning.",
  ),
  language: columnText(),
  toolsJson: z.string().describe("The value of `tools` as a JSON string, instead of `tools`."),
  toolChoiceName: columnText().describe("The tool that the model must call."),
  ifBusy: z
    .enum(["refuse", "queue", "interrupt", "steer"])
    .describe(
      "What to do if a turn of the session is running. `refuse` (the default): answer 409. `queue`: run after it. `interrupt`: stop it, then run. `steer`: send the instruction to the running turn, which receives it at its next step, and answer with that turn.",
    ),
  transport: z
    .enum(["sse", "stream"])
    .describe(
      "`sse`: the answer is the stream of events. `stream`: the answer is 202 at once, and the client reads the events from `eventsUrl`.",
    ),
});
const one = scalars.shape;

const ofTurn = z.strictObject({ turnId: idSchema });

const rulesFile = z
  .strictObject({
    path: z.string().describe("Relative to the top of the repository."),
    text: absent(z.string()).describe("The text. Absent: the file cannot be used."),
    fault: absent(columnText()).describe("Why the file cannot be used. The turn has it as a warning."),
  })
  .meta({ id: "RulesFile" });

const skillFile = z
  .strictObject({
    path: z.string().describe("Relative to the top of the repository."),
    text: absent(z.string()).describe("The text. Absent: the file cannot be used."),
    fault: absent(columnText()).describe("Why the file cannot be used. The turn has it as a warning."),
  })
  .meta({ id: "SkillFile" });

const place = z
  .strictObject({
    folder: columnText().describe("The working folder, relative to the top of the repository; `.` is the top."),
    platform: columnText(),
    date: columnText().describe("The day, as `2026-11-23`."),
    branch: absent(columnText()),
    modified: absent(z.array(columnText()).max(limits.activeFilesPerTurnMax)).describe(
      "Paths of files that differ from the last commit. Absent: unknown.",
    ),
    modifiedMore: absent(z.int().min(0)).describe("How many more files differ."),
  })
  .meta({ id: "Place" });

const otherRepository = z
  .strictObject({
    repo: columnText(),
    commit: absent(commitId).describe("The commit of the client's working copy of this repository."),
    workingCopy: absent(z.string()).describe("Like `workingCopy` of the request, for this repository."),
  })
  .meta({ id: "OtherRepository" });

/** `responseContinuationId` names a session, as `sessionId` does. */
const wireContradictions: readonly Contradiction[] = [
  ...contradictions,
  ...contradictions.flatMap(([field, other, why]): Contradiction[] =>
    other === "sessionId" ? [[field, "responseContinuationId", why]] : [],
  ),
  ["session", "sessionId", "it describes a new session"],
  ["session", "responseContinuationId", "it describes a new session"],
];

const executeFields = z.strictObject({
  instruction: absent(z.string()).describe(
    "The instruction. It may be absent only if the request has `toolResults`, `rerun`, `retry`, `fire`, or texts in `input`.",
  ),
  input: absent(z.array(inputPart)).describe("Parts that belong to the instruction. Their texts are appended to it."),
  sessionId: absent(one.sessionId),
  responseContinuationId: absent(one.responseContinuationId),
  fork: absent(ofTurn).describe(
    "Start a new session that continues this finished turn, which may be of any session that the caller may read.",
  ),
  rerun: absent(
    ofTurn.extend({
      asFork: z.boolean().optional().describe("True: in a new session, also if the turn is the head of its session."),
    }),
  ).describe(
    "Run this finished turn again beside the old one, with the same instruction unless the request has another.",
  ),
  retry: absent(z.boolean()).describe(
    "Run the newest turn of the session `sessionId` again beside the old one, with the same instruction unless the request has another.",
  ),
  fire: absent(z.boolean()).describe(
    "Deliver all waiting messages of the session's mailbox to the session's agent, each exactly once.",
  ),
  compact: absent(z.boolean()).describe(
    "Have the model summarise the whole history first, however short it is. The turn and later ones get the summary in its place; the store keeps everything.",
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
  stream: absent(z.boolean()).describe("True means the same as `transport: sse`."),
  settings: absent(modelSettingsSchema),
  ragScope: absent(z.union([columnText(), z.strictObject({ paths: z.array(columnText()) })])).describe(
    "A path, or a list of paths. Search for code only below these paths; if the list is empty, everywhere. If absent: the paths that the configuration of the workspace names.",
  ),
  workingCopy: absent(z.string()).describe(
    "The folder of the client's working copy, if it is on the server's machine. Taken only from the people who run the server.",
  ),
  rules: absent(z.array(rulesFile)).describe(
    "Files with rules of the repository, such as AGENTS.md, as the client's working copy has them now: from the top of the repository down to the working folder. An empty list: there are none. Absent: unknown.",
  ),
  place: absent(place).describe("The place in which the client works. The model receives it. Absent: unknown."),
  otherRepos: absent(z.array(otherRepository).max(limits.repositoriesPerSessionMax)).describe(
    "More repositories that a new session is about, in order, after `repo`. All are searched, and each path begins with the name of its repository and a colon: `api:src/a.ts`. In a later turn: what is known of these repositories of the session; `repo` then names the repository of `commit`, `workingCopy`, `place`, and of all paths without a name (default: the first).",
  ),
  skills: absent(z.array(skillFile)).describe(
    "Files SKILL.md of the repository, as the client's working copy has them now. If two have the same name, the first one counts. The model is offered their names and descriptions, and reads the rest when it needs it. Absent: unknown.",
  ),
  ifNotIndexed: absent(z.enum(["fail", "warn"])).describe(
    "What to do if `repo` has no index. `fail` (the default) unless the conversation context makes retrieval optional. `warn`: answer without retrieval, for a client whose own tools read the code.",
  ),
  activeFiles: absent(z.array(activeFile)),
  tools: absent(z.array(toolDefinitionSchema)),
  toolResults: absent(z.array(toolResult)),
  tags: absent(z.array(columnText()).max(limits.labelsPerSessionMax)).describe(
    "The same as `session.labels`. An existing session keeps its labels.",
  ),
  conversationId: absent(columnText()).describe("The same as `session.key`. An existing session keeps its key."),
  session: absent(sessionFactsSchema).describe("Properties of the new session; not allowed for an existing one."),
});

export const executeRequestSchema = executeFields
  .superRefine((request, context) => {
    for (const { field, message } of contradictionsIn(request, wireContradictions)) {
      context.addIssue({ code: "custom", path: [field], message });
    }
  })
  .meta({ id: "ExecuteRequest" });

/** The request of the route `fire`: the path names the session, and the turn continues its head (A2). */
export const fireRequestSchema = executeFields
  .omit({ sessionId: true, fork: true, rerun: true, retry: true, session: true, fire: true })
  .extend({ ifBusy: absent(z.enum(["refuse", "queue", "interrupt"])) })
  .meta({ id: "FireRequest" });

/** The request in the form that clients send. */
export type ExecuteRequest = z.input<typeof executeRequestSchema>;

/** The query of a plain-text request, whose body is the instruction. */
export const executeQuerySchema = scalars.partial().extend({
  stream: queryFlag().optional(),
  compact: queryFlag().optional(),
  forkTurnId: idSchema.optional().describe("The same as `fork.turnId`."),
  rerunTurnId: idSchema.optional().describe("The same as `rerun.turnId`; the body may then be empty."),
  otherRepos: z.array(columnText()).optional().describe("The same as `otherRepos`, a name each; may be repeated."),
  paths: z.array(columnText()).optional().describe("Search for code only below this path; may be repeated."),
  sessionName: columnText().optional().describe("The same as `session.name`."),
  temperature: queryDecimal().optional(),
  topP: queryDecimal().optional(),
  maxOutputTokens: queryDecimal().optional(),
  reasoningEffort: modelSettingsSchema.shape.reasoningEffort,
  reasoningSummary: modelSettingsSchema.shape.reasoningSummary,
  verbosity: modelSettingsSchema.shape.verbosity,
  maxSteps: queryDecimal().optional(),
  maxToolCalls: queryDecimal().optional(),
});

const source = z
  .object({ id: z.string(), path: z.string(), startLine: z.int(), endLine: z.int(), wasSent: z.boolean() })
  .meta({ id: "Source", description: "A chunk of indexed code that was found for the instruction." });

export const executeAnswerSchema = z
  .object({
    kind: z.enum(["answer", "tool_calls", "error"]),
    text: z.string().describe("The whole text. For an error: the model's partial output."),
    sessionId: idSchema,
    turnId: idSchema,
    responseContinuationId: idSchema.describe(
      "Send it with the next request to continue exactly here. It equals `turnId`.",
    ),
    sources: z.array(source),
    fileBundle: fileBundleSchema.nullable(),
    toolCalls: z.array(deferredCallSchema),
    warnings: z.array(warningSchema),
    usage: usageSchema,
    stopReason: stopReasonSchema.nullable(),
    errorCode: errorCodeSchema.nullable(),
    errorMessage: z.string().nullable(),
    errorFix: z.string().nullable().describe("What a person does about the error, in one line. It is not stored."),
  })
  .meta({ id: "ExecuteAnswer" });
export type ExecuteAnswer = z.infer<typeof executeAnswerSchema>;

export const executeAcceptedSchema = z
  .object({ sessionId: idSchema, turnId: idSchema, streamKey: z.string(), eventsUrl: z.string() })
  .meta({ id: "ExecuteAccepted", description: "The turn is running. Read its events from `eventsUrl`." });
export type ExecuteAccepted = z.infer<typeof executeAcceptedSchema>;

/**
 * Reads an execute request in its three forms (H1): JSON; plain text, with all other fields in the query; and multipart, with
 * files. All three become the same request to the engine.
 */
import type { ActiveFile } from "../../../domain/active-file.ts";
import type { Place, RulesFile } from "../../../domain/context.ts";
import { AptoveError, type ErrorCode } from "../../../domain/errors.ts";
import type { ToolDefinition, ToolFeedback } from "../../../domain/tool.ts";
import type { OtherRepository, TurnRequest } from "../../../engine/engine.ts";
import {
  executeQuerySchema,
  executeRequestSchema,
  toolDefinitionSchema,
  type ExecuteRequest,
} from "../../../protocol/execute.ts";
import { withoutNullish } from "../../../protocol/given.ts";
import { parseWithSchema } from "../../../protocol/parse.ts";
import * as z from "zod";
import { bodyText, mediaType, readBody, requireMediaType } from "./body.ts";
import { parseJson } from "../../json-body.ts";
import { readInput, takeInputFiles } from "./read-input.ts";
import { readQuery } from "./query.ts";

export interface ParsedExecuteRequest {
  /** The request to the engine, without the session of `continues` and without the idempotency key. */
  turn: Omit<TurnRequest, "idempotencyKey">;
  /** The turn that must still be the session's head. Null: the request names none. */
  continues: string | null;
  /** The form of the response that the body or the query names. Null: the `Accept` header decides. */
  delivery: "sse" | "stream" | "json" | null;
}

export interface ExecuteLimits {
  requestBodyBytesMax: number;
  activeFilesPerTurnMax: number;
}

/** Error codes for faults in these fields (E4, T9, X5). Other fields have `request_invalid`. */
const fieldCodes: Readonly<Record<string, ErrorCode>> = {
  tools: "tool_invalid",
  toolsJson: "tool_invalid",
  toolResults: "tool_feedback_invalid",
  activeFiles: "active_file_invalid",
  input: "input_part_invalid",
};

const bodyTypes = ["application/json", "text/plain", "multipart/form-data"] as const;

export async function readExecuteRequest(request: Request, limits: ExecuteLimits): Promise<ParsedExecuteRequest> {
  const type = mediaType(request);
  requireMediaType(type, bodyTypes);
  if (type.name !== "text/plain") refuseQuery(request);
  const body = await readBody(request, limits.requestBodyBytesMax);
  switch (type.name as (typeof bodyTypes)[number]) {
    case "application/json":
      return toParsedRequest(parseRequest(parseJson(bodyText(body), "the body")), limits);
    case "text/plain":
      return toParsedRequest({ ...queryRequest(request), instruction: bodyText(body) }, limits);
    case "multipart/form-data":
      return toParsedRequest(await multipartRequest(request, body), limits);
  }
}

function parseRequest(value: unknown): ExecuteRequest {
  return parseWithSchema(executeRequestSchema, value, fieldCodes);
}

/** Refuses a query if the fields are in the body: a field in the query would be ignored silently. */
/** It is made once, because zod compiles a schema at its first use. */
const noQuery = z.strictObject({});

function refuseQuery(request: Request): void {
  parseWithSchema(noQuery, readQuery(request, []));
}

function queryRequest(request: Request): ExecuteRequest {
  const { paths, otherRepos, sessionName, forkTurnId, rerunTurnId, ...rest } = parseWithSchema(
    executeQuerySchema,
    readQuery(request, ["paths", "otherRepos"]),
  );
  const { temperature, topP, maxOutputTokens, reasoningEffort, reasoningSummary, verbosity, ...others } = rest;
  const { maxSteps, maxToolCalls, ...scalars } = others;
  const sampling = { temperature, topP, maxOutputTokens, reasoningEffort, reasoningSummary, verbosity };
  const settings = withoutNullish({ ...sampling, maxSteps, maxToolCalls });
  return parseRequest({
    ...scalars,
    ...(paths !== undefined && { ragScope: { paths } }),
    ...(otherRepos !== undefined && { otherRepos: otherRepos.map((repo) => ({ repo })) }),
    ...(sessionName !== undefined && { session: { name: sessionName } }),
    ...(forkTurnId !== undefined && { fork: { turnId: forkTurnId } }),
    ...(rerunTurnId !== undefined && { rerun: { turnId: rerunTurnId } }),
    ...(Object.keys(settings).length > 0 && { settings }),
  });
}

/** The part `request` is JSON; every other part is a file whose name is the path of an active file. */
async function multipartRequest(request: Request, body: Uint8Array): Promise<ExecuteRequest> {
  const form = await readForm(request, body);
  let json: string | null = null;
  const files: { path: string; contentBase64: string }[] = [];
  for (const [name, part] of form) {
    if (name === "request") {
      if (json !== null) throw new AptoveError("request_invalid", 'there are two parts named "request"');
      json = typeof part === "string" ? part : bodyText(await part.bytes());
    } else if (typeof part === "string") {
      throw new AptoveError("request_invalid", `the part ${JSON.stringify(name)} is neither "request" nor a file`);
    } else {
      files.push({ path: part.name, contentBase64: Buffer.from(await part.bytes()).toString("base64") });
    }
  }
  if (json === null) throw new AptoveError("request_invalid", 'the part "request" with the JSON is missing');
  const value = parseJson(json, 'the part "request"');
  return parseRequest(files.length === 0 ? value : withFiles(value, files));
}

async function readForm(request: Request, body: Uint8Array): Promise<FormData> {
  try {
    const type = request.headers.get("content-type") ?? "";
    return await new Response(body as Uint8Array<ArrayBuffer>, { headers: { "content-type": type } }).formData();
  } catch (cause) {
    throw new AptoveError("request_invalid", "the body is not the multipart form that its header announces", { cause });
  }
}

/** A file that the request lists already gets its content; the others are added as they are. */
function withFiles(value: unknown, files: readonly { path: string; contentBase64: string }[]): unknown {
  if (typeof value !== "object" || value === null) return value;
  const { request, others } = takeInputFiles(value, files);
  if (others.length === 0) return request;
  const given: unknown = "activeFiles" in value ? value.activeFiles : null;
  const listed: unknown[] = Array.isArray(given) ? given : [];
  const entries = [...listed];
  const filled = new Set<number>();
  for (const file of others) {
    const at = listed.findIndex(
      (one, index) =>
        !filled.has(index) && typeof one === "object" && one !== null && "path" in one && one.path === file.path,
    );
    filled.add(at);
    // A second file of the same name is added too, so that it is refused and not lost.
    if (at === -1) entries.push(file);
    // If the listed file has content already, the schema refuses it, because it then has both.
    else entries[at] = { ...(entries[at] as object), contentBase64: file.contentBase64 };
  }
  return { ...request, activeFiles: entries };
}

export function toParsedRequest(request: ExecuteRequest, limits: ExecuteLimits): ParsedExecuteRequest {
  const files = request.activeFiles ?? [];
  if (files.length > limits.activeFilesPerTurnMax) {
    const detail = `${files.length} active files; the limit is ${limits.activeFilesPerTurnMax}`;
    throw new AptoveError("too_many_active_files", detail, { facts: { limit: limits.activeFilesPerTurnMax } });
  }
  const tools = readTools(request);

  return {
    turn: {
      instruction: request.instruction ?? "",
      ...withoutNullish({
        sessionId: request.sessionId || null,
        fork: request.fork,
        rerun: request.rerun,
        retry: request.retry || null,
        fire: request.fire || null,
        compact: request.compact || null,
        ifBusy: request.ifBusy,
        mode: request.mode,
        agentContextId: request.agentContextId,
        conversationContextId: request.conversationContextId,
        model: request.model,
        workspaceId: request.workspaceId,
        repo: request.repo,
        commit: request.commit,
        workingCopy: request.workingCopy,
        language: request.language,
        toolChoice: request.toolChoiceName || null,
        pathPrefixes: pathsOf(request.ragScope),
        session: sessionFactsOf(request),
        ifNotIndexed: request.ifNotIndexed,
      }),
      ...(request.settings != null && { settings: withoutNullish(request.settings) }),
      ...(request.input != null && { input: request.input.map(readInput) }),
      ...(request.otherRepos != null && { otherRepos: request.otherRepos.map(readOther) }),
      ...(request.rules != null && { rules: request.rules.map(readRules) }),
      ...(request.skills != null && { skills: request.skills.map(readRules) }),
      ...(request.place != null && { place: readPlace(request.place) }),
      ...(files.length > 0 && { activeFiles: files.map(readFile) }),
      ...(tools !== null && { tools }),
      ...(request.toolResults != null && {
        toolResults: request.toolResults.map(readResult),
        alwaysAllow: request.toolResults.flatMap(({ callId, always }) => (always === true ? [callId] : [])),
      }),
    },
    continues: request.responseContinuationId || null,
    delivery: request.transport ?? (request.stream == null ? null : request.stream ? "sse" : "json"),
  };
}

function pathsOf(scope: ExecuteRequest["ragScope"]): string[] | null {
  if (scope == null) return null;
  if (typeof scope !== "string") return scope.paths;
  return scope === "" ? [] : [scope];
}

/** Returns the properties of the new session. `tags` and `conversationId` are other names that clients use for two of them. */
function sessionFactsOf(request: ExecuteRequest): TurnRequest["session"] | null {
  const { session, tags, conversationId } = request;
  const isNew = !(request.sessionId || request.responseContinuationId || request.rerun || request.retry);
  if (session == null && (!isNew || (tags == null && conversationId == null))) return null;
  return withoutNullish({ labels: tags, key: conversationId, ...withoutNullish(session ?? {}) });
}

/** Returns the tools of the request. `toolsJson` is the same list as `tools`, in a string. Null if it names none: then those of the parent turn stay (E4). */
function readTools(request: ExecuteRequest): ToolDefinition[] | null {
  const asText = request.toolsJson ?? "";
  if (asText !== "" && request.tools != null) {
    throw new AptoveError("tool_invalid", "tools and toolsJson are both given; give one");
  }
  if (asText === "" && request.tools == null) return null;
  const tools = asText === "" ? (request.tools ?? []) : readToolsJson(asText);
  return tools.map(({ name, description, parameters, strict, effect }) => ({
    name,
    parameters,
    ...withoutNullish({ description, strict, effect }),
  }));
}

function readToolsJson(text: string): z.output<typeof toolDefinitionSchema>[] {
  const list = z.object({ toolsJson: z.array(toolDefinitionSchema) });
  try {
    return parseWithSchema(list, { toolsJson: parseJson(text, "toolsJson") }).toolsJson;
  } catch (error) {
    if (error instanceof AptoveError) throw new AptoveError("tool_invalid", error.detail, { facts: error.facts });
    throw error;
  }
}

function readOther({ repo, ...facts }: NonNullable<ExecuteRequest["otherRepos"]>[number]): OtherRepository {
  return { repo, ...withoutNullish(facts) };
}

function readRules({ path, text, fault }: NonNullable<ExecuteRequest["rules"]>[number]): RulesFile {
  return { path, text: text ?? null, ...withoutNullish({ fault }) };
}

function readPlace({ branch, modified, modifiedMore, ...facts }: NonNullable<ExecuteRequest["place"]>): Place {
  return { ...facts, branch: branch ?? null, modified: modified ?? null, modifiedMore: modifiedMore ?? 0 };
}

type WireFile = NonNullable<ExecuteRequest["activeFiles"]>[number];

function readFile(file: WireFile): ActiveFile {
  return {
    path: file.path,
    content: fileContent(file),
    sha256: file.sha256 ?? null,
    isTouched: file.isTouched ?? false,
    ...withoutNullish({ isDeleted: file.isDeleted, renamedTo: file.renamedTo }),
  };
}

function fileContent({ path, content, contentBase64 }: WireFile): Uint8Array | null {
  if (contentBase64 != null) return Buffer.from(contentBase64, "base64");
  if (content == null) return null;
  // Encoding would replace half a surrogate pair with another character, and the model would see a file that does not exist.
  if (!content.isWellFormed()) {
    throw new AptoveError("active_file_invalid", `the content of ${JSON.stringify(path)} has half a surrogate pair`);
  }
  return Buffer.from(content, "utf8");
}

function readResult(result: NonNullable<ExecuteRequest["toolResults"]>[number]): ToolFeedback {
  const { callId, output, error, approved, reason } = result;
  if (approved != null) return { callId, approved, ...withoutNullish({ reason }) };
  return error == null ? { callId, output: output ?? "", isError: false } : { callId, output: error, isError: true };
}

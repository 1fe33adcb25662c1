/**
 * Checks a request for a turn (Y1). The doors have checked theirs by a schema. A program that embeds the library may be written in
 * JavaScript: what it writes wrongly must not be ignored, or stored as `[object Object]`.
 */
import type { Caller } from "../../domain/caller.ts";
import { reasoningEfforts, reasoningSummaries, type ModelSettings } from "../../domain/context.ts";
import { contradictionsIn } from "../../domain/contradictions.ts";
import { AptoveError } from "../../domain/errors.ts";
import {
  checkFields,
  hasFields,
  invalid,
  isFlag,
  isFunction,
  isListOf,
  isNumber,
  isObject,
  isText,
  oneOf,
  orNull,
  type FieldForm,
} from "../../domain/given-fields.ts";
import { isRecord } from "../../system/guards.ts";
import type { TurnRequest } from "../engine.ts";

type FormsOf<T> = Record<keyof Required<T>, FieldForm>;

const settings = {
  temperature: isNumber,
  topP: isNumber,
  maxOutputTokens: isNumber,
  reasoningEffort: oneOf(...reasoningEfforts),
  reasoningSummary: oneOf(...reasoningSummaries),
  verbosity: oneOf("low", "medium", "high"),
  answerFormat: isObject,
  parallelToolCalls: oneOf(false),
  stop: isListOf(isText),
  maxSteps: isNumber,
  maxToolCalls: isNumber,
  compaction: oneOf(false),
  cacheKey: isText,
} satisfies FormsOf<ModelSettings>;

const session = {
  name: isText,
  key: isText,
  description: isText,
  labels: isListOf(isText),
  isPublic: isFlag,
  isDraft: isFlag,
  category: isText,
  metadata: isObject,
} satisfies FormsOf<NonNullable<TurnRequest["session"]>>;

const ofTurn = hasFields({ turnId: isText }, ["turnId"]);
const workingCopy: FieldForm = {
  fault: "is neither a folder nor a working copy",
  fits: (value) => value === null || isText.fits(value) || isObject.fits(value),
};

const fields = {
  sessionId: isText,
  fork: ofTurn,
  after: ofTurn,
  rerun: hasFields({ turnId: isText, asFork: isFlag }, ["turnId"]),
  retry: isFlag,
  ifBusy: oneOf("refuse", "queue", "interrupt", "steer"),
  expectedHead: orNull(isText),
  fire: isFlag,
  instruction: isText,
  earlier: isListOf(isObject),
  repeatInstruction: isFunction,
  input: isListOf(isObject),
  toolResults: isListOf(isObject),
  alwaysAllow: isListOf(isText),
  activeFiles: isListOf(isObject),
  agentContextId: isText,
  conversationContextId: isText,
  mode: isText,
  model: isText,
  settings: hasFields(settings),
  isSettingsOnce: isFlag,
  instructions: isText,
  compact: isFlag,
  tools: isListOf(isObject),
  toolChoice: isText,
  mustCallTool: isFlag,
  allowedTools: isListOf(isText),
  onlyNamedTools: isFlag,
  ownTools: isListOf(isObject),
  decideApproval: isFunction,
  askApproval: isFunction,
  cannotWait: isFlag,
  repo: orNull(isText),
  otherRepos: isListOf(hasFields({ repo: isText, commit: isText, workingCopy }, ["repo"])),
  commit: isText,
  workingCopy,
  ifNotIndexed: oneOf("fail", "warn"),
  language: isText,
  pathPrefixes: isListOf(isText),
  rules: orNull(isListOf(isObject)),
  place: orNull(isObject),
  skills: orNull(isListOf(isObject)),
  workspaceId: isText,
  withoutModel: isFlag,
  hides: isListOf(isObject),
  isFindable: isFlag,
  clientData: isObject,
  session: hasFields(session),
  idempotencyKey: isText,
  withdrawn: isObject,
} satisfies FormsOf<TurnRequest>;

/** Throws `request_invalid`, which names the field. */
export function checkTurnRequest(caller: Caller, request: TurnRequest): void {
  checkCaller(caller);
  const given: unknown = request;
  if (!isRecord(given)) {
    throw new AptoveError("request_invalid", 'the request is not an object, for example { instruction: "…" }');
  }
  checkFields(given, fields);
  // An empty list adds nothing to a message for a running turn.
  const checked = request.toolResults?.length === 0 ? { ...given, toolResults: undefined } : given;
  for (const { field, message } of contradictionsIn(checked)) throw invalid(field, message);
}

/** Throws `request_invalid` if the first parameter is no caller. */
function checkCaller(caller: unknown): void {
  if (isRecord(caller) && isText.fits(caller["orgId"]) && isText.fits(caller["userId"])) return;
  throw new AptoveError(
    "request_invalid",
    "the first parameter is not a caller; get one, for example with `await engine.keys.owner()`",
  );
}

/** `aptove ask`: one instruction, one answer (L1). */
import type { AptoveClient, ExecuteAnswer, ExecuteRequest } from "../../../client/client.ts";
import { folderKey } from "../../../domain/session.ts";
import { gatherActiveFiles } from "../working-copy/active-files.ts";
import { attachedParts, type Attaching } from "../working-copy/attached-parts.ts";
import type { Call } from "../call.ts";
import { exitCodes, fixOf, printFailure, UsageError } from "../failure.ts";
import type { ExitCode } from "../failure.ts";
import { findContinuable, findSession, findTurn, latestSession, shortId } from "../find-by-id.ts";
import { headCommit } from "../working-copy/git.ts";
import type { WorkingCopy } from "../working-copy/git.ts";
import { indexFirst } from "./index-first.ts";
import { readInstruction, readOptionalInstruction } from "../input.ts";
import { runInstruction } from "../show/run-instruction.ts";
import { listenForStop } from "../stop-signals.ts";

/** Options of `ask` alone: other ways on from a turn, and what to do when one is running. */
export interface AskOptions extends TurnOptions {
  fork?: string;
  rerun?: string;
  queue?: boolean;
  interrupt?: boolean;
  steer?: boolean;
  events?: boolean;
  /** With the messages of subagents that wait in the session's mailbox. */
  fire?: boolean;
  attach?: string[];
  inline?: boolean;
}

/** Options that `ask` and `chat` share. */
export interface TurnOptions {
  session?: string;
  continue?: boolean;
  new?: boolean;
  mode?: string;
  model?: string;
  repo?: string;
  lang?: string;
  context?: string;
  file?: string[];
  /** `--no-modified` makes it false. */
  modified?: boolean;
}

export async function ask(call: Call, words: string[], options: AskOptions): Promise<ExitCode> {
  refuseContradiction(options);
  const ifBusy = busyChoice(options);
  // A rerun may repeat the instruction of the turn, and messages of subagents may speak for themselves.
  const isOptional = options.rerun !== undefined || options.fire === true;
  const read = isOptional ? readOptionalInstruction : readInstruction;
  const instruction = await read(call.io, words, call.output);
  const client = await call.client();
  const copy = await call.copy();
  // What a session's mailbox is about was settled when the session began.
  if (options.fire !== true && !(await indexFirst(call, options.repo))) return exitCodes.interrupted;
  const place = await chosenPlace(client, options, options.repo ?? copy.repo);
  const request = {
    ...(await turnRequest(call, options)),
    ...(await ofThisFolder(call, place)),
    ...place,
    ...(instruction === "" ? {} : { instruction }),
    ...(ifBusy === null ? {} : { ifBusy }),
    ...(options.fire === true ? { fire: true } : {}),
    ...attachments({ root: copy.root, cwd: call.io.cwd }, options),
  };
  const stopping = listenForStop(call.io.signals);
  try {
    const show = options.events === true ? "events" : call.json ? "none" : "text";
    const run = runInstruction({ call, client, request, show, interrupt: stopping.first });
    const answer = await Promise.race([run, stopping.second]);
    if (call.json && options.events !== true) call.output.json(answer);
    if (show === "text") explainEnd(call, answer, request);
    return exitOf(answer, stopping.first.aborted);
  } finally {
    stopping.release();
  }
}

function attachments(at: Pick<Attaching, "root" | "cwd">, { attach: named = [], inline }: AskOptions): ExecuteRequest {
  if (named.length > 0) return { input: attachedParts({ ...at, named, mode: inline === true ? "inline" : "file" }) };
  if (inline === true) throw new UsageError("--inline is for what is attached", "name it: --attach <file>");
  return {};
}

/** What a person can do about a turn that failed, or that waits. */
function explainEnd(call: Call, answer: ExecuteAnswer, { rerun }: ExecuteRequest): void {
  if (answer.kind === "error") return printTurnFailure(call, answer);
  const waits = new Set(answer.toolCalls.map(({ waitsFor }) => waitsFor));
  const { output } = call;
  if (rerun) {
    output.note(`compare: aptove session diff ${shortId(rerun.turnId)} ${shortId(answer.turnId)}`);
  }
  if (waits.has("approval")) output.note(`allow or deny it: aptove chat -s ${shortId(answer.sessionId)}`);
  if (waits.has("client")) output.note(clientCallNote);
}

export const clientCallNote =
  "a tool of the caller's own: send its result as toolResults (docs/http.md), or go on; the model is then told that there was none";

export function refuseContradiction(options: AskOptions): void {
  const { session, fork, rerun } = options;
  refuseSeveral([
    ["--session", session !== undefined],
    ["--continue", options.continue],
    ["--new", options.new],
    ["--fork", fork !== undefined],
    ["--rerun", rerun !== undefined],
  ]);
}

function refuseSeveral(options: [name: string, isGiven: boolean | undefined][]): string | null {
  const named = options.filter(([, isGiven]) => isGiven === true).map(([name]) => name);
  if (named.length > 1) throw new UsageError(`${named.join(" and ")} contradict each other`, "give one of them");
  return named[0] ?? null;
}

type IfBusy = NonNullable<ExecuteRequest["ifBusy"]>;

function busyChoice(options: AskOptions): IfBusy | null {
  const name = refuseSeveral([
    ["--queue", options.queue],
    ["--interrupt", options.interrupt],
    ["--steer", options.steer],
  ]);
  if (name === null) return null;
  const { session, rerun } = options;
  if (session !== undefined || options.continue === true || (rerun !== undefined && name !== "--steer")) {
    return name.slice(2) as IfBusy;
  }
  throw new UsageError(`${name} is for a session that has a running turn`, "name it: --session, or --continue");
}

/** The session, or the turn beside or below which this one stands. */
async function chosenPlace(
  client: AptoveClient,
  options: AskOptions,
  repo: string,
): Promise<Pick<ExecuteRequest, "sessionId" | "fork" | "rerun">> {
  if (options.fork !== undefined) return { fork: { turnId: await findContinuable(client, options.fork, repo) } };
  if (options.rerun !== undefined) return { rerun: { turnId: await findTurn(client, options.rerun, repo) } };
  const sessionId = await chosenSession(client, options, repo);
  return sessionId === null ? {} : { sessionId };
}

/** Null: a new session. */
export async function chosenSession(client: AptoveClient, options: TurnOptions, repo: string): Promise<string | null> {
  if (options.session !== undefined) return (await findSession(client, options.session, repo)).id;
  return options.continue === true ? (await latestSession(client, repo)).id : null;
}

/** A new session says which folder of this machine it is about: an editor that has the folder open lists it (P1). */
export async function ofThisFolder(call: Call, place: ExecuteRequest): Promise<Pick<ExecuteRequest, "session">> {
  const isNew = place.sessionId === undefined && place.rerun === undefined;
  if (!isNew || call.server() !== null) return {};
  const { root, hasGit } = await call.copy();
  return { session: { metadata: { [folderKey]: hasGit ? root : call.io.cwd } } };
}

/** Everything of a turn's request but the instruction and the session. */
export async function turnRequest(call: Call, options: TurnOptions): Promise<ExecuteRequest> {
  const copy = await call.copy();
  const { cwd } = call.io;
  const withModified = options.modified !== false;
  const [{ files, skipped }, commit] = await Promise.all([
    gatherActiveFiles({ copy, cwd, named: options.file ?? [], withModified }),
    copy.hasGit && options.repo === undefined ? headCommit(copy.root) : null,
  ]);
  for (const { path, reason } of skipped) {
    call.output.note(call.output.noteStyle.dim(`not sent: ${call.output.safeNote(path)} ${reason}`));
  }
  return {
    ...aboutOf(copy, options.repo),
    ...(commit === null ? {} : { commit }),
    ...(files.length === 0 ? {} : { activeFiles: files }),
    ...(options.mode === undefined ? {} : { mode: options.mode }),
    ...(options.model === undefined ? {} : { model: options.model }),
    ...(options.lang === undefined ? {} : { language: options.lang }),
    ...(options.context === undefined ? {} : { conversationContextId: options.context }),
  };
}

/** A folder outside of git has nothing to look up; its name is the session's workspace, by which it is found again. */
function aboutOf(copy: WorkingCopy, namedRepo: string | undefined): Pick<ExecuteRequest, "repo" | "workspaceId"> {
  if (namedRepo !== undefined) return { repo: namedRepo };
  return copy.hasGit ? { repo: copy.repo } : { workspaceId: copy.repo };
}

export function printTurnFailure(call: Call, answer: ExecuteAnswer): void {
  const code = answer.errorCode ?? "internal";
  const fix = fixOf(code, call.server());
  printFailure({ code, message: answer.errorMessage ?? "the turn failed", fix }, call.output);
}

function exitOf(answer: ExecuteAnswer, wasStopped: boolean): ExitCode {
  if (wasStopped || answer.stopReason === "interrupted" || answer.errorCode === "interrupted") {
    return exitCodes.interrupted;
  }
  return answer.kind === "error" ? exitCodes.failed : exitCodes.fine;
}

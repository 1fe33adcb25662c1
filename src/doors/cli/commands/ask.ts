/** `aptove ask`: one instruction, one answer (L1). */
import type { AptoveClient, ExecuteAnswer, ExecuteRequest } from "../../../client/client.ts";
import { attachedParts, type AttachmentRequest } from "../working-copy/attached-parts.ts";
import type { CliInvocation } from "../invocation.ts";
import { exitCodes, UsageError, type ExitCode } from "../failure.ts";
import { findContinuable, findTurnId, shortId } from "../lookup/find-by-id.ts";
import { indexFirst } from "../indexing/index-first.ts";
import { readInstruction, readOptionalInstruction } from "../turn/read-instruction.ts";
import { runInstruction } from "../turn/run-instruction.ts";
import { listenForStop } from "../stop-signals.ts";
import { chosenSession, refuseContradiction, refuseSeveral, type TurnOptions } from "../turn/turn-options.ts";
import { repeatedFiles } from "../turn/repeated-files.ts";
import { ofThisFolder, turnRequest } from "../turn/turn-request.ts";
import { namedWorkspace } from "../lookup/named-workspace.ts";
import { showProposal } from "../show/show-proposal.ts";
import { clientCallNote, printTurnFailure } from "../turn/turn-failure.ts";

/** Options of `ask` alone: other ways to continue a turn, and what to do while one runs. */
export interface AskOptions extends TurnOptions {
  fork?: string;
  rerun?: string;
  queue?: boolean;
  interrupt?: boolean;
  steer?: boolean;
  events?: boolean;
  /** Runs the turn with the messages of subagents that wait in the session's mailbox. */
  fire?: boolean;
  /** The workspace of the session. */
  workspace?: string;
  attach?: string[];
  inline?: boolean;
  /** The most model calls of the turn. */
  maxSteps?: number;
  /** The most tokens of each answer. */
  maxOutput?: number;
  /** Shows what would be sent, and sends nothing. */
  dryRun?: boolean;
}

export async function ask(invocation: CliInvocation, words: string[], options: AskOptions): Promise<ExitCode> {
  refuseContradiction(options);
  const ifBusy = busyChoice(options);
  // A rerun can repeat the instruction of the turn, and messages of subagents need no instruction.
  const isOptional = options.rerun !== undefined || options.fire === true;
  const read = isOptional ? readOptionalInstruction : readInstruction;
  const instruction = await read(invocation.io, words, invocation.output);
  const client = await invocation.client();
  const copy = await invocation.copy();
  // The repository of a session with a mailbox was chosen when the session began.
  if (options.fire !== true && !(await indexFirst(invocation, options))) return exitCodes.interrupted;
  const place = {
    ...(await chosenPlace(client, options, options.repo ?? copy.repo)),
    ...(await chosenWorkspace(invocation, options)),
  };
  const old = place.rerun ? await client.turns.get(place.rerun.turnId) : null;
  const request = {
    ...(await turnRequest(invocation, options, await repeatedFiles(invocation, { client, turn: old }, options))),
    ...(await ofThisFolder(invocation, place)),
    ...place,
    ...(instruction === "" ? {} : { instruction }),
    ...(ifBusy === null ? {} : { ifBusy }),
    ...(options.fire === true ? { fire: true } : {}),
    ...settingsOf(options),
    ...attachments({ root: copy.root, cwd: invocation.io.cwd }, options),
  };
  if (options.dryRun === true) return await estimateOnly(invocation, client, request);
  const stopping = listenForStop(invocation.io.signals);
  try {
    const show = options.events === true ? "events" : invocation.json ? "none" : "text";
    const isPainted = show === "text" && invocation.output.canRedraw;
    const view = isPainted ? new (await import("../turn/ask-screen.ts")).AskScreen(invocation) : undefined;
    const run = runInstruction({
      call: invocation,
      client,
      request,
      show,
      interrupt: stopping.first,
      ...(view !== undefined && { view }),
    });
    const answer = await Promise.race([run, stopping.second]);
    if (invocation.json && options.events !== true) invocation.output.json(answer);
    if (show === "text") await showProposal(invocation, client, answer);
    if (show === "text") explainEnd(invocation, answer, request);
    return exitOf(answer, stopping.first.aborted);
  } finally {
    stopping.release();
  }
}

async function estimateOnly(
  invocation: CliInvocation,
  client: AptoveClient,
  request: ExecuteRequest,
): Promise<ExitCode> {
  const estimate = await client.estimate(request);
  if (invocation.json) invocation.output.json(estimate);
  else (await import("../show/estimate-words.ts")).showEstimate(invocation, estimate);
  return exitCodes.fine;
}

function attachments(
  at: Pick<AttachmentRequest, "root" | "cwd">,
  { attach: named = [], inline }: AskOptions,
): ExecuteRequest {
  if (named.length > 0) return { input: attachedParts({ ...at, named, mode: inline === true ? "inline" : "file" }) };
  if (inline === true) throw new UsageError("--inline needs an attachment", "attach one: --attach <file>");
  return {};
}

/** Explains what a person can do about a turn that failed, or that waits. */
function explainEnd(invocation: CliInvocation, answer: ExecuteAnswer, { rerun }: ExecuteRequest): void {
  if (answer.kind === "error") return printTurnFailure(invocation, answer);
  const waits = new Set(answer.toolCalls.map(({ waitsFor }) => waitsFor));
  const { output } = invocation;
  if (rerun) {
    output.note(`compare: aptove session diff ${shortId(rerun.turnId)} ${shortId(answer.turnId)}`);
  }
  if (waits.has("approval"))
    output.note(`there is no answer yet; allow or deny it: aptove chat -s ${shortId(answer.sessionId)}`);
  if (waits.has("client")) output.note(clientCallNote);
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

/** Returns the session, or the turn that this one continues or repeats. */
async function chosenPlace(
  client: AptoveClient,
  options: AskOptions,
  repo: string,
): Promise<Pick<ExecuteRequest, "sessionId" | "fork" | "rerun">> {
  if (options.fork !== undefined) return { fork: { turnId: await findContinuable(client, options.fork, repo) } };
  if (options.rerun !== undefined) return { rerun: { turnId: await findTurnId(client, options.rerun, repo) } };
  const sessionId = await chosenSession(client, options, repo);
  return sessionId === null ? {} : { sessionId };
}

/** Returns the workspace that was named, and marks one of this machine as used. */
async function chosenWorkspace(
  invocation: CliInvocation,
  { workspace }: AskOptions,
): Promise<Pick<ExecuteRequest, "workspaceId">> {
  if (workspace === undefined) return {};
  const workspaceId = await namedWorkspace(invocation, workspace);
  if (invocation.server() === null) await (await invocation.workspaces()).workspaces.use(workspaceId);
  return { workspaceId };
}

/** The stop reasons of an answer that is not whole. A warning of the turn says so. */
const incompleteStops: readonly string[] = ["length", "content_filter", "step_limit"];

function exitOf(answer: ExecuteAnswer, wasStopped: boolean): ExitCode {
  if (wasStopped || answer.stopReason === "interrupted" || answer.errorCode === "interrupted") {
    return exitCodes.interrupted;
  }
  // A script that reads the answer must not take a part for the whole, or a turn that waits for an answer.
  const isWhole = answer.kind === "answer" && !incompleteStops.includes(answer.stopReason ?? "stop");
  return isWhole ? exitCodes.fine : exitCodes.failed;
}

function settingsOf({ maxSteps, maxOutput }: AskOptions): Pick<ExecuteRequest, "settings"> {
  if (maxSteps === undefined && maxOutput === undefined) return {};
  return {
    settings: {
      ...(maxSteps !== undefined && { maxSteps }),
      ...(maxOutput !== undefined && { maxOutputTokens: maxOutput }),
    },
  };
}

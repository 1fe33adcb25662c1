/**
 * The turns of a chat: sending a line, steering while a turn runs, and continuing until no tool call waits (V4, V5).
 */
import type { AgUiEvent, ExecuteAnswer, ExecuteRequest, WireTurn } from "../../../client/client.ts";
import { limits } from "../../../domain/limits.ts";
import { turnToRepeat } from "../../../domain/session.ts";
import { CommandFailed, exitCodes } from "../failure.ts";
import { shortId } from "../lookup/find-by-id.ts";
import { firstLine } from "../output.ts";
import type { TurnView } from "../show/render-turn.ts";
import { showProposal } from "../show/show-proposal.ts";
import { runInstruction } from "../turn/run-instruction.ts";
import { printTurnFailure } from "../turn/turn-failure.ts";
import { repeatedFiles } from "../turn/repeated-files.ts";
import { turnRequest, ofThisFolder } from "../turn/turn-request.ts";
import { settleCalls } from "./settle-tool-calls.ts";
import type { ChatState, RunningChatTurn } from "./chat-state.ts";
import { noteSubagentEvent, noteEndedSubagents } from "./subagent-notices.ts";
import type { ChatToolDefinition } from "./chat-tools.ts";
import { mentionedFiles } from "./mentioned-files.ts";

/** Runs a turn of the chat's session, and the turns that its tool calls make necessary. */
export async function runChatTurn(state: ChatState, place: ExecuteRequest): Promise<ExecuteAnswer> {
  let answer = await runTurn(state, withUnsent(state, place));
  for (let next = await settle(state, answer); next !== null; next = await settle(state, answer)) {
    answer = await runTurn(state, next);
  }
  noteEndedSubagents(state);
  return answer;
}

async function settle(state: ChatState, answer: ExecuteAnswer): Promise<ExecuteRequest | null> {
  if (answer.toolCalls.length > 0) return await settleCalls(state, answer.toolCalls, { isOld: false });
  if (!state.call.json) await showProposal(state.call, state.client, answer);
  await rememberModel(state, answer.turnId);
  return null;
}

/** Results of tools that ran before the chat was stopped belong to the next turn, if it continues from there. */
function withUnsent(state: ChatState, place: ExecuteRequest): ExecuteRequest {
  const toolResults = state.unsent;
  state.unsent = [];
  const goesOn = toolResults.length > 0 && !place.rerun && !place.retry && place.toolResults == null;
  return goesOn ? { ...place, toolResults } : place;
}

async function runTurn(state: ChatState, place: ExecuteRequest): Promise<ExecuteAnswer> {
  const { call, client, lines, view } = state;
  const request = { ...(await chatRequest(state, place)), ...place };
  const running: RunningChatTurn = { interrupt: new AbortController(), turnId: null, steers: [] };
  state.running = running;
  const turnView = withoutRepeated(
    state,
    await view.turn({ isFollowing: place.instruction === undefined && !place.rerun && !place.retry && !place.fire }),
  );
  try {
    const run = runInstruction({
      call,
      client,
      request,
      show: call.json ? "none" : "text",
      view: turnView,
      interrupt: running.interrupt.signal,
      onTurn: (turnId) => (running.turnId = turnId),
      onEvent: (event) => {
        countTokens(state, event);
        noteSubagentEvent(state, event);
      },
    });
    const answer = await lines.during(run, (line) => void running.steers.push(steer(state, running, line)));
    await Promise.all(running.steers);
    follow(state, answer);
    return answer;
  } catch (error) {
    if (running.turnId === null) keepUnsent(state, request, error);
    throw error;
  } finally {
    turnView.endLine();
    state.running = null;
  }
}

/**
 * Keeps the results of tools that ran for the next line, if no turn took them: the server was gone, or refused the request.
 * Results that the server does not expect are dropped, because it would refuse every further line with them.
 */
function keepUnsent(state: ChatState, { toolResults }: ExecuteRequest, error: unknown): void {
  const isExpected = !(error instanceof Error && "code" in error && error.code === "tool_feedback_invalid");
  state.unsent = isExpected ? (toolResults ?? []).filter(({ approved }) => approved == null) : [];
}

/** The same warning of every turn is shown with the first one: nothing changes while the chat runs. */
function withoutRepeated({ notedWarnings }: ChatState, view: TurnView): TurnView {
  return {
    event: (event) => {
      const isWarning = event.type === "CUSTOM" && event.name === "aptove.warning";
      const code = isWarning && event.value.code === "index_missing" ? event.value.code : null;
      if (code !== null && notedWarnings.has(code)) return;
      if (code !== null) notedWarnings.add(code);
      view.event(event);
    },
    finish: (answer) => view.finish(answer),
    endLine: () => view.endLine(),
  };
}

/** Builds the request without the instruction: the session, the files and the tools of the chat. */
async function chatRequest(state: ChatState, place: ExecuteRequest): Promise<ExecuteRequest> {
  const { call, options, workspaceId } = state;
  const mentioned = mentionedFiles(place.instruction ?? "", { folder: call.io.cwd, root: (await call.copy()).root });
  for (const note of mentioned.notes) call.output.note(call.output.noteStyle.yellow(call.output.safeNote(note)));
  const again = await repeatedFiles(call, { client: state.client, turn: await repeatedTurn(state, place) }, options);
  const named = { ...options, file: [...(options.file ?? []), ...mentioned.files] };
  const request = await turnRequest(call, named, again);
  const tools = await offeredTools(state);
  const at = state.sessionId === null || place.rerun ? {} : { sessionId: state.sessionId };
  return {
    ...request,
    ...(await ofThisFolder(call, { ...at, ...place })),
    ...(workspaceId === null ? {} : { workspaceId }),
    ...at,
    ...(state.compactsNext && { compact: true }),
    // The tools of the chat read the code where no index does.
    ...(tools.length === 0 ? {} : { tools, ifNotIndexed: "warn" as const }),
  };
}

/** Returns the turn that a request runs again. Null: none. */
async function repeatedTurn({ client, sessionId }: ChatState, place: ExecuteRequest): Promise<WireTurn | null> {
  if (place.rerun) return await client.turns.get(place.rerun.turnId);
  if (place.retry !== true || sessionId === null) return null;
  const [session, { turns }] = await Promise.all([
    client.sessions.get(sessionId),
    client.sessions.turns(sessionId, { limit: limits.pageSizeMax }),
  ]);
  const own = turns.filter(({ kind }) => kind === "agent").slice(0, limits.recentTurnsMax);
  const repeated = turnToRepeat(session, own);
  return repeated === undefined ? null : await client.turns.get(repeated.id);
}

/** A chat continues without tools that cannot be opened. */
async function offeredTools({ tools, call }: ChatState): Promise<ChatToolDefinition[]> {
  if (tools === null) return [];
  const offered = await tools.offered();
  for (const warning of offered.warnings) call.output.note(`warning: ${call.output.safeNote(warning)}`);
  return offered.tools;
}

function follow(state: ChatState, answer: ExecuteAnswer): void {
  const { call } = state;
  if (call.json) call.output.json(answer);
  else if (answer.kind === "error") printTurnFailure(call, answer);
  if (state.sessionId !== null && answer.sessionId !== state.sessionId) {
    call.output.note(`the chat continues in session ${shortId(answer.sessionId)}`);
  }
  // The session keeps the model that its first turn named (S9).
  if (state.sessionId === null) delete state.options.model;
  state.modelSet = null;
  state.compactsNext = false;
  state.sessionId = answer.sessionId;
  state.lastTurnId = answer.turnId;
  // A turn that waits has no answer either.
  state.lastExit = answer.kind === "answer" ? exitCodes.fine : exitCodes.failed;
  state.spent.costUsd += answer.usage.costUsd ?? 0;
}

function countTokens({ spent }: ChatState, event: AgUiEvent): void {
  if (event.type !== "STEP_FINISHED") return;
  const usage = event.metadata?.["usage"] as { inputTokens?: number; outputTokens?: number } | undefined;
  if (usage !== undefined) spent.contextTokens = (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0);
}

/** Only the line above the prompt needs this request, so its failure is ignored. */
async function rememberModel(state: ChatState, turnId: string): Promise<void> {
  if (!state.lines.isTerminal) return;
  const turn = await state.client.turns.summary(turnId).catch(() => null);
  state.spent.model = turn?.model ?? state.spent.model;
}

/**
 * Steers the running turn with a line that was typed meanwhile. If the turn no longer accepts it, the line is the next
 * instruction.
 */
async function steer(state: ChatState, { turnId }: RunningChatTurn, line: string): Promise<void> {
  const text = line.trim().replace(/^\/steer\s+/, "");
  if (text === "") return;
  const { client, call, lines } = state;
  if (turnId === null || text.startsWith("/")) return lines.keep(line);
  try {
    await client.turns.steer(turnId, text);
    call.output.note(call.output.noteStyle.dim(`sent: ${call.output.safeNote(firstLine(text, 100))}`));
  } catch (error) {
    const isOver = error instanceof Error && "code" in error && error.code === "turn_not_running";
    if (!isOver)
      call.output.note(`warning: the message could not be sent to the turn: ${call.output.safeNote(String(error))}`);
    lines.keep(text);
  }
}

/** What a person can do with a line while a turn of the session runs in another program (T5), each with its key. */
const ways: Record<string, NonNullable<ExecuteRequest["ifBusy"]>> = { w: "queue", i: "interrupt", s: "steer" };
const words = "w: wait for its end · i: stop it · s: send it this line · n: drop the line";

/** Runs a line as a turn. If the session is busy, the person chooses what to do, and need not type the line again. */
export async function runLine(state: ChatState, instruction: string): Promise<void> {
  try {
    await runChatTurn(state, { instruction });
  } catch (error) {
    if (!isBusy(error)) throw error;
    const { lines, call } = state;
    if (lines.isTerminal) call.output.note(`a turn of this session runs in another program\n${words}`);
    const answer = (await lines.ask("what now? [w/i/s/N] ", "wisn"))?.trim().toLowerCase() ?? "";
    const ifBusy = Object.hasOwn(ways, answer) ? ways[answer] : undefined;
    if (ifBusy === undefined) throw error;
    await runChatTurn(state, { instruction, ifBusy });
  }
}

/** Returns the error with a fix for a chat, which has no options of `ask`. Any other error stays as it is. */
export function busyInChat(error: unknown): unknown {
  if (!isBusy(error)) return error;
  return new CommandFailed("session_busy", error.message, "wait for its end, or stop it: aptove session interrupt");
}

function isBusy(error: unknown): error is Error {
  return error instanceof Error && "code" in error && error.code === "session_busy";
}

/** The commands of a chat: lines that begin with a slash (L2). */
import type { WireTurn } from "../../../client/client.ts";
import { failureOf } from "../../../domain/errors.ts";
import { UsageError } from "../failure.ts";
import { shortId, turnNumbered } from "../lookup/find-by-id.ts";
import { refuseUnknownMode } from "../lookup/known-modes.ts";
import { plural } from "../../../system/grouped-number.ts";
import { nothingSpent, type ChatState } from "./chat-state.ts";
import { chooseSession } from "./choose-session.ts";
import { chooseModel, keepModel } from "./choose-model.ts";
import { goTo, openInChat } from "./open-session.ts";
import { tokensOfWindow } from "./status-line.ts";
import { runChatTurn } from "./chat-turn.ts";
import { clearWorkspace, workspaceLines } from "./chat-workspace.ts";
import { undo } from "./undo.ts";

interface ChatCommand {
  /** The command as it is typed, with its arguments. */
  usage: string;
  about: string;
  /** True if it only shows something, so that it can be used while a question is open. */
  isShowing?: true;
  run(state: ChatState, rest: string): Promise<void> | void;
}

/** The commands, in the order of the help. */
const commands: Record<string, ChatCommand> = {
  "/context": {
    usage: "",
    about: "what the model has: messages, tokens, and what the last turn sent",
    isShowing: true,
    run: showContext,
  },
  "/details": {
    usage: "[n]",
    about: "show all of the last tool call, or of the one n before it; also Ctrl-O",
    isShowing: true,
    run: unfold,
  },
  "/workspace": { usage: "", about: "show the workspace of this chat", isShowing: true, run: showWorkspace },
  "/session": { usage: "", about: "show the session of this chat", isShowing: true, run: showSession },
  "/sessions": { usage: "[words]", about: "choose the session to continue; all: of every repository", run: sessions },
  "/fork": { usage: "[n]", about: "continue in a new session below turn n, or below the last turn", run: fork },
  "/undo": {
    usage: "",
    about: "continue from before the last instruction; offers to put back the files that its tools wrote",
    run: undo,
  },
  "/rerun": { usage: "[text]", about: "run the last turn again, with the same instruction or another", run: rerun },
  "/compact": {
    usage: "[text]",
    about: "have the model summarise the conversation so far before the next line, which may follow at once",
    run: compact,
  },
  "/pin": {
    usage: "[n] [text]",
    about: "keep the last turn, or turn n, or a passage of it, word for word when the conversation is summarised",
    run: pin,
  },
  "/pins": { usage: "", about: "show what is pinned", isShowing: true, run: showPins },
  "/unpin": { usage: "<pin>", about: "remove a pin", run: unpin },
  "/diff": {
    usage: "[n m]",
    about: "compare what two turns saw and answered; without numbers: the last two",
    isShowing: true,
    run: diff,
  },
  "/model": {
    usage: "[name]",
    about: "list the models, or use another from now on; - for the configured one",
    run: chooseModel,
  },
  "/mode": {
    usage: "[name]",
    about: "ask: nothing is written or run; edit: only with your permission",
    run: chooseMode,
  },
  "/fire": { usage: "[text]", about: "send the waiting answers of subagents to the model", run: fire },
  "/steer": { usage: "<text>", about: "send the running turn a message; a plain line does the same", run: notRunning },
  "/clear": { usage: "", about: "start again with an empty transcript; the old session stays in the list", run: clear },
  "/help": { usage: "", about: "show this help", isShowing: true, run: help },
};

/** All names that Tab completes. */
export const commandNames: readonly string[] = [...Object.keys(commands), "/quit"];

export async function runSlashCommand(state: ChatState, line: string): Promise<"quit" | "continue"> {
  const [name = "", ...rest] = line.split(/\s+/);
  if (name === "/quit" || name === "/exit") return "quit";
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  const { output } = state.call;
  if (command === undefined) output.note(`there is no command ${output.safeNote(line)}; /help lists the commands`);
  else await command.run(state, rest.join(" "));
  return "continue";
}

/** Runs a command that was typed in place of an answer to a question. Those that change something wait for the answer. */
export async function runQuestionCommand(state: ChatState, line: string): Promise<"quit" | "continue"> {
  const [name = ""] = line.split(/\s+/);
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (command !== undefined && command.isShowing !== true) {
    state.call.output.note(`${name} works after the answer; to deny with a reason that begins so, press r first`);
    return "continue";
  }
  try {
    return await runSlashCommand(state, line);
  } catch (error) {
    state.call.output.note(state.call.output.safeNote(failureOf(error).message));
    return "continue";
  }
}

function help({ call }: ChatState): void {
  const rows = Object.entries(commands).map(([name, { usage, about }]) => [`${name} ${usage}`.trim(), about]);
  const lines = call.output.rows([...rows, ["/quit", "leave (Ctrl-D does too)"]]);
  call.output.note(`${lines.join("\n")}

A line that is typed while a turn runs is sent to it.
Ctrl-C stops the turn or the tool; pressed twice it leaves.
@path in a line sends that file with it.
Alt-Enter, or \\ at the end of a line, begins another one.
Ctrl-R looks for an earlier line; Tab completes commands and paths.`);
}

async function clear(state: ChatState): Promise<void> {
  await clearWorkspace(state);
  await keepModel(state);
  goTo(state, null, null);
  state.call.output.note("the next line starts a new session");
}

function notRunning({ call }: ChatState): void {
  call.output.note("no turn is running; send it as the next line");
}

async function showSession({ client, call, sessionId }: ChatState): Promise<void> {
  if (sessionId === null) return call.output.note("no session yet; the first line starts one");
  const { sessionLines } = await import("../show/explain.ts");
  const session = await client.sessions.get(sessionId);
  for (const line of sessionLines(session, call.output)) call.output.line(line);
}

/** Lists sessions and opens the one that the person chooses. */
async function sessions(state: ChatState, rest: string): Promise<void> {
  const chosen = await chooseSession(state, rest);
  if (chosen === null) return;
  goTo(state, chosen.id, null);
  state.spent = { ...nothingSpent, costUsd: chosen.costUsd };
  await openInChat(state, chosen);
}

async function showWorkspace(state: ChatState): Promise<void> {
  for (const line of await workspaceLines(state)) state.call.output.line(state.call.output.safe(line));
}

function unfold({ call, view }: ChatState, rest: string): void {
  if (!/^([1-9]\d?)?$/.test(rest)) throw new UsageError(`"${rest}" is not the number of a call`, "/details 2");
  const lines = view.board.unfolded(Number(rest || 1));
  if (lines === null) call.output.note("that call is no longer kept");
  else for (const line of lines) call.output.line(line);
}

async function showContext(state: ChatState): Promise<void> {
  const turnId = await lastTurn(state);
  const { output } = state.call;
  if (turnId === null) return output.note("there is no turn yet");
  const { turnLines } = await import("../show/explain.ts");
  const turn = await state.client.turns.get(turnId);
  output.line(contextSum(turn));
  for (const line of turnLines(turn, output)) output.line(line);
}

/** Returns the tokens that the model has after a turn. The next turn begins with them. */
function contextSum({ manifest, steps, model }: WireTurn): string {
  const { chunks, activeFiles, historyTurns } = manifest;
  const last = steps.findLast(({ status }) => status === "completed")?.usage;
  const size = (last?.inputTokens ?? 0) + (last?.outputTokens ?? 0);
  const sentChunks = chunks.filter(({ wasSent }) => wasSent).length;
  const sentFiles = activeFiles.filter(({ wasSentToLLM }) => wasSentToLLM).length;
  return [
    `${plural(2 * (historyTurns + 1), "message")} in context`,
    ...(size === 0 ? [] : [tokensOfWindow(size, model)]),
    `${plural(sentChunks, "chunk")} and ${plural(sentFiles, "file")} sent by the last turn`,
  ].join(" · ");
}

/** Returns the last turn of this chat. If it has none yet: the head of its session. */
async function lastTurn({ client, sessionId, lastTurnId }: ChatState): Promise<string | null> {
  if (lastTurnId !== null || sessionId === null) return lastTurnId;
  return (await client.sessions.get(sessionId)).headTurnId;
}

async function turnOfNumber({ client, sessionId }: ChatState, text: string): Promise<string> {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new UsageError(`"${text}" is not the number of a turn`, "they count from 1");
  if (sessionId === null) throw new UsageError("there is no session yet", "type an instruction first");
  return await turnNumbered(client, await client.sessions.get(sessionId), Number(text));
}

async function fork(state: ChatState, rest: string): Promise<void> {
  const turnId = rest === "" ? await lastTurn(state) : await turnOfNumber(state, rest);
  if (turnId === null) return state.call.output.note("there is no turn yet");
  const { workspaceId, lastTurnId, unsent } = state;
  const session = await state.client.sessions.create({
    forkOf: turnId,
    ...(workspaceId === null ? {} : { workspaceId }),
  });
  goTo(state, session.id, turnId);
  // A fork of the turn that waits for the results waits for them too.
  if (turnId === lastTurnId) state.unsent = unsent;
  state.call.output.note(`the chat continues in session ${shortId(session.id)}, a fork of turn ${shortId(turnId)}`);
}

async function rerun(state: ChatState, rest: string): Promise<void> {
  const turnId = await lastTurn(state);
  const session = state.sessionId === null ? null : await state.client.sessions.get(state.sessionId);
  const hasOwn = session !== null && session.lastTurnStatus !== null;
  if (!hasOwn && turnId === null) return state.call.output.note("there is no turn yet");
  // A fork that has no turn of its own yet repeats the turn that it was forked from.
  const isFreshFork = session !== null && !hasOwn;
  const place = hasOwn || turnId === null ? { retry: true } : { rerun: { turnId, asFork: isFreshFork } };
  // The rerun begins a fork of its own, beside the turn. The one without turns is not needed for it.
  if (isFreshFork) state.sessionId = null;
  if (isFreshFork) {
    await state.client.sessions.remove(session.id);
    const why = "it had no turn of its own, and a rerun begins a fork beside the turn";
    state.call.output.note(`the fork ${shortId(session.id)} is deleted: ${why}`);
  }
  const model = state.modelSet === null ? {} : { model: state.modelSet };
  const answer = await runChatTurn(state, { ...place, ...model, ...(rest === "" ? {} : { instruction: rest }) });
  if (isFreshFork) state.call.output.note(`the chat continues in session ${shortId(answer.sessionId)}`);
  state.call.output.note("/diff shows what it saw and answered differently");
}

/** A summary belongs to a turn, so it is written when the next one begins (C6). */
async function compact(state: ChatState, rest: string): Promise<void> {
  const turnId = await lastTurn(state);
  if (turnId === null) return state.call.output.note("there is nothing to summarise yet");
  state.compactsNext = true;
  if (rest !== "") await runChatTurn(state, { instruction: rest });
  else state.call.output.note("the next line begins with a summary of the conversation so far");
}

async function pin(state: ChatState, rest: string): Promise<void> {
  const { client, sessionId, call } = state;
  const [, number = "", text = ""] = /^(?:([1-9]\d{0,8})(?:\s+|$))?([\s\S]*)$/.exec(rest) ?? [];
  const turnId = number === "" ? await lastTurn(state) : await turnOfNumber(state, number);
  if (turnId === null || sessionId === null) return call.output.note("there is no turn yet");
  const { pinLines } = await import("../pins/pins.ts");
  const pinned = await client.sessions.pin(sessionId, { turnId, ...(text !== "" && { text }) });
  for (const line of pinLines([pinned], call.output)) call.output.note(line);
}

async function showPins({ client, sessionId, call: { output } }: ChatState): Promise<void> {
  const pins = sessionId === null ? [] : await client.sessions.pins(sessionId);
  if (pins.length === 0) return output.note("nothing is pinned");
  const { pinLines } = await import("../pins/pins.ts");
  for (const line of pinLines(pins, output)) output.line(line);
}

async function unpin(state: ChatState, rest: string): Promise<void> {
  if (state.sessionId === null) return state.call.output.note("there is no turn yet");
  const { removePin } = await import("../pins/pins.ts");
  await removePin(state.client, state.sessionId, rest);
  await showPins(state);
}

async function fire(state: ChatState, rest: string): Promise<void> {
  if (state.sessionId === null) return state.call.output.note("no session yet; the first line starts one");
  await runChatTurn(state, { fire: true, ...(rest === "" ? {} : { instruction: rest }) });
}

/** Compares two turns. Without numbers: the last turn, and the one that it repeats or else continues. */
async function diff(state: ChatState, rest: string): Promise<void> {
  const numbers = rest.split(/\s+/).filter((part) => part !== "");
  if (numbers.length !== 0 && numbers.length !== 2) throw new UsageError("give two turns, or none", "/diff 2 3");
  const { pairOf, showTurnDiff: showDiff } = await import("../show/turn-diff.ts");
  const [first, second] = numbers;
  if (first !== undefined && second !== undefined) {
    const [a, b] = await Promise.all([turnOfNumber(state, first), turnOfNumber(state, second)]);
    await showDiff(state.call, state.client, { a, b, sideBySide: false });
    return;
  }
  const last = await lastTurn(state);
  const pair = last === null ? null : await pairOf(state.client, last);
  if (pair === null) return state.call.output.note("there are no two turns to compare yet");
  await showDiff(state.call, state.client, { ...pair, sideBySide: false });
}

async function chooseMode(
  { options, call, tools, client, sessionId, workspaceId }: ChatState,
  rest: string,
): Promise<void> {
  if (rest !== "" && rest !== options.mode) {
    const contextOf = async (id: string): Promise<string> => (await client.sessions.get(id)).conversationContextId;
    const contextId = options.context ?? (sessionId === null ? null : await contextOf(sessionId));
    await refuseUnknownMode(call, rest, { client: () => client, workspaceId, contextId });
    options.mode = rest;
  }
  const { output } = call;
  const { mode = "ask" } = options;
  const means: Record<string, string> = {
    ask: ": nothing is written or run",
    edit:
      tools === null
        ? ": answers may propose changes, for aptove apply"
        : ": files are changed and commands run with your permission",
  };
  output.note(`mode ${output.safeNote(mode)}${Object.hasOwn(means, mode) ? means[mode] : ""}`);
}

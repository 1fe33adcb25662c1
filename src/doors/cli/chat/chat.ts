/**
 * `aptove chat`: a session in the terminal (L2). Each line is an instruction, or a command that begins with a slash. A
 * line that is typed while a turn runs steers it. Ctrl-C stops the running turn; a second Ctrl-C leaves the chat. In a
 * pipe, every line is one turn and all output is plain text.
 */
import { join } from "node:path";
import type { CliInvocation } from "../invocation.ts";
import { PipedLines } from "./piped-lines.ts";
import { plainView, type ChatView } from "./chat-view.ts";
import { exitCodes, reportFailure, UsageError, type ExitCode } from "../failure.ts";
import { plural } from "../../../system/grouped-number.ts";
import { shortId } from "../lookup/find-by-id.ts";
import { indexFirst } from "../indexing/index-first.ts";
import { refuseUnknownMode } from "../lookup/known-modes.ts";
import type { ChatInput } from "./line-queue.ts";
import { refuseContradiction } from "../turn/turn-options.ts";
import { commandNames, runSlashCommand } from "./slash-commands.ts";
import { nothingSpent, type ChatState, type ChatOptions } from "./chat-state.ts";
import { newWatch } from "./subagent-notices.ts";
import { statusLine } from "./status-line.ts";
import { ChatTools } from "./chat-tools.ts";
import { busyInChat, runLine } from "./chat-turn.ts";
import { chooseSession } from "./choose-session.ts";
import { modelEntries } from "./model-list.ts";
import { noteNewest, openInChat } from "./open-session.ts";
import { chatSession, chatWorkspace } from "./chat-workspace.ts";

const builtInModes = ["ask", "edit"];

/** `words` are the first instruction. Without them the chat begins by waiting for a line. */
export async function chat(
  invocation: CliInvocation,
  words: readonly string[],
  options: ChatOptions,
): Promise<ExitCode> {
  refuseContradiction(options);
  const client = await invocation.client();
  const workspaceId = await chatWorkspace(invocation, options);
  const session = await chatSession(invocation, { client, options, workspaceId });
  if (options.mode !== undefined) {
    const contextId = options.context ?? session?.conversationContextId ?? null;
    await refuseUnknownMode(invocation, options.mode, { client: () => client, workspaceId, contextId });
  }
  if (!(await indexFirst(invocation, options))) return exitCodes.interrupted;
  const isTerminal = invocation.io.stdin.isTTY === true && invocation.output.isTerminal && !invocation.json;
  if (options.resume === true && !isTerminal) {
    throw new UsageError("--resume asks which session to open, and there is no terminal", "name it: --session <id>");
  }
  const tools = isTerminal && options.tools !== false ? ChatTools.of(invocation, workspaceId, options) : null;
  // The person at the terminal is asked before anything is written or run, so the mode `edit` is no risk.
  if (tools !== null) options.mode ??= "edit";
  const { lines, view } = await openChat(invocation, isTerminal, {
    onInterrupt: () => onInterrupt(state),
    status: () => statusLine(state),
    choices: (command) => (command === "/model" ? state.modelNames : command === "/mode" ? builtInModes : []),
  });
  const state: ChatState = {
    call: invocation,
    client,
    options,
    lines,
    view,
    tools,
    workspaceId,
    sessionId: session?.id ?? null,
    lastTurnId: null,
    running: null,
    subagents: newWatch(),
    unsent: [],
    modelSet: null,
    compactsNext: false,
    notedWarnings: new Set(),
    modelNames: [],
    spent: { ...nothingSpent, costUsd: session?.costUsd ?? 0 },
    isLeaving: false,
    hasLeft: false,
    lastExit: exitCodes.fine,
  };
  try {
    if (isTerminal) await greet(state);
    await begin(state, words.join(" "));
    setImmediate(() => tools?.begin());
    if (isTerminal) setImmediate(() => void learnModels(state));
    return await converse(state);
  } finally {
    lines.close();
    state.subagents.left.abort();
    invocation.output.showOn(null);
    await tools?.close();
  }
}

/** Only the completion of /model needs the list, so its failure is ignored. */
async function learnModels(state: ChatState): Promise<void> {
  state.modelNames = (await modelEntries(state).catch(() => [])).map(({ words }) => words);
}

interface ChatLineOptions {
  onInterrupt(): void;
  status(): string;
  /** Returns what can follow a command. */
  choices(command: string): readonly string[];
}

async function openChat(
  invocation: CliInvocation,
  isTerminal: boolean,
  options: ChatLineOptions,
): Promise<{ lines: ChatInput; view: ChatView }> {
  const { output, io } = invocation;
  if (!isTerminal || !output.canRedraw) {
    const prompt = isTerminal ? output.style.cyan("› ") : null;
    return { lines: new PipedLines({ io, prompt, onInterrupt: options.onInterrupt }), view: plainView(output) };
  }
  const { openTerminal } = await import("./open-terminal.ts");
  const historyFile = join(invocation.folder().dir, "chat-history");
  return openTerminal(invocation, { ...options, commands: commandNames, folder: io.cwd, historyFile });
}

async function greet(state: ChatState): Promise<void> {
  const { call, client, sessionId, tools } = state;
  const session = sessionId === null ? null : await client.sessions.get(sessionId);
  const where =
    session === null ? "a new session" : `session ${shortId(session.id)} · ${plural(session.turnCount, "turn")}`;
  const asks = tools === null ? [] : ["nothing is written or run without your permission"];
  const parts = [where, ...asks, "/help lists the commands"];
  for (const line of call.output.rows([[parts.join(" · ")]])) call.output.note(call.output.noteStyle.dim(line));
  if (session === null) await attempt(state, () => noteNewest(state));
  else await attempt(state, () => openInChat(state, session));
  if (state.options.resume === true) await attempt(state, () => resume(state));
}

/** Begins with the session that the person chooses, or with a new one. */
async function resume(state: ChatState): Promise<void> {
  const chosen = await chooseSession(state, "");
  if (chosen === null) return state.call.output.note("the next line starts a new session");
  state.sessionId = chosen.id;
  await openInChat(state, chosen);
}

/** Makes the words of the command line the first line. On a terminal they are shown as if they had been typed. */
async function begin({ call, lines }: ChatState, words: string): Promise<void> {
  if (words.trim() === "") return;
  lines.keep(words);
  if (lines.isTerminal) call.output.note(`\n${call.output.noteStyle.cyan("› ")}${call.output.safeNote(words)}`);
}

async function converse(state: ChatState): Promise<ExitCode> {
  const { lines } = state;
  for (let line = await lines.next(); line !== null; line = await lines.next()) {
    if (state.hasLeft) break;
    state.isLeaving = false;
    const text = line.trim();
    if (text.startsWith("/")) {
      if ((await attempt(state, () => runSlashCommand(state, text))) === "quit") return exitCodes.fine;
    } else if (text !== "") {
      await attempt(state, () => runLine(state, text));
    }
  }
  if (state.hasLeft) return exitCodes.interrupted;
  return lines.isTerminal ? exitCodes.fine : state.lastExit;
}

/** If something is refused or cannot be reached, the chat continues: the next line may succeed. */
async function attempt<T>(state: ChatState, body: () => Promise<T>): Promise<T | null> {
  const { call } = state;
  try {
    return await body();
  } catch (error) {
    const debug = (call.io.env["APTOVE_DEBUG"] ?? "") !== "";
    state.lastExit = reportFailure(busyInChat(error), call.output, { json: call.json, debug, server: call.server() });
    await leaveServer(state, error);
    return null;
  }
}

/**
 * The server of this data folder has gone. The chat continues with the engine in this process, as the next command
 * would.
 */
async function leaveServer(state: ChatState, error: unknown): Promise<void> {
  if (!(error instanceof Error && "code" in error && error.code === "unreachable")) return;
  const own = await state.call.withoutServer();
  if (own === null || own === state.client) return;
  state.client = own;
  state.call.output.note("the server has stopped; the chat continues without it: send that again");
}

function onInterrupt(state: ChatState): void {
  const { lines, running } = state;
  if (running !== null && !running.interrupt.signal.aborted) {
    running.interrupt.abort();
  } else if (state.isLeaving || running !== null) {
    state.hasLeft = true;
    lines.close();
  } else if (!lines.cancelQuestion()) {
    state.isLeaving = true;
    state.call.output.note("\nCtrl-C again leaves");
    lines.prompt();
  }
}

/**
 * Settles the tool calls that a turn left to its client (V5). Tools of the chat are run, after asking if they write or
 * run something. For tools of the engine, the person allows or denies the call. The results become the next turn (T9).
 */
import type { ExecuteRequest } from "../../../client/client.ts";
import { mayCall } from "../../../domain/context.ts";
import { failedResult, previewToolCall, parseArguments } from "../../../tools/tool-call.ts";
import type { Tool, ToolResult } from "../../../tools/tool.ts";
import { isYes } from "../confirm.ts";
import { firstLine } from "../output.ts";
import { clientCallNote } from "../turn/turn-failure.ts";
import {
  askPersonForPermission,
  askWithReason,
  reasonKey,
  reasonOf,
  type LocalToolCall,
  type WaitingCall,
} from "./permission.ts";
import type { CallResult, ChatState, RunningChatTurn } from "./chat-state.ts";

/**
 * How a call was settled. `left`: the person did not answer, and the call waits. `isStopped`: the call was stopped, and
 * with it the turn that made it.
 */
type Settled = { result: CallResult } | { result: CallResult; isStopped: true } | "not ours" | "left";

/**
 * Returns the results for the next turn. Null if there are none and the next line continues. `isOld`: the calls are
 * from an earlier run of the chat.
 */
export async function settleCalls(
  state: ChatState,
  calls: readonly WaitingCall[],
  how: { isOld: boolean },
): Promise<ExecuteRequest | null> {
  const toolResults: CallResult[] = [];
  const typedLines: string[] = [];
  /** Results of tools that ran are sent with the next line. Decisions about calls that did not run yet are not. */
  const leave = (why: string): null => {
    state.unsent = toolResults.filter(({ approved }) => approved == null);
    for (const text of typedLines) state.lines.keep(text);
    state.call.output.note(why);
    return null;
  };
  let areAllOurs = true;
  for (const waiting of calls) {
    const settled =
      waiting.waitsFor === "approval"
        ? await askWord(state, waiting)
        : await settleOwn(state, waiting, { ...how, typedLines });
    if (settled === "not ours") areAllOurs = false;
    else if (settled === "left") return leave("not answered; the call waits until you send a line without answering");
    else {
      toolResults.push(settled.result);
      if ("isStopped" in settled) return leave("stopped; type what to do instead");
    }
  }
  if (!areAllOurs) state.call.output.note(clientCallNote);
  if (toolResults.length === 0) return null;
  return { toolResults, ...(typedLines.length === 0 ? {} : { instruction: typedLines.join("\n") }) };
}

/** Asks about a call of a tool of the engine. */
async function askWord(state: ChatState, waiting: WaitingCall): Promise<Settled> {
  const { call, lines, view } = state;
  const { callId, name, arguments: given } = waiting;
  if (!lines.isTerminal) return "left";
  const hint = call.output.style.dim(`y: yes · n: no · ${reasonKey}: no, with a reason`);
  // The call is shown where the question is, also if notes go elsewhere.
  const show = (): void => call.output.line([...view.board.asked(callId, name, given), hint].join("\n"));
  show();
  const { answer, isReason } = await askWithReason(state, "allow? [y/N] ", { keys: "yn", show });
  if (answer === null) return "left";
  if (!isReason && isYes(answer)) return { result: { callId, approved: true } };
  return { result: { callId, approved: false, ...reasonOf(answer) } };
}

async function settleOwn(
  state: ChatState,
  waiting: WaitingCall,
  { isOld, typedLines }: { isOld: boolean; typedLines: string[] },
): Promise<Settled> {
  const { callId, name, arguments: given } = waiting;
  const tool = (await state.tools?.find(name)) ?? null;
  if (tool === null || state.tools === null) return "not ours";
  const { board } = state.view;
  board.begin(callId, name, given);
  const args = parseArguments(given);
  const refusal = args === null ? failedResult("the arguments are not a JSON object") : refusalOf(state, tool);
  if (args === null || refusal !== null)
    return ended(state, callId, { ...(refusal ?? failedResult("the tool cannot be run")), wasSeen: false });
  const { view, refusal: fault } = await previewToolCall(tool, args);
  const own = { waiting, tools: state.tools, tool, args, view };
  board.view(callId, view);
  if (fault !== null && tool.needsApproval(args)) return ended(state, callId, { ...fault, wasSeen: false });
  const permission = await askPersonForPermission(state, own, { isOld });
  if (permission.isGiven) return await runOwn(state, own, { wasAsked: permission.wasAsked, typedLines });
  if (permission.answer === null) {
    board.drop(callId);
    return "left";
  }
  const { reason = "the user did not allow this call" } = reasonOf(permission.answer);
  return ended(state, callId, { output: `denied: ${reason}`, isError: true, wasSeen: true });
}

/**
 * Refuses a tool in a mode that does not allow it. The engine does not offer it there; this check holds also against a
 * server that does.
 */
function refusalOf({ options }: ChatState, tool: Tool): ToolResult | null {
  const { mode = "ask" } = options;
  return mayCall({ id: mode }, tool.definition) ? null : failedResult(`mode "${mode}" writes and runs nothing`);
}

/** Runs a tool. Lines that are typed meanwhile are sent together with the result. */
async function runOwn(
  state: ChatState,
  { waiting: { callId }, tools, tool, args, view: shown }: LocalToolCall,
  { wasAsked, typedLines }: { wasAsked: boolean; typedLines: string[] },
): Promise<Settled> {
  const { lines, view } = state;
  const running: RunningChatTurn = { interrupt: new AbortController(), turnId: null, steers: [] };
  state.running = running;
  view.board.restart(callId);
  try {
    const turnId = state.lastTurnId ?? "";
    const { root } = await state.call.copy();
    const run = tools.written.during({ turnId, root, view: shown }, () =>
      tools.run(tool, args, {
        sessionId: state.sessionId ?? "",
        turnId,
        callId,
        signal: running.interrupt.signal,
        showOutput: (text) => view.board.output(callId, text),
      }),
    );
    const result = await view.during(lines.during(run, (line) => typedMeanwhile(state, typedLines, line)));
    const settled = ended(state, callId, { ...result, wasSeen: wasAsked });
    return running.interrupt.signal.aborted ? { ...settled, isStopped: true } : settled;
  } finally {
    state.running = null;
  }
}

function typedMeanwhile({ lines, call }: ChatState, typedLines: string[], line: string): void {
  const text = line.trim().replace(/^\/steer\s+/, "");
  if (text.startsWith("/")) return lines.keep(line);
  if (text === "") return;
  typedLines.push(text);
  call.output.note(call.output.noteStyle.dim(`will be sent: ${call.output.safeNote(firstLine(text, 100))}`));
}

/** Shows the outcome of a call. `wasSeen`: the change was already shown with the question. */
function ended({ view }: ChatState, callId: string, of: ToolResult & { wasSeen: boolean }): { result: CallResult } {
  view.board.end(callId, of);
  const { output, isError } = of;
  return { result: isError ? { callId, error: output } : { callId, output } };
}

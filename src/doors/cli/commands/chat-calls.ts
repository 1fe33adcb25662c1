/**
 * Calls that a turn left to whoever reads it (V5): tools of the chat are run, after asking where they write or run
 * something; for tools beside the engine a word is asked for. What comes of them is the next turn (T9).
 */
import type { ExecuteAnswer, ExecuteRequest } from "../../../client/client.ts";
import { mayCall } from "../../../domain/context.ts";
import type { ToolCallView } from "../../../domain/tool.ts";
import type { Tool, ToolResult } from "../../../tools/tool.ts";
import { isYes } from "../confirm.ts";
import { firstLine } from "../output.ts";
import { cut } from "../terminal/cells.ts";
import { clientCallNote } from "./ask.ts";
import type { CallResult, Chat, Running } from "./chat-state.ts";
import { failed, parseArguments, viewOf } from "./chat-tools.ts";
import type { ChatTools } from "./chat-tools.ts";

type WaitingCall = ExecuteAnswer["toolCalls"][number];

/** `left`: the person let the call wait. `stopped`: it was ended, and so is the turn that asked for it. */
type Settled = { result: CallResult } | { result: CallResult; isStopped: true } | "not ours" | "left";

/** Gives what the next turn is to bring; null: nothing, the next line goes on. `isOld`: the calls are from another run of the chat. */
export async function settleCalls(
  state: Chat,
  calls: readonly WaitingCall[],
  how: { isOld: boolean },
): Promise<ExecuteRequest | null> {
  const toolResults: CallResult[] = [];
  const said: string[] = [];
  let areAllOurs = true;
  for (const waiting of calls) {
    const settled =
      waiting.waitsFor === "approval"
        ? await askWord(state, waiting)
        : await settleOwn(state, waiting, { ...how, said });
    if (settled === "not ours") areAllOurs = false;
    else if (settled === "left")
      return leave(state, toolResults, "not answered; it goes on waiting, until a line is said without it");
    else {
      toolResults.push(settled.result);
      if ("isStopped" in settled) return leave(state, toolResults, "stopped; say what to do instead");
    }
  }
  if (!areAllOurs) state.call.output.note(clientCallNote);
  if (toolResults.length === 0) return null;
  return { toolResults, ...(said.length === 0 ? {} : { instruction: said.join("\n") }) };
}

/** What tools did is told with the next line; words on calls that did not run yet are not. */
function leave(state: Chat, results: readonly CallResult[], why: string): null {
  state.unsent = results.filter(({ approved }) => approved == null);
  state.call.output.note(why);
  return null;
}

/** A call of a tool beside the engine. */
async function askWord(state: Chat, { callId, name, arguments: given }: WaitingCall): Promise<Settled> {
  const { call, lines, view } = state;
  const known = view.board.viewOf(callId);
  if (known !== null) call.output.note(view.board.asked(known).join("\n"));
  const words = call.output.safe(`${name} ${firstLine(given, 60)}`);
  const answer = await lines.ask(known === null ? `run ${words}? [y/N] ` : "run it? [y/N] ");
  if (answer === null) return "left";
  if (isYes(answer)) return { result: { callId, approved: true } };
  return { result: { callId, approved: false, ...reasonOf(answer) } };
}

/** Whatever is no plain no says why not. */
function reasonOf(answer: string): { reason?: string } {
  const text = answer.trim();
  return /^(n|no|)$/i.test(text) ? {} : { reason: text };
}

interface OwnCall {
  callId: string;
  tools: ChatTools;
  tool: Tool;
  args: Record<string, unknown>;
  view: ToolCallView;
}

async function settleOwn(
  state: Chat,
  waiting: WaitingCall,
  { isOld, said }: { isOld: boolean; said: string[] },
): Promise<Settled> {
  const { callId, name, arguments: given } = waiting;
  const tool = (await state.tools?.find(name)) ?? null;
  if (tool === null || state.tools === null) return "not ours";
  const { board } = state.view;
  board.begin(callId, name, given);
  const args = parseArguments(given);
  const refusal = args === null ? failed("the arguments are not a JSON object") : refusalOf(state, tool);
  if (args === null || refusal !== null) return ended(state, callId, refusal ?? failed("the call cannot be run"));
  const own = { callId, tools: state.tools, tool, args, view: await viewOf(tool, args) };
  board.view(callId, own.view);
  const permission = await permissionFor(state, own, isOld);
  if (permission.isGiven) return await runOwn(state, own, { wasAsked: permission.wasAsked, said });
  if (permission.answer === null) {
    board.drop(callId);
    return "left";
  }
  const { reason = "the user did not allow this call" } = reasonOf(permission.answer);
  return ended(state, callId, { output: `denied: ${reason}`, isError: true }, { wasSeen: true });
}

/** The engine offers them in no such mode; a server that does all the same gets no further. */
function refusalOf({ options }: Chat, tool: Tool): ToolResult | null {
  const { mode = "ask" } = options;
  return mayCall({ id: mode }, tool.definition) ? null : failed(`mode "${mode}" writes and runs nothing`);
}

type Permission = { isGiven: true; wasAsked: boolean } | { isGiven: false; answer: string | null };

async function permissionFor(state: Chat, { tools, tool, args, view }: OwnCall, isOld: boolean): Promise<Permission> {
  const { permission } = view;
  if (!isOld && !tool.needsApproval(args)) return { isGiven: true, wasAsked: false };
  if (!isOld && permission !== null && (await isPermitted(state, tools, permission.key))) {
    return { isGiven: true, wasAsked: false };
  }
  const { output } = state.call;
  const always = permission === null ? [] : [`a: always ${cut(permission.label, 50)} ${tools.permits.scope}`];
  const words = ["y: yes", ...always, "n: no, or say why not"].join(" · ");
  const again = isOld ? ["this call was left open by an earlier chat, and may have run"] : [];
  const hints = [...again, words].map((line) => output.noteStyle.dim(output.safeNote(line)));
  output.note([...state.view.board.asked(view), ...hints].join("\n"));
  for (;;) {
    const answer = await state.lines.ask(permission === null ? "allow? [y/N] " : "allow? [y/a/N] ");
    if (answer === null) return { isGiven: false, answer };
    if (isYes(answer)) return { isGiven: true, wasAsked: true };
    if (!/^a(lways)?$/i.test(answer.trim())) return { isGiven: false, answer };
    if (permission === null) output.note("this cannot be allowed for ever; y allows it once");
    else {
      await remember(state, tools, permission.key);
      return { isGiven: true, wasAsked: true };
    }
  }
}

/** What cannot be read is no yes. */
async function isPermitted({ call }: Chat, { permits }: ChatTools, key: string): Promise<boolean> {
  try {
    return await permits.isAllowed(key);
  } catch (error) {
    call.output.note(`warning: what was allowed cannot be read: ${call.output.safeNote(String(error))}`);
    return false;
  }
}

async function remember({ call }: Chat, { permits }: ChatTools, key: string): Promise<void> {
  try {
    await permits.allow(key);
  } catch (error) {
    call.output.note(`warning: allowed this once; it cannot be kept: ${call.output.safeNote(String(error))}`);
  }
}

/** Lines that are typed meanwhile are said together with the result. */
async function runOwn(
  state: Chat,
  { callId, tools, tool, args }: OwnCall,
  { wasAsked, said }: { wasAsked: boolean; said: string[] },
): Promise<Settled> {
  const { lines, view } = state;
  const running: Running = { interrupt: new AbortController(), turnId: null, steers: [] };
  state.running = running;
  view.board.restart(callId);
  try {
    const run = tools.run(tool, args, {
      sessionId: state.sessionId ?? "",
      turnId: state.lastTurnId ?? "",
      callId,
      signal: running.interrupt.signal,
      showOutput: (text) => view.board.output(callId, text),
    });
    const result = await view.during(lines.during(run, (line) => typedMeanwhile(state, said, line)));
    const settled = ended(state, callId, result, { wasSeen: wasAsked });
    return running.interrupt.signal.aborted ? { ...settled, isStopped: true } : settled;
  } finally {
    state.running = null;
  }
}

function typedMeanwhile({ lines, call }: Chat, said: string[], line: string): void {
  const text = line.trim().replace(/^\/steer\s+/, "");
  if (text.startsWith("/")) return lines.keep(line);
  if (text === "") return;
  said.push(text);
  call.output.note(call.output.noteStyle.dim(`will be told: ${call.output.safeNote(firstLine(text, 100))}`));
}

function ended(
  { view }: Chat,
  callId: string,
  result: ToolResult,
  how: { wasSeen?: boolean } = {},
): { result: CallResult } {
  view.board.end(callId, result, how);
  const { output, isError } = result;
  return { result: isError ? { callId, error: output } : { callId, output } };
}

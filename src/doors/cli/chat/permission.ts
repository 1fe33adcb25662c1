/**
 * Decides whether a call of one of the chat's tools may run: by an earlier permission, or by the answer of the person
 * (P4, V5).
 */
import type { ExecuteAnswer } from "../../../client/client.ts";
import type { ToolCallView } from "../../../domain/tool.ts";
import type { Tool } from "../../../tools/tool.ts";
import { isYes } from "../confirm.ts";
import { cut } from "../terminal/cells.ts";
import type { ChatState } from "./chat-state.ts";
import type { ChatTools } from "./chat-tools.ts";
import { shareQuestion, type CallAnswer } from "./shared-question.ts";

export type WaitingCall = ExecuteAnswer["toolCalls"][number];

/** A call of one of the chat's own tools. */
export interface LocalToolCall {
  waiting: WaitingCall;
  tools: ChatTools;
  tool: Tool;
  args: Record<string, unknown>;
  /** Its permission is what can be allowed permanently. */
  view: ToolCallView;
}

/** The decision. A null `answer` means that the question was not answered. */
export type PermissionAnswer = { isGiven: true; wasAsked: boolean } | { isGiven: false; answer: string | null };

/**
 * Asks the person if that is needed. A call of an earlier chat always needs an answer, because it may have run already.
 */
export async function askPersonForPermission(
  state: ChatState,
  own: LocalToolCall,
  { isOld }: { isOld: boolean },
): Promise<PermissionAnswer> {
  const { tools, tool, args } = own;
  const { permission } = own.view;
  if (!isOld && !tool.needsApproval(args)) return { isGiven: true, wasAsked: false };
  if (!isOld && permission !== null && (await isPermitted(state, tools, permission.key))) {
    return { isGiven: true, wasAsked: false };
  }
  const { scope } = tools.permits;
  const call = { turnId: state.lastTurnId ?? "", callId: own.waiting.callId, view: own.view, scope };
  const shared = shareQuestion(state.client, call, () => void state.lines.cancelQuestion());
  const answer = await askHere(state, own, { isOld });
  const given = shared.elsewhere === null ? answerOf(answer) : null;
  const counts = await shared.end(given);
  if (counts === null || counts === given) {
    if (answer.isAlways && permission !== null) await remember(state, tools, permission.key);
    return answer.isGiven ? { isGiven: true, wasAsked: true } : { isGiven: false, answer: answer.text };
  }
  const isAlways = counts.approved && counts.always === true && permission !== null;
  if (isAlways) await remember(state, tools, permission.key);
  const what = isAlways
    ? `always ${permission.label} ${scopeWords[scope]} was allowed`
    : counts.approved
      ? "allowed"
      : "denied";
  state.call.output.note(`${state.call.output.safeNote(what)} by an answer from elsewhere`);
  return counts.approved ? { isGiven: true, wasAsked: true } : { isGiven: false, answer: counts.reason ?? "no" };
}

const scopeWords = { workspace: "in this workspace", chat: "in this chat" };

/** What the person at the terminal answered. A null `text` means that the question was not answered. */
interface OwnAnswer {
  isGiven: boolean;
  isAlways: boolean;
  text: string | null;
}

function answerOf({ isGiven, text }: OwnAnswer): CallAnswer | null {
  if (isGiven) return { approved: true };
  if (text === null) return null;
  return { approved: false, ...reasonOf(text) };
}

/** An answer that is not a plain "no" is the reason for the denial. */
export function reasonOf(answer: string): { reason?: string } {
  const text = answer.trim();
  return /^(n|no|)$/i.test(text) ? {} : { reason: text };
}

async function askHere(state: ChatState, own: LocalToolCall, { isOld }: { isOld: boolean }): Promise<OwnAnswer> {
  const { permission } = own.view;
  const show = (): void => showCall(state, own, { isOld });
  show();
  for (;;) {
    const [question, keys] = permission === null ? ["allow? [y/N] ", "yn"] : ["allow? [y/a/N] ", "yan"];
    const { answer: text, isReason } = await askWithReason(state, question, { keys, show });
    if (text === null || isReason) return { isGiven: false, isAlways: false, text };
    const isAlways = /^a(lways)?$/i.test(text.trim());
    if (isAlways && permission === null) {
      state.call.output.note("this cannot be allowed permanently; y allows it once");
      continue;
    }
    return { isGiven: isAlways || isYes(text), isAlways, text };
  }
}

/** The key that lets a person type a reason that begins with another key. */
export const reasonKey = "r";

/** Asks a question that one key answers. `show` shows what it is about again. `isReason`: the answer is a denial with this text, whatever the text is. */
export async function askWithReason(
  state: ChatState,
  question: string,
  { keys, show }: { keys: string; show(): void },
): Promise<{ answer: string | null; isReason: boolean }> {
  const { lines } = state;
  let answer = await lines.ask(question, `${keys}${reasonKey}`);
  // A command is no answer.
  while (answer?.trim().startsWith("/") === true) {
    const { runQuestionCommand } = await import("./slash-commands.ts");
    if (answer.trim() === "/details") show();
    else if ((await runQuestionCommand(state, answer.trim())) === "quit") {
      // The question stays open for the next chat, and the line ends this one.
      lines.keep(answer);
      return { answer: null, isReason: false };
    }
    answer = await lines.ask(question, `${keys}${reasonKey}`);
  }
  if (answer?.trim() !== reasonKey) return { answer, isReason: false };
  return { answer: await lines.ask("reason: "), isReason: true };
}

function showCall(
  state: ChatState,
  { waiting, tools, view: { permission } }: LocalToolCall,
  { isOld }: { isOld: boolean },
): void {
  const { output } = state.call;
  const { callId, name, arguments: given } = waiting;
  const always =
    permission === null ? [] : [`a: always ${cut(permission.label, 50)} ${scopeWords[tools.permits.scope]}`];
  const words = ["y: yes", ...always, "n: no", `${reasonKey}: no, with a reason`].join(" · ");
  const again = isOld ? ["this call is from an earlier chat and may have run already"] : [];
  const hints = output.rows([...again, words].map((line) => [line])).map((line) => output.style.dim(line));
  // The call is shown where the question is, also if notes go elsewhere.
  output.line([...state.view.board.asked(callId, name, given), ...hints].join("\n"));
}

/** If the permissions cannot be read, the call is not permitted. */
async function isPermitted({ call }: ChatState, { permits }: ChatTools, key: string): Promise<boolean> {
  try {
    return await permits.isAllowed(key);
  } catch (error) {
    call.output.note(`warning: the permissions cannot be read: ${call.output.safeNote(String(error))}`);
    return false;
  }
}

async function remember({ call }: ChatState, { permits }: ChatTools, key: string): Promise<void> {
  try {
    await permits.allow(key);
  } catch (error) {
    call.output.note(
      `warning: allowed this once; the permission could not be saved: ${call.output.safeNote(String(error))}`,
    );
  }
}

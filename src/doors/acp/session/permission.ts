/**
 * Asks the user at the client whether a tool call may run (V5, P4). A question belongs to its turn: a client that leaves has
 * not answered it, and the next client that opens the session is asked.
 */
import { RequestError, type PermissionOption, type RequestPermissionResponse } from "@agentclientprotocol/sdk";
import type { ToolCallView, ToolPermission } from "../../../domain/tool.ts";
import type { ApprovalAnswer, ApprovalQuestion } from "../../../engine/engine.ts";
import type { AcpClient } from "../client/acp-client.ts";
import type { AcpPermissions, AcpPorts } from "../ports.ts";
import { clientLeft } from "../refusal.ts";
import { visibleText } from "../../../tools/shown-text.ts";
import { isAcceptedEdit, type EditorMode } from "./editor-modes.ts";
import { shownView, toolCallId, textContent } from "./turn-updates.ts";

/** What a question needs of its session. */
export interface QuestionedSession {
  facts: { id: string; workspaceId: string; options: { modeChosen: EditorMode } };
  /** The keys of calls that the user has refused for this session. */
  refused: Set<string>;
}

export interface PermissionPorts {
  client: AcpClient;
  session: QuestionedSession;
  turnId: string;
  permissions: AcpPermissions;
  report: AcpPorts["report"];
}

/** A call that the client has been shown, with the arguments of the model. */
export interface ShownQuestion {
  callId: string;
  view: ToolCallView;
  rawInput: unknown;
}

/**
 * Decides a call without a question: by the mode, by what the user has refused for this session, or by what the workspace allows
 * permanently. Null: a person must be asked. Never rejects.
 */
export async function decidedAlready(
  { session, permissions, report }: Pick<PermissionPorts, "session" | "permissions" | "report">,
  { view }: Pick<ApprovalQuestion, "view">,
): Promise<ApprovalAnswer | null> {
  const { permission } = view;
  const { workspaceId, options } = session.facts;
  if (permission === null) return null;
  if (session.refused.has(permission.key)) return { approved: false, reason: refusedForSession };
  if (options.modeChosen.acceptsEdits === true && isAcceptedEdit(view)) return { approved: true };
  try {
    return (await permissions.isAllowed(workspaceId, permission.key)) ? { approved: true } : null;
  } catch (error) {
    report("the permissions of the workspace could not be read, so the user is asked", error);
    return null;
  }
}

const refusedForSession = "the user does not allow such calls in this session";

/**
 * Asks for approval. Everything except a clear yes is a no, with a reason for the model. Null: there is no answer, because
 * the client has left or the question was withdrawn. Never rejects.
 */
export async function askClientForPermission(
  ports: PermissionPorts,
  question: ShownQuestion,
  signal: AbortSignal,
): Promise<ApprovalAnswer | null> {
  const { client, session, report } = ports;
  const { permission } = question.view;
  try {
    const answer = await ask(ports, question, signal);
    if (answer === "allow_always" && permission !== null) await remember(ports, permission);
    if (answer === "allow_once" || answer === "allow_always") return { approved: true };
    if (answer === "reject_always" && permission !== null) session.refused.add(permission.key);
    return { approved: false, ...(!answer.startsWith("reject_") && { reason: answer }) };
  } catch (error) {
    if (signal.aborted || hasLeft(client, error)) return null;
    report("the client could not be asked for a permission, so the call was denied", error);
    return { approved: false, reason: "the client could not be asked" };
  }
}

/** Returns true if the client can no longer answer. A client that closed its output may still read. */
function hasLeft(client: AcpClient, error: unknown): boolean {
  if (client.gone.aborted) return true;
  const data = error instanceof RequestError ? (error.data as { code?: unknown } | undefined) : undefined;
  return data?.code === clientLeft;
}

/** Returns the id of the chosen option, or the reason why none was chosen. */
async function ask(
  { client, session, turnId }: PermissionPorts,
  { callId, rawInput, view }: ShownQuestion,
  signal: AbortSignal,
): Promise<string> {
  const options = optionsFor(view.permission);
  const toolCall = {
    toolCallId: toolCallId(turnId, callId),
    ...shownView(view),
    // Clients do not have to show the input, so a call without a view of its own shows it as text.
    ...(view.content.length === 0 && view.kind === "other" && { content: [textContent(inputText(rawInput))] }),
    status: "pending",
    rawInput,
  } as const;
  const answer = await client.request(
    "session/request_permission",
    { sessionId: session.facts.id, toolCall, options },
    signal,
  );
  return chosen(answer, options);
}

function inputText(rawInput: unknown): string {
  return visibleText(JSON.stringify(rawInput, null, 2) ?? "");
}

function optionsFor(permission: ToolPermission | null): PermissionOption[] {
  const allowOnce: PermissionOption = { optionId: "allow_once", kind: "allow_once", name: "Allow once" };
  const rejectOnce: PermissionOption = { optionId: "reject_once", kind: "reject_once", name: "Reject" };
  if (permission === null) return [allowOnce, rejectOnce];
  const { label } = permission;
  return [
    allowOnce,
    { optionId: "allow_always", kind: "allow_always", name: `Always allow in this workspace: ${label}` },
    rejectOnce,
    { optionId: "reject_always", kind: "reject_always", name: `Always reject in this session: ${label}` },
  ];
}

/** Checks the client's answer, which may have any form in spite of its type. */
function chosen(answer: RequestPermissionResponse, options: readonly PermissionOption[]): string {
  const outcome: unknown = (answer as Partial<RequestPermissionResponse> | null)?.outcome;
  const { outcome: kind, optionId } = (outcome ?? {}) as { outcome?: unknown; optionId?: unknown };
  if (kind === "cancelled") return "the user cancelled the question";
  const isOffered = kind === "selected" && options.some((option) => option.optionId === optionId);
  return isOffered ? String(optionId) : "the client's answer was none of the offered options";
}

/** Stores a permanent permission. If that fails, this one call is allowed anyway. */
async function remember({ session, permissions, report }: PermissionPorts, { key }: ToolPermission): Promise<void> {
  try {
    await permissions.allow(session.facts.workspaceId, key);
  } catch (error) {
    report("a permanent permission could not be stored; the user will be asked again", error);
  }
}

/** Asks the user at the client whether a tool call may run (V5, P4), unless the workspace already allows such calls permanently. */
import type { PermissionOption, RequestPermissionResponse } from "@agentclientprotocol/sdk";
import type { ToolPermission } from "../../../domain/tool.ts";
import type { ApprovalAnswer, ApprovalQuestion } from "../../../engine/engine.ts";
import type { AcpClient } from "../client/acp-client.ts";
import type { AcpPermissions, AcpPorts } from "../ports.ts";
import { shownView, toolCallId } from "./turn-updates.ts";

export interface PermissionPorts {
  client: AcpClient;
  workspaceId: string;
  permissions: AcpPermissions;
  report: AcpPorts["report"];
  /** Resolves when the client has received the call: a question must not arrive before the call that it is about. */
  shown(callId: string): Promise<void>;
}

/** Asks for approval. Everything except a clear yes is a no, with a reason for the model. Never rejects. */
export async function askClientForPermission(
  ports: PermissionPorts,
  question: ApprovalQuestion,
): Promise<ApprovalAnswer> {
  const { client, workspaceId, permissions, report } = ports;
  const { permission } = question.view;
  try {
    if (permission !== null && (await permissions.isAllowed(workspaceId, permission.key))) return { approved: true };
    await ports.shown(question.callId);
    const answer = await ask(client, question);
    if (answer === "allow_always" && permission !== null) await remember(ports, permission);
    if (answer === "allow_once" || answer === "allow_always") return await approved(client, question);
    return { approved: false, ...(answer !== "reject_once" && { reason: answer }) };
  } catch (error) {
    if (client.gone.aborted)
      return { approved: false, reason: "the client that could have allowed it has disconnected" };
    if (question.signal.aborted) return { approved: false, reason: "the turn was stopped" };
    report("the client could not be asked for a permission, so the call was denied", error);
    return { approved: false, reason: "the client could not be asked" };
  }
}

/** Returns the id of the chosen option, or the reason why none was chosen. */
async function ask(
  client: AcpClient,
  { sessionId, turnId, callId, args, view, signal }: ApprovalQuestion,
): Promise<string> {
  const options = optionsFor(view.permission);
  const toolCall = {
    toolCallId: toolCallId(turnId, callId),
    ...shownView(view),
    status: "pending",
    rawInput: args,
  } as const;
  const answer = await client.request("session/request_permission", { sessionId, toolCall, options }, signal);
  return chosen(answer, options);
}

function optionsFor(permission: ToolPermission | null): PermissionOption[] {
  const always: PermissionOption[] =
    permission === null
      ? []
      : [
          {
            optionId: "allow_always",
            kind: "allow_always",
            name: `Always allow in this workspace: ${permission.label}`,
          },
        ];
  return [
    { optionId: "allow_once", kind: "allow_once", name: "Allow once" },
    ...always,
    { optionId: "reject_once", kind: "reject_once", name: "Reject" },
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
async function remember({ workspaceId, permissions, report }: PermissionPorts, { key }: ToolPermission): Promise<void> {
  try {
    await permissions.allow(workspaceId, key);
  } catch (error) {
    report("a permanent permission could not be stored; the user will be asked again", error);
  }
}

async function approved(client: AcpClient, { sessionId, turnId, callId }: ApprovalQuestion): Promise<ApprovalAnswer> {
  await client.update(sessionId, {
    sessionUpdate: "tool_call_update",
    toolCallId: toolCallId(turnId, callId),
    status: "in_progress",
  });
  return { approved: true };
}

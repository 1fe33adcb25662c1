/** Asks the person at the client whether a call may run (V5, P4), unless they allowed its like for ever. */
import type { PermissionOption, RequestPermissionResponse } from "@agentclientprotocol/sdk";
import type { ToolPermission } from "../../../domain/tool.ts";
import type { ApprovalAnswer, ApprovalQuestion } from "../../../engine/engine.ts";
import type { Client } from "../client/client.ts";
import type { AcpPermissions, AcpPorts } from "../ports.ts";
import { shownView, toolCallId } from "./turn-updates.ts";

export interface PermissionPorts {
  client: Client;
  workspaceId: string;
  permissions: AcpPermissions;
  report: AcpPorts["report"];
  /** Resolves once the client was shown the call: a question must not come before what it is about. */
  shown(callId: string): Promise<void>;
}

/** Never rejects: whatever is no clear yes is a no, with its reason for the model. */
export async function askPermission(ports: PermissionPorts, question: ApprovalQuestion): Promise<ApprovalAnswer> {
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
    if (client.gone.aborted) return { approved: false, reason: "the client that could have allowed it is gone" };
    if (question.signal.aborted) return { approved: false, reason: "the turn was stopped" };
    report("a permission could not be asked for", error);
    return { approved: false, reason: "the client could not be asked" };
  }
}

/** The id of the chosen option, or why none was chosen. */
async function ask(
  client: Client,
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

/** The client may send anything, whatever its type says. */
function chosen(answer: RequestPermissionResponse, options: readonly PermissionOption[]): string {
  const outcome: unknown = (answer as Partial<RequestPermissionResponse> | null)?.outcome;
  const { outcome: kind, optionId } = (outcome ?? {}) as { outcome?: unknown; optionId?: unknown };
  if (kind === "cancelled") return "the user cancelled the question";
  const isOffered = kind === "selected" && options.some((option) => option.optionId === optionId);
  return isOffered ? String(optionId) : "the client gave no answer that was offered";
}

/** The call was allowed whether or not that can be kept. */
async function remember({ workspaceId, permissions, report }: PermissionPorts, { key }: ToolPermission): Promise<void> {
  try {
    await permissions.allow(workspaceId, key);
  } catch (error) {
    report("a permission could not be remembered", error);
  }
}

async function approved(client: Client, { sessionId, turnId, callId }: ApprovalQuestion): Promise<ApprovalAnswer> {
  await client.update(sessionId, {
    sessionUpdate: "tool_call_update",
    toolCallId: toolCallId(turnId, callId),
    status: "in_progress",
  });
  return { approved: true };
}

/**
 * What the ACP door needs from outside. What can be said at once stands in `AcpPorts`; everything that takes a while
 * to open is behind `open`, because a client wants the answer to `initialize` before the stores are there.
 */
import type { Caller } from "../../domain/caller.ts";
import type { AgentContext, ConversationContext } from "../../domain/context.ts";
import type { Engine } from "../../engine/engine.ts";
import type { OpenSessionTools } from "../../tools/session-tools.ts";

export interface AcpPorts {
  version: string;
  /** The device that this connection belongs to, where its transport knows (P2). Null: the client may name one. */
  deviceId: string | null;
  /** How `session/new` begins where the request does not say. Null: a device goes on, anybody else begins empty (W3). */
  beginning: "fresh" | "continue" | null;
  /** Mode of new sessions; null: `edit`. */
  mode: string | null;
  /** Name under which the repository of a folder is listed and indexed; null: it belongs to none. Never rejects. */
  repositoryOf(folder: string): Promise<string | null>;
  /** The commit that the working copy around a folder stands on; null: none yet, or no git. Never rejects. */
  headOf(folder: string): Promise<string | null>;
  /** Called when it is needed, and often; opens once. Rejects with the reason why it cannot be opened. */
  open(): Promise<OpenedPorts>;
  /** For the operator. Never a secret (E8). */
  report(message: string, error?: unknown): void;
}

export interface OpenedPorts {
  engine: Engine;
  /** Who authenticated: the owner of the data folder on stdio. */
  caller: Caller;
  workspaces: AcpWorkspaces;
  permissions: AcpPermissions;
  openSessionTools: OpenSessionTools;
}

export interface AcpWorkspaces {
  /** The workspace of a device; one without gets a new one (W2). */
  ofDevice(deviceId: string): Promise<string>;
  /** The workspace of whoever names no device: `default`, made where it is missing, or the one that was asked for. */
  standard(): Promise<string>;
  /** False for anything that is not the id of a workspace, too: sessions may carry any label. */
  exists(workspaceId: string): Promise<boolean>;
  choices(workspaceId: string): Promise<SessionChoices>;
}

/** What a session of a workspace can be set to (W7). */
export interface SessionChoices {
  agentContexts: readonly AgentContext[];
  conversationContexts: readonly ConversationContext[];
  /** Models of a provider, its default first; none where the provider is not configured. */
  models(provider: string): Promise<readonly string[]>;
}

/** What a person allowed for ever in a workspace (V5, P4). */
export interface AcpPermissions {
  isAllowed(workspaceId: string, key: string): Promise<boolean>;
  allow(workspaceId: string, key: string): Promise<void>;
}

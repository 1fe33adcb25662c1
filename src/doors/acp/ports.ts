/**
 * What the ACP door needs from outside. `AcpPorts` has what is known at once. Everything that takes a while to open is behind
 * `open`, because a client wants the answer to `initialize` before the stores are open.
 */
import type { Caller } from "../../domain/caller.ts";
import type { AgentContext, ConversationContext, Surroundings } from "../../domain/context.ts";
import type { Engine, OfferedModel } from "../../engine/engine.ts";
import type { OpenWorkingCopy } from "../../domain/active-file.ts";
import type { OpenSessionTools } from "../../tools/session-tools.ts";

/** A model that an editor can choose. */
export type ChoosableModel = Omit<OfferedModel, "source">;

export interface AcpPorts {
  version: string;
  /** The device that this connection belongs to, if its transport knows it (P2). Null: the client may name one. */
  deviceId: string | null;
  /** How `session/new` begins if the request does not set it. Null: a device continues, any other client begins empty (W3). */
  beginning: "fresh" | "continue" | null;
  /** The mode of new sessions. Null: `edit`. */
  mode: string | null;
  /** Returns the repository that a folder is in, or null if it is in none. Never rejects. */
  repositoryOf(folder: string): Promise<FolderRepository | null>;
  /** Returns the commit that is checked out in a folder, or null if there is no commit or no Git. Never rejects. */
  headOf(folder: string): Promise<string | null>;
  /** Returns the rules of the repository and the place of a folder (M1, M2). Never rejects. */
  surroundingsOf(folder: string): Promise<Surroundings>;
  /** Returns the working copy in a folder. Null: the folder is below the top of its repository. */
  workingCopy: OpenWorkingCopy;
  /** The keys of providers on this machine. Null: the client is elsewhere, so its user cannot set them. */
  keys: AcpKeys | null;
  /** Returns the opened ports. It may be called often, and opens only once. Rejects with the reason if opening fails. */
  open(): Promise<OpenedPorts>;
  /** Reports a fault to the operator. Must contain no secret (E8). */
  report(message: string, error?: unknown): void;
}

/** A repository of this machine. */
export interface FolderRepository {
  /** The name under which it is listed and indexed. */
  repo: string;
  /** Its top folder. */
  root: string;
}

/** The keys of the machine that the client runs on. */
export interface AcpKeys {
  /** The arguments after which this program asks for a key in a terminal. */
  loginArgs: readonly string[];
  /** Closes what `open` opened, so that the next call reads the keys again. */
  reopen(): Promise<void>;
  /** Removes the stored keys. Keys in the environment stay there. */
  forget(): void;
}

export interface MissingKey {
  provider: string;
  /** The environment variable for the key. */
  variable: string;
}

export interface OpenedPorts {
  engine: Engine;
  /** The authenticated user. On stdio: the owner of the data folder. */
  caller: Caller;
  workspaces: AcpWorkspaces;
  permissions: AcpPermissions;
  openSessionTools: OpenSessionTools;
}

export interface AcpWorkspaces {
  /** Returns the workspace of a device. A device without one gets a new one (W2). */
  ofDevice(deviceId: string): Promise<string>;
  /** Returns the workspace for a client that names no device: the requested one, or `default`, which is created if it is missing. */
  standard(): Promise<string>;
  /** Returns whether the workspace exists. False for a text that is no workspace id: sessions may have any label. */
  exists(workspaceId: string): Promise<boolean>;
  choices(workspaceId: string): Promise<SessionChoices>;
  /** Returns the key that the provider of new sessions lacks. Null: it has one, or needs none. */
  missingKey(workspaceId: string): Promise<MissingKey | null>;
}

/** The choices for a session of a workspace (W7). */
export interface SessionChoices {
  agentContexts: readonly AgentContext[];
  conversationContexts: readonly ConversationContext[];
  /** The models that the providers offer, as far as that is known at once. */
  models: readonly ChoosableModel[];
  /** Reads the lists of the providers. Null: `models` is complete. Never rejects. */
  allModels: (() => Promise<readonly ChoosableModel[]>) | null;
  /** Returns the context window of a model in tokens: the configured one, else the known one. Null: it is unknown. */
  windowOf(model: string): number | null;
}

/** What a user has allowed permanently in a workspace (V5, P4). */
export interface AcpPermissions {
  isAllowed(workspaceId: string, key: string): Promise<boolean>;
  allow(workspaceId: string, key: string): Promise<void>;
}

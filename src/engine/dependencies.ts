/**
 * The parts that an engine is made of. They are all named here, so that compose.ts and the library can replace any of
 * them (Y1).
 */
import type { BlobStore } from "../blobs/blob-store.ts";
import type { Check } from "../domain/check.ts";
import type { AgentContext, ContextKind, ConversationContext, Surroundings } from "../domain/context.ts";
import type { FactStore } from "../domain/fact.ts";
import type { TranscribedTurn, SessionBeginning } from "../domain/transcript.ts";
import type { ManagedWorkspaces } from "../domain/workspace.ts";
import type { IdentityProvider } from "../identity/identity-provider.ts";
import type { EventLog } from "../live/event-log.ts";
import type { SharedCache } from "../live/shared-cache.ts";
import type { WakeUps } from "../live/wake-ups.ts";
import type { Provider } from "../providers/provider.ts";
import type { RecordStore, Runner } from "../records/record-store.ts";
import type { TurnStore } from "../records/turn-store.ts";
import type { DocumentSearch } from "../retrieval/documents.ts";
import type { Retriever } from "../retrieval/retriever.ts";
import type { OpenWorkingCopy } from "../domain/active-file.ts";
import type { Observer } from "../telemetry/observer.ts";
import type { SkillFolders } from "../tools/skill-folders.ts";
import type { UrlReader } from "../tools/url-reader.ts";
import type { Tool } from "../tools/tool.ts";

/**
 * The providers, by the names that agent contexts use. A `Map` of providers is one. Another implementation may load a
 * driver when the first turn needs it. `get` rejects if the driver cannot be made.
 */
export interface Providers {
  keys(): Iterable<string>;
  get(name: string): Provider | undefined | Promise<Provider | undefined>;
  /** Returns why a provider that was named is not there and how to fix it, as words that follow its name. */
  fault?(name: string): string | null;
}

/**
 * The workspaces that an engine uses (W3–W5, W7). A request may name any id. An id without a workspace has no settings,
 * and its turns are not written to a transcript.
 */
export interface WorkspaceParts {
  /**
   * Returns the settings of a workspace, or null if it does not exist. Throws `config_invalid`, `workspace_damaged`.
   */
  settings(workspaceId: string): Promise<WorkspaceSettings | null>;
  /**
   * Returns the id of the workspace that the device is bound to. A device without one gets a new workspace (W2). Throws
   * `bindings_damaged`.
   */
  ofDevice(deviceId: string): Promise<string>;
  /** Returns the id of the workspace that the device is bound to, and changes nothing. Null: none. Throws `bindings_damaged`. */
  boundTo(deviceId: string): Promise<string | null>;
  /** Binds the device to a workspace (W2). */
  bind(deviceId: string, workspaceId: string): Promise<void>;
  /** Opens what people manage of workspaces. Absent: no workspace is listed or changed. */
  managed?(): Promise<ManagedWorkspaces>;
  /** What people have allowed permanently in a workspace, by the keys of calls (P4). Absent: nothing can be. */
  permissions?: {
    /** Returns false for a workspace that does not exist. */
    isAllowed(workspaceId: string, key: string): Promise<boolean>;
    allow(workspaceId: string, key: string): Promise<void>;
  };
  /** The facts that workspaces remember (M3). Absent: workspaces have no memory. */
  memory?: FactStore;
  /** Returns how the next session of the workspace begins. */
  nextBeginning(workspaceId: string): Promise<SessionBeginning>;
  /**
   * Writes finished turns into the transcripts of their sessions, in their order and without a wait for the disk. Never rejects: a
   * failure is reported, and the next turn makes up for it.
   */
  turnsFinished(workspaceId: string, turns: readonly TranscribedTurn[]): Promise<void>;
  /** Does what can wait until some turns are written: the transcript survives a loss of power. Never rejects. */
  settle(workspaceId: string): Promise<void>;
}

/** The settings of a workspace, which replace those of the engine. */
export interface WorkspaceSettings {
  agentContexts: readonly AgentContext[];
  conversationContexts: readonly ConversationContext[];
  providers: Providers;
  /** The contexts of a turn whose request and session name none (G2). Default: those with the id `default`. */
  defaults?: ContextIds;
  /** The paths that turns of the workspace search (Q3). Absent or empty: everywhere. */
  scopePaths?: readonly string[];
  /** Absent: only on request. */
  summaries?: SummarySettings;
}

/** Which sessions are summarised without a request, and by which model (M5). */
export interface SummarySettings {
  /** True if a session is summarised in the background when it is archived. */
  whenArchived: boolean;
  /** The words for the model (G3). Absent: that of the session. */
  model?: string;
}

/** Reads the entry of a context. Throws `context_invalid`, which lists every fault. */
export type ReadContext = (
  kind: ContextKind,
  id: string,
  entry: Record<string, unknown>,
) => AgentContext | ConversationContext;

export interface ContextIds {
  agentContextId: string;
  conversationContextId: string;
}

/** The limits of users and orgs, over all servers that share the records (H5). Null: no limit. */
export interface QuotaLimits {
  concurrentRunsPerUserMax: number | null;
  /** The same for those who run the server. */
  concurrentRunsOfOwnerMax: number | null;
  /** The requests of one user in a minute. Null: each server counts its own requests. */
  sharedRequestsPerMinuteMax: number | null;
  /** Returns the limits of an org. */
  ofOrg(orgId: string): { concurrentRunsMax: number | null; requestsPerMinuteMax: number | null };
}

/** Everything that an engine is made of. */
export interface EngineDependencies extends EngineStores, EngineModels, EngineProcess {
  /** The workspaces of the data folder. Absent: there are no workspaces. */
  workspaces?: WorkspaceParts;
  /** Authenticates people by tokens. Absent: people authenticate by API keys only. */
  identities?: IdentityProvider;
  limits: EngineLimits;
  /** The limits of users and orgs. Absent: only the limits of a door apply. */
  quotas?: QuotaLimits;
  /** What an org says about turns whose content is not to be kept (O3). Absent: every org allows them. */
  unkeptPolicy?: (orgId: string) => UnkeptPolicy;
  /** Returns what `inspect` looks at, in this order. Absent: only the turns. */
  inspections?: () => Promise<readonly Inspection[]>;
  /** Receives what begins and ends, for logs, metrics and traces. */
  observer: Observer;
  /** Reports a fault that no caller sees to the operator. The message never contains a secret (E8). */
  report(message: string, error?: unknown): void;
}

/** A part of the server that can be checked (L1). A check changes nothing, and names no secret (E8). */
export interface Inspection {
  name: string;
  /** May reject: the part then counts as failed. */
  look(): Promise<Omit<Check, "name">>;
  /** What a person does if the part does not answer in time. */
  ifLate?: string;
}

/** A turn whose content is not to be kept runs so (`forget`), is kept as any other turn is (`keep`), or is refused (O3). */
export type UnkeptPolicy = "forget" | "keep" | "refuse";

/** The stores of turns whose content is only in memory (O3). */
export type UnkeptStores = Pick<EngineStores, "records" | "blobs" | "log"> & Pick<EngineModels, "documents">;

/** The stores of an engine, and its link to the other processes that share the data. */
export interface EngineStores {
  records: RecordStore;
  blobs: BlobStore;
  /** Writes turns to both, in one transaction. Absent: the blobs are written first, then the row. */
  turnStore?: TurnStore | undefined;
  /** The events of running turns. */
  log: EventLog;
  /** Makes stores in memory, for turns whose content is not kept (O3). Absent: there are no such turns. */
  unkeptStores?: (() => Promise<UnkeptStores>) | undefined;
  /** True if no provider may be asked to remember anything. Then every turn sends its whole history. */
  isReplayOnly?: boolean;
  /** Keeps results of searches, for this process or all that share the data (Q7). Absent: every turn searches. */
  cache?: SharedCache | undefined;
  /** Wakes the other processes. Absent: each process polls for what the others want. */
  wakeUps?: WakeUps | undefined;
}

/** The providers, contexts, tools and indexes that turns run with. */
export interface EngineModels {
  providers: Providers;
  /** The retrievers, by the names that agent contexts use. */
  retrievers: ReadonlyMap<string, Retriever>;
  /** Searches documents that were attached and are too long to be sent whole (M8). */
  documents: DocumentSearch;
  /** Tools that are offered to the model on every turn, and run beside the engine. */
  tools: readonly Tool[];
  agentContexts: readonly AgentContext[];
  conversationContexts: readonly ConversationContext[];
  /** The contexts of a turn whose request and session name none (G2). Default: those with the id `default`. */
  defaults?: ContextIds;
  /** Which sessions outside of workspaces are summarised without a request. Absent: none. */
  summaries?: SummarySettings;
  /**
   * Checks an entry in the form of `config.toml`, and fills in what it leaves out. Absent: contexts cannot be kept as
   * records.
   */
  readContext?: ReadContext;
  /** Opens working copies on this machine. Absent: the engine knows only what requests send of them. */
  workingCopy?: OpenWorkingCopy;
  /**
   * Reads the rules of the repository, the place and the skills of a folder on this machine (M1, M2, M4). Never rejects. Absent: the engine
   * knows only what requests send of them.
   */
  surroundings?(folder: string): Promise<Surroundings>;
  /** Reads the skills of workspaces, and the other files of skills on this machine (M4). Absent: there are none. */
  skills?: SkillFolders;
  /** Reads web addresses that the input of a turn names (I2). Absent: the engine refuses such parts. */
  urls?: UrlReader;
  /** Returns how many tokens the model accepts, or null if that is unknown (C4, C6). */
  contextTokens(model: string): number | null;
}

/** The process that an engine runs in: its identity, its clocks and its timers. */
export interface EngineProcess {
  /** This process, as the other processes see it. */
  runner: Runner;
  /**
   * Returns whether the process of another runner may still be running and serve the records of `self`, which is this process. Null if this
   * process cannot know that.
   */
  isAlive(runner: Runner, self: Runner): boolean | null;
  /**
   * True if the records are a database of this machine, and not of a server. It counts leases by the wall clock of the machine, which may
   * jump. So the lease of a process that is known to be alive never counts as expired (R2).
   */
  recordsAreEmbedded?: boolean;
  /** The version of the program. */
  version: string;
  /** Returns the time, in milliseconds since the epoch. */
  now(): number;
  /** Returns milliseconds of a clock that no one can set, that never goes back, and that runs while the machine sleeps (R1). */
  monotonic(): number;
  /** Returns a random number from 0 to 1, for the jitter of retries. */
  random(): number;
  /** Resolves after `ms` milliseconds, or as soon as the signal aborts. Never rejects. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** Returns a signal that aborts after `ms` milliseconds. */
  deadline(ms: number): AbortSignal;
}

/** Limits that a person may change, in the units of their names (domain/limits.ts). */
export interface EngineLimits {
  activeFilesTokensMax: number;
  retrievalChunksMax: number;
  retrievalTokensMax: number;
  providerAttemptsMax: number;
  shutdownGraceMs: number;
  auditRetentionDays: number;
}

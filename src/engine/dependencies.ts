/**
 * What an engine is made of. All of it is named here, so that compose.ts and the library can replace any
 * part (Y1).
 */
import type { BlobStore } from "../blobs/blob-store.ts";
import type { AgentContext, ContextKind, ConversationContext } from "../domain/context.ts";
import type { TranscribedTurn, TranscriptStanding } from "../domain/transcript.ts";
import type { IdentityProvider } from "../identity/identity-provider.ts";
import type { EventLog } from "../live/event-log.ts";
import type { WakeUps } from "../live/wake-ups.ts";
import type { Provider } from "../providers/provider.ts";
import type { RecordStore, Runner } from "../records/record-store.ts";
import type { Retriever } from "../retrieval/retriever.ts";
import type { Observer } from "../telemetry/observer.ts";
import type { UrlReader } from "../tools/url-reader.ts";
import type { Tool } from "../tools/tool.ts";

/**
 * The providers by the names that agent contexts use. A map of them is one; so is what loads a driver when the first
 * turn needs it. `get` rejects where the driver cannot be made.
 */
export interface Providers {
  keys(): Iterable<string>;
  get(name: string): Provider | undefined | Promise<Provider | undefined>;
}

/**
 * What the engine asks of workspaces (W3–W5, W7). Ids are whatever a request calls its workspace: one that is none of
 * ours has no settings, and its turns are written down nowhere.
 */
export interface WorkspaceParts {
  /** Null: there is no such workspace. Throws `config_invalid`, `workspace_damaged`. */
  settings(workspaceId: string): Promise<WorkspaceSettings | null>;
  /** The workspace that the device is bound to; one that has none gets a new one (W2). Throws `bindings_damaged`. */
  ofDevice(deviceId: string): Promise<string>;
  /** From now on the device has this workspace (W2). */
  bind(deviceId: string, workspaceId: string): Promise<void>;
  /** Where the workspace's next session begins. */
  standing(workspaceId: string): Promise<TranscriptStanding>;
  /** Writes a finished turn into the transcript. Never rejects: what fails is reported, and made up for by the next one. */
  turnFinished(workspaceId: string, turn: TranscribedTurn): Promise<void>;
}

/** What counts in a workspace in place of what the engine was made with. */
export interface WorkspaceSettings {
  agentContexts: readonly AgentContext[];
  conversationContexts: readonly ConversationContext[];
  providers: Providers;
  /** Which of the contexts count where neither the request nor the session names one (G2); absent: those called `default`. */
  defaults?: ContextIds;
}

/** Throws `context_invalid` that names every fault. */
export type ReadContext = (
  kind: ContextKind,
  id: string,
  entry: Record<string, unknown>,
) => AgentContext | ConversationContext;

export interface ContextIds {
  agentContextId: string;
  conversationContextId: string;
}

/** What people and orgs may ask for at most, over all servers that share the records (H5). Null: no limit. */
export interface Quotas {
  concurrentRunsPerUserMax: number | null;
  /** Of one user; null: each server counts its own requests. */
  sharedRequestsPerMinuteMax: number | null;
  ofOrg(orgId: string): { concurrentRunsMax: number | null; requestsPerMinuteMax: number | null };
}

/** Everything that an engine is made of. */
export interface EngineDependencies extends EngineStores, EngineModels, EngineProcess {
  /** The workspaces of the data folder. Absent: there are no workspaces. */
  workspaces?: WorkspaceParts;
  /** Authenticates people by tokens. Absent: people authenticate by API keys only. */
  identities?: IdentityProvider;
  limits: EngineLimits;
  /** Absent: only the limits of a door apply. */
  quotas?: Quotas;
  /** Receives what begins and ends, for logs, metrics and traces. */
  observer: Observer;
  /** Reports a fault that no caller sees to the operator. The message never contains a secret (E8). */
  report(message: string, error?: unknown): void;
}

/** Where an engine keeps its data, and how it reaches the other processes that share the data. */
export interface EngineStores {
  records: RecordStore;
  blobs: BlobStore;
  /** The events of running turns. */
  log: EventLog;
  /** Wakes the other processes. Absent: each process polls for what the others want. */
  wakeUps?: WakeUps;
}

/** The providers, contexts, tools and indexes that turns run with. */
export interface EngineModels {
  providers: Providers;
  /** The retrievers, by the names that agent contexts use. */
  retrievers: ReadonlyMap<string, Retriever>;
  /** Tools that are offered to the model on every turn, and run beside the engine. */
  tools: readonly Tool[];
  agentContexts: readonly AgentContext[];
  conversationContexts: readonly ConversationContext[];
  /** The contexts of a turn whose request and session name none (G2). Default: those with the id `default`. */
  defaults?: ContextIds;
  /**
   * Checks an entry in the form of `config.toml`, and fills in what it leaves out. Absent: contexts cannot be kept as
   * records.
   */
  readContext?: ReadContext;
  /** Reads web addresses that the input of a turn names (I2). Absent: the engine refuses such parts. */
  urls?: UrlReader;
  /** Returns how many tokens the model accepts, or null if that is unknown (C4, C6). */
  contextTokens(model: string): number | null;
}

/** The process that an engine runs in: its identity, its clocks and its timers. */
export interface EngineProcess {
  /** This process, as the other processes see it. */
  runner: Runner;
  /** Returns whether the process of a runner may still be running, or null if this process cannot know that. */
  isAlive(runner: Runner): boolean | null;
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
  retrievalChunksMax: number;
  retrievalTokensMax: number;
  providerAttemptsMax: number;
  shutdownGraceMs: number;
  auditRetentionDays: number;
}

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

export interface EngineDependencies {
  records: RecordStore;
  blobs: BlobStore;
  log: EventLog;
  /** Absent: what other processes want is looked for often, and seen then. */
  wakeUps?: WakeUps;
  providers: Providers;
  /** By the names that agent contexts use. */
  retrievers: ReadonlyMap<string, Retriever>;
  /** Offered to the model on every turn, and run beside the engine. */
  tools: readonly Tool[];
  agentContexts: readonly AgentContext[];
  conversationContexts: readonly ConversationContext[];
  /** As in `WorkspaceSettings`. */
  defaults?: ContextIds;
  /** Absent: there are no workspaces. */
  workspaces?: WorkspaceParts;
  /** Checks an entry in the form of `config.toml`, and fills in what it leaves out. Absent: no contexts are kept as records. */
  readContext?: ReadContext;
  /** Reads addresses of the web that a turn's input names (I2); absent: they are refused. */
  urls?: UrlReader;
  /** Absent: people come in by API keys alone. */
  identities?: IdentityProvider;
  limits: EngineLimits;
  /** Absent: nothing is limited but what a door limits. */
  quotas?: Quotas;
  /** How many tokens a model can take, or null where that is not known (C4, C6). */
  contextTokens(model: string): number | null;
  runner: Runner;
  /** Whether the process behind a runner may still be running; null: it cannot be told from here. */
  isAlive(runner: Runner): boolean | null;
  version: string;
  /** Milliseconds since the epoch. */
  now(): number;
  /** Milliseconds that never go back, whatever is done to the clock, and that count the sleep of the machine (R1). */
  monotonic(): number;
  /** For the jitter of retries; between 0 and 1. */
  random(): number;
  /** Waits, or ends early without an error when the signal aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** A signal that aborts after this time. */
  deadline(ms: number): AbortSignal;
  /** Told what begins and ends; logs, metrics and traces are made of it. */
  observer: Observer;
  /** What went wrong behind the scenes, for the operator. Never a secret (E8). */
  report(message: string, error?: unknown): void;
}

/** Limits that a person may change, in the units of their names (domain/limits.ts). */
export interface EngineLimits {
  retrievalChunksMax: number;
  retrievalTokensMax: number;
  providerAttemptsMax: number;
  shutdownGraceMs: number;
  auditRetentionDays: number;
}

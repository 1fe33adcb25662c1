/** What a program that embeds aptove may replace (Y1). Each group of options has an interface. */
import type { FactStore } from "../domain/fact.ts";
import type { BlobStore } from "../blobs/blob-store.ts";
import type { AgentContext, ConversationContext } from "../domain/context.ts";
import type { IdentityProvider } from "../identity/identity-provider.ts";
import type { EventLog } from "../live/event-log.ts";
import type { SharedCache } from "../live/shared-cache.ts";
import type { WakeUps } from "../live/wake-ups.ts";
import type { Provider } from "../providers/provider.ts";
import type { RecordStore } from "../records/record-store.ts";
import type { DocumentSearch } from "../retrieval/documents.ts";
import type { Retriever } from "../retrieval/retriever.ts";
import type { Observer } from "../telemetry/observer.ts";
import type { Tool } from "../tools/tool.ts";
import type { BindingStore } from "../workspace/binding-store.ts";
import type { TranscriptStore } from "../workspace/transcript-store.ts";
import type { WorkspaceStore } from "../workspace/workspace-store.ts";

/** Every option may be absent. The configuration then decides. */
export interface AptoveOptions extends StoreOptions, ModelOptions, WorkspaceOptions, ProcessOptions {
  /** The folder with `config.toml` and the embedded stores. Default: the system's folder for application data (B6). */
  dataDir?: string;
  /** The environment variables to read. Default: those of the process. */
  env?: Readonly<Record<string, string | undefined>>;
  /** Values that win over all other layers, in the form of `config.toml`, for example `{ provider: "offline" }` (W7). */
  overrides?: Record<string, unknown>;
  /** The source of `overrides`, as messages about them name it. Default: this option. */
  overridesFrom?: string;
  /** Replaces the configured identity provider (H4). */
  identities?: IdentityProvider;
}

/** The stores of sessions, of their content, and of the events of running turns. */
export interface StoreOptions {
  records?: RecordStore;
  blobs?: BlobStore;
  log?: EventLog;
  /** Replaces the wake-ups that belong to the configured log. Default beside an own `log`: none. */
  wakeUps?: WakeUps;
  /** Replaces the cache of search results (Q7). Default: memory, and the configured Redis behind it. */
  cache?: SharedCache;
}

/** What the model is, knows and can do. */
export interface ModelOptions {
  /** Providers beside the configured ones. One with the name of a configured provider replaces it. */
  providers?: Provider[];
  /** Retrievers, keyed by the names that agent contexts use. The names `local` and `qdrant` replace the configured ones. */
  retrievers?: Record<string, Retriever>;
  /** Replaces the search in long documents that people attach (M8). */
  documents?: DocumentSearch;
  /** Tools that every turn offers to the model. They run in this process. */
  tools?: Tool[];
  agentContexts?: AgentContext[];
  conversationContexts?: ConversationContext[];
}

/** The stores of workspaces, of the bindings of devices, and of transcripts. */
export interface WorkspaceOptions {
  /** Replaces the folders in the data folder (W1). */
  workspaceStore?: WorkspaceStore;
  /** Replaces `bindings.toml` (W2). */
  bindings?: BindingStore;
  /** Replaces the files in the folders of the workspaces. Default beside an own `workspaceStore`: memory, lost when the process ends (W4). */
  transcripts?: TranscriptStore;
  /** Replaces the files of facts in the folders of the workspaces. Default beside an own `workspaceStore`: memory, lost when the process ends (M3). */
  facts?: FactStore;
}

/** How the process reports what it does, and its clock. */
export interface ProcessOptions {
  /** Receives faults that no request can report. Default: the log, as the configuration sets it. */
  report?: (message: string, error?: unknown) => void;
  /** True if a person runs a command in a terminal. The log is then text, and has only warnings and errors. */
  isCommand?: boolean;
  /** Receives each line of the log. Default: standard error. */
  writeLog?: (line: string) => void;
  /** Receives the start and the end of each activity, beside the configured observers. */
  observer?: Partial<Observer>;
  /** Returns the time in milliseconds since the epoch. */
  now?: () => number;
}

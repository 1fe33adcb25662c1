/**
 * The library. `createAptove` builds an engine; every part of it can be replaced (Y1). The contracts that a part
 * must fulfil are exported here, and their conformance suites in `aptove/testing`.
 */
// First, so that an older Node gets its error and not a crash.
export { leastNode } from "./node-version.ts";
export { createAptove, type Aptove } from "./compose.ts";
export type * from "./compose/options.ts";
export type * from "./engine/engine.ts";
export type { Caller } from "./domain/caller.ts";
export type * from "./domain/context.ts";
export { AptoveError, errorCatalogue, type ErrorCode, type Failure, type Warning } from "./domain/errors.ts";
export type { SequencedEvent, TurnEvent } from "./domain/events.ts";
export type { Session } from "./domain/session.ts";
export type { Step } from "./domain/step.ts";
export type * from "./domain/tool.ts";
export type { TranscriptMessage } from "./domain/transcript.ts";
export type { FinishedTurn, Turn } from "./domain/turn.ts";
export type { BlobStore } from "./blobs/blob-store.ts";
export type * from "./identity/identity-provider.ts";
export type { EventLog } from "./live/event-log.ts";
export type { SharedCache } from "./live/shared-cache.ts";
export type { WakeUps } from "./live/wake-ups.ts";
export type * from "./providers/provider.ts";
export type * from "./records/record-store.ts";
export type { Embedder } from "./retrieval/embedding.ts";
export type * from "./retrieval/documents.ts";
export type * from "./retrieval/retriever.ts";
export type { Activity, Observer } from "./telemetry/observer.ts";
export type * from "./tools/session-tools.ts";
export type * from "./tools/tool.ts";
export { checkDeviceId, type DeviceBinding, type BindingStore } from "./workspace/binding-store.ts";
export { checkedFact, type Fact, type FactStore, type Memory } from "./domain/fact.ts";
export { checkTranscriptName, type TranscriptFile, type TranscriptStore } from "./workspace/transcript-store.ts";
export {
  checkPermission,
  checkNames,
  checkWorkspaceId,
  type NewWorkspace,
  type WorkspaceStore,
} from "./workspace/workspace-store.ts";
export type { Workspace } from "./domain/workspace.ts";

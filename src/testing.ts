/**
 * What you need to write a driver, or to test a program that embeds aptove (Y1, B5): the conformance suite of each
 * contract, the in-memory drivers, and the scripted provider. The suites register tests of `node:test`.
 */
// First, so that an older Node gets its error and not a crash.
export { leastNode } from "./node-version.ts";
export { blobStoreSuite } from "./blobs/blob-store.suite.ts";
export { memoryBlobs } from "./blobs/memory/memory-blobs.ts";
export { eventLogSuite } from "./live/event-log.suite.ts";
export { memoryCache } from "./live/memory/memory-cache.ts";
export { memoryEventLog } from "./live/memory/memory-event-log.ts";
export { memoryWakeUps } from "./live/memory/memory-wake-ups.ts";
export { sharedCacheSuite } from "./live/shared-cache.suite.ts";
export { wakeUpsSuite } from "./live/wake-ups.suite.ts";
export { providerSuite } from "./providers/provider.suite.ts";
export {
  scriptedProvider,
  type Script,
  type ScriptedAnswer,
  type ScriptedOptions,
  type ScriptedPart,
  type ScriptedProvider,
} from "./providers/scripted/scripted.ts";
export { memoryRecords } from "./records/memory/memory-records.ts";
export { recordPartSuites, recordStoreSuite } from "./records/record-store.suite.ts";
export { retrieverSuite } from "./retrieval/retriever.suite.ts";
export { bindingStoreSuite } from "./workspace/binding-store.suite.ts";
export { factStoreSuite } from "./workspace/fact-store.suite.ts";
export { memoryFacts } from "./workspace/memory/memory-facts.ts";
export { memoryBindings } from "./workspace/memory/memory-bindings.ts";
export { memoryTranscripts } from "./workspace/memory/memory-transcripts.ts";
export { memoryWorkspaces } from "./workspace/memory/memory-workspaces.ts";
export { transcriptStoreSuite } from "./workspace/transcript-store.suite.ts";
export { workspaceStoreSuite } from "./workspace/workspace-store.suite.ts";

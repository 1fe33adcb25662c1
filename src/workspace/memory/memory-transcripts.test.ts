import { randomUUID } from "node:crypto";
import { transcriptStoreSuite } from "../transcript-store.suite.ts";
import { memoryTranscripts } from "./memory-transcripts.ts";

transcriptStoreSuite("transcripts in memory", () => {
  const workspaceIds: [string, string] = ["default", randomUUID()];
  const store = memoryTranscripts({ has: (id) => workspaceIds.includes(id) });
  return { store, reopen: null, workspaceIds, missingId: randomUUID() };
});

transcriptStoreSuite("transcripts in memory, of whatever workspaces", () => {
  return { store: memoryTranscripts(), reopen: null, workspaceIds: ["default", randomUUID()], missingId: null };
});

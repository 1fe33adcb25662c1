/** Stores what a running turn did since its last model call (R6). */
import type { BlobWrite, StepProgress } from "../../../records/turn-store.ts";
import type { EngineCore } from "../live/engine-core.ts";
import { lose } from "../live/leases.ts";
import type { LiveTurn } from "../live/live-turn.ts";
import type { RunRecorder } from "../live/run-recorder.ts";

/**
 * Stores the step that ended last, if it is not stored yet, and what belongs to the next one. If another runner has taken
 * the turn over, the run stops (R1).
 */
export async function storeStep(
  core: EngineCore,
  { recorder, live }: { recorder: RunRecorder; live: LiveTurn },
  { survives = "power loss", blobs = [] }: { survives?: StepProgress["survives"]; blobs?: readonly BlobWrite[] } = {},
): Promise<void> {
  const { turnId, unstoredStep: step } = recorder;
  if (step === null && blobs.length === 0) return;
  const progress = { turnId, runnerId: core.deps.runner.id, step, survives };
  if (!(await core.turnStore.advance(progress, blobs))) lose(core, live);
  recorder.unstoredStep = null;
}

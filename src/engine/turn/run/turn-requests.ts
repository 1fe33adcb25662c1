/**
 * The requests of one turn. Each is stored before it is sent (E7). The first one is part of the opening if it is known
 * by then; every other has its own blob. A later request is stored as its difference from an earlier one of the turn,
 * which is chosen like the base of a state. So a long loop of tools costs O(k log k) bytes (K3).
 */
import type { BlobStore } from "../../../blobs/blob-store.ts";
import { baseDepth } from "../../../domain/lineage.ts";
import type { Step } from "../../../domain/step.ts";
import type { ModelCall, PreparedRequest } from "../../../providers/provider.ts";
import { loadMedia, mediaTexts } from "../kept/kept-parts.ts";
import { makeRecipe, messageTexts } from "../request/recipe.ts";
import { blobKeys, encodeBlob } from "../kept/turn-blobs.ts";
import { putProgress } from "../kept/turn-progress.ts";
import { plannedBeginning, type TurnPlan } from "../prepare/turn-plan.ts";
import type { RunRecorder } from "../live/run-recorder.ts";

/** A request that is being sent, the blob that describes its bytes, and the call that it was made from. */
export interface ModelRequest {
  step: number;
  call: ModelCall;
  request: PreparedRequest;
  stored: Step["request"];
}

/** What the turn did so far. */
interface RunSoFar {
  plan: TurnPlan;
  recorder: RunRecorder;
}

export class TurnRequests {
  readonly #blobs: BlobStore;
  readonly #plan: TurnPlan;
  /** The stored requests, in the order in which they were stored. `step` is part of the name of the blob. */
  readonly #stored: { step: number; body: string }[] = [];
  /** The plan whose beginning is stored as progress. */
  #keptPlan: TurnPlan | null = null;

  constructor(blobs: BlobStore, plan: TurnPlan) {
    this.#blobs = blobs;
    this.#plan = plan;
  }

  /** Returns the request that was stored with the opening. Null if there is none. */
  opened(openingKey: string): ModelRequest | null {
    const { first } = this.#plan;
    if (first === null) return null;
    this.#stored.push({ step: 1, body: first.request.body });
    const { bytes, sha256 } = first.recipe;
    return { step: 1, call: first.call, request: first.request, stored: { blob: openingKey, bytes, sha256 } };
  }

  /** Stores the request, and with it everything that the turn did before it (R6). */
  async store(step: number, call: ModelCall, { plan, recorder }: RunSoFar): Promise<ModelRequest> {
    const { turnId, accepted, message, base: requestBase, input } = this.#plan;
    await loadMedia(this.#blobs, call, input.loaded);
    const request = accepted.provider.prepare(call);
    const base = this.#stored[baseDepth(this.#stored.length)];
    const baseStep = this.#stored.length === 0 ? null : (base?.step ?? null);
    const recipe = makeRecipe(request.body, baseStep === null ? (requestBase?.body ?? null) : (base?.body ?? null), [
      ...messageTexts(message),
      ...mediaTexts(call, input.loaded),
    ]);
    const blob = blobKeys.request(turnId, step);
    await Promise.all([
      this.#blobs.put(blob, encodeBlob("request", { format: 1, turnId, baseStep, request: recipe })),
      this.#keepProgress(step, { plan, recorder }),
    ]);
    this.#stored.push({ step, body: request.body });
    return { step, call, request, stored: { blob, bytes: recipe.bytes, sha256: recipe.sha256 } };
  }

  async #keepProgress(step: number, { plan, recorder }: RunSoFar): Promise<void> {
    const part = recorder.takeProgress();
    const isSame = plan === this.#keptPlan;
    // Everything that a turn begins with is in its opening, until calls were allowed or the history was summarised.
    const isPlain = this.#keptPlan === null && plan.approved.length === 0 && plan.summary === null;
    if (part === null && (isSame || isPlain)) return;
    this.#keptPlan = plan;
    recorder.hasProgress = true;
    const nothing = { eventsBefore: 0, events: [], responses: [], outputs: [], items: [], steps: [] };
    await putProgress(
      this.#blobs,
      { turnId: plan.turnId, step },
      {
        ...(part ?? nothing),
        beginning: isSame ? null : plannedBeginning(plan),
      },
    );
  }
}

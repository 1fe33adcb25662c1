/**
 * The requests of one turn. Each is stored before it is sent (E7). The first one is part of the opening if it is known
 * by then; every other has its own blob. A later request is stored as its difference from an earlier one of the turn,
 * which is chosen like the base of a state. So a long loop of tools costs O(k log k) bytes (K3).
 */
import { baseDepth } from "../../../domain/lineage.ts";
import type { Step } from "../../../domain/step.ts";
import type { ModelCall, PreparedRequest } from "../../../providers/provider.ts";
import { loadMedia, mediaTexts } from "../kept/kept-parts.ts";
import { preparedRequest } from "../request/prepared-request.ts";
import { earlierTexts, makeRecipe, messageTexts } from "../request/recipe.ts";
import { earlierHistory } from "../prepare/earlier.ts";
import { blobKeys, encodeBlob } from "../kept/turn-blobs.ts";
import type { BlobWrite } from "../../../records/turn-store.ts";
import type { EngineCore } from "../live/engine-core.ts";
import type { LiveTurn } from "../live/live-turn.ts";
import type { RunRecorder } from "../live/run-recorder.ts";
import { progressBlob } from "../kept/turn-progress.ts";
import { storeStep } from "./store-step.ts";
import { plannedBeginning, type TurnPlan } from "../prepare/turn-plan.ts";

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
  live: LiveTurn;
}

export class TurnRequests {
  readonly #core: EngineCore;
  readonly #plan: TurnPlan;
  /** The stored requests, in the order in which they were stored. `step` is part of the name of the blob. */
  readonly #stored: { step: number; body: string }[] = [];
  /** The plan whose beginning is stored as progress. */
  #keptPlan: TurnPlan | null = null;

  constructor(core: EngineCore, plan: TurnPlan) {
    this.#core = core;
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

  /** Stores the request, and in the same write everything that the turn did before it (R6). */
  async store(step: number, call: ModelCall, run: RunSoFar): Promise<ModelRequest> {
    const { turnId, accepted, message, base: requestBase, input } = this.#plan;
    await loadMedia(this.#core.deps.blobs, call, input.loaded);
    const request = preparedRequest(accepted.provider, call);
    const base = this.#stored[baseDepth(this.#stored.length)];
    const baseStep = this.#stored.length === 0 ? null : (base?.step ?? null);
    const recipe = makeRecipe(request.body, baseStep === null ? (requestBase?.body ?? null) : (base?.body ?? null), {
      known: [...messageTexts(message), ...mediaTexts(call, input.loaded)],
      inOrder: earlierTexts(earlierHistory(accepted, input.media)),
    });
    const blob = blobKeys.request(turnId, step);
    const bytes = encodeBlob("request", { format: 1, turnId, baseStep, request: recipe });
    await storeStep(this.#core, run, { blobs: [{ key: blob, bytes }, ...this.#progress(step, run)] });
    this.#stored.push({ step, body: request.body });
    return { step, call, request, stored: { blob, bytes: recipe.bytes, sha256: recipe.sha256 } };
  }

  /** Returns the blob with what the turn did since the last one. It is empty if nothing needs to be kept. */
  #progress(step: number, { plan, recorder }: RunSoFar): BlobWrite[] {
    const part = recorder.takeProgress();
    const isSame = plan === this.#keptPlan;
    // Everything that a turn begins with is in its opening, until calls were allowed or the history was summarised.
    const isPlain = this.#keptPlan === null && plan.approved.length === 0 && plan.summary === null;
    if (part === null && (isSame || isPlain)) return [];
    this.#keptPlan = plan;
    recorder.hasProgress = true;
    const nothing = { eventsBefore: 0, events: [], responses: [], outputs: [], items: [], steps: [] };
    const beginning = isSame ? null : plannedBeginning(plan);
    return [progressBlob({ turnId: plan.turnId, step }, { ...(part ?? nothing), beginning })];
  }
}

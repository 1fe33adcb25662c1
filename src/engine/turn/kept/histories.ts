/**
 * Reads the states and the requests of earlier turns. Both are stored in chains of at most log2(n) + 1 blobs (K2, K3).
 * Both are immutable, so they are cached, up to a limit.
 */
import { loadMedia, namedMedia } from "./kept-parts.ts";
import type { ModelCall } from "../../../providers/provider.ts";
import type { BlobStore } from "../../../blobs/blob-store.ts";
import { AptoveError, failureOf } from "../../../domain/errors.ts";
import { limits } from "../../../domain/limits.ts";
import type { PartRef } from "../../../domain/input-part.ts";
import {
  baseDepth,
  emptyState,
  joinState,
  readableInputs,
  type State,
  type StateEntry,
  type StateFile,
} from "../../../domain/lineage.ts";
import type { RecordStore } from "../../../records/record-store.ts";
import type { ToolDefinition } from "../../../domain/tool.ts";
import { BoundedCache } from "../../../system/bounded-cache.ts";
import { applyRecipe, earlierTexts, messageTexts, type RequestRecipe } from "../request/recipe.ts";
import { blobKeys, readBlob, type OpeningBlob } from "./turn-blobs.ts";

export class Histories {
  readonly #blobs: BlobStore;
  readonly #records: Pick<RecordStore, "turns">;
  readonly #states = new BoundedCache<State>(limits.stateCacheBytesMax);
  readonly #tools = new BoundedCache<readonly ToolDefinition[]>(limits.stateCacheBytesMax);
  readonly #bodies = new BoundedCache<string>(limits.stateCacheBytesMax);

  constructor(blobs: BlobStore, records: Pick<RecordStore, "turns">) {
    this.#blobs = blobs;
    this.#records = records;
  }

  /**
   * Returns the whole state of a turn. `null` stands for the state before a root. Throws `history_unavailable` or `data_newer` rather
   * than return a part of the history (C3).
   */
  async state(turnId: string | null): Promise<State> {
    if (turnId === null) return emptyState;
    const cached = this.#states.get(turnId);
    if (cached !== undefined) return cached;
    try {
      const state = joinState(await this.#chain(turnId));
      this.remember(state);
      return state;
    } catch (error) {
      const { code, message } = failureOf(error);
      if (code === "data_newer") throw error;
      throw new AptoveError(
        "history_unavailable",
        `the history of turn ${turnId} cannot be read (${code}: ${message})`,
        {
          facts: { turnId },
          cause: error,
        },
      );
    }
  }

  /** Caches a state that was just written. */
  remember(state: State): void {
    // The states of one session share their entries, so the text of the newest entry is a good enough estimate.
    this.#states.set(state.turnId, state, 64 * state.entries.length + entrySize(state.entries.at(-1)));
  }

  async #chain(turnId: string): Promise<StateFile[]> {
    const files: StateFile[] = [];
    for (let at: string | null = turnId; at !== null;) {
      const key = await this.#stateKey(at);
      const file: StateFile = await readBlob<"state">(this.#blobs, key, at);
      if (files.length > 0 && file.depth >= (files[0]?.depth ?? 0)) {
        throw new AptoveError("blob_damaged", `${key} is not the state of an ancestor of its child`);
      }
      files.unshift(file);
      at = file.base;
    }
    return files;
  }

  /** Returns the name of the state that counts: a recovery writes under a name of its own (R6). */
  async #stateKey(turnId: string): Promise<string> {
    const turn = await this.#records.turns.get(turnId);
    return turn?.blobs.state ?? blobKeys.state(turnId);
  }

  /**
   * Returns the input parts of the history that can be read (I1). If the history cannot be read, it returns none, and
   * the turn fails later with the reason.
   */
  async readableBefore(parent: { id: string } | null): Promise<ReadonlyMap<string, PartRef>> {
    if (parent === null) return new Map();
    return await this.state(parent.id).then(readableInputs, () => new Map());
  }

  /** Returns the turn whose first request is the base of the recipes of a child of `parent`. Null if there is none. */
  requestBase(parent: State): string | null {
    const depth = baseDepth(parent.depth + 1);
    return parent.bases.find((turn) => turn.depth === depth)?.turnId ?? null;
  }

  /** Returns the exact body of the first request of a turn. Null if the turn ended before it had one (T12). */
  async firstRequest(turnId: string): Promise<string | null> {
    const cached = this.#bodies.get(turnId);
    if (cached !== undefined) return cached;
    const turn = await this.#records.turns.get(turnId);
    if (turn === null) throw new AptoveError("blob_missing", `there is no turn ${turnId} to rebuild the request from`);
    const opening = await readBlob<"opening">(this.#blobs, turn.blobs.opening, turnId);
    if (opening.request === null && !(await this.#wasSent(turnId))) return null;
    const body = await this.request(opening, 1);
    this.rememberBody(turnId, body);
    return body;
  }

  /** Returns true if a step has the first request. Without a step it is garbage: its turn was lost in the first call (K4). */
  async #wasSent(turnId: string): Promise<boolean> {
    const key = blobKeys.request(turnId, 1);
    return (await this.#records.turns.listSteps(turnId)).some(({ request }) => request.blob === key);
  }

  /** Returns the exact body of the request that was stored for a step of a turn. */
  async request(opening: OpeningBlob, step: number): Promise<string> {
    const { turnId } = opening;
    const ofTurn = async (): Promise<string | null> =>
      opening.base === null ? null : await this.firstRequest(opening.base);
    if (step === 1 && opening.request !== null) return await this.#rebuild(opening.request, opening, ofTurn);
    const { request, baseStep } = await readBlob<"request">(this.#blobs, blobKeys.request(turnId, step), turnId);
    const base = baseStep === null ? ofTurn : () => this.request(opening, baseStep);
    return await this.#rebuild(request, opening, base);
  }

  /** Returns the tools of the client that a turn stored (E4). */
  async clientTools(turnId: string): Promise<readonly ToolDefinition[]> {
    const cached = this.#tools.get(turnId);
    if (cached !== undefined) return cached;
    const turn = await this.#records.turns.get(turnId);
    if (turn === null) throw new AptoveError("history_unavailable", `the turn ${turnId}, which has the tools, is gone`);
    const { tools = [] } = await readBlob<"opening">(this.#blobs, turn.blobs.opening, turnId);
    this.#tools.set(turnId, tools, 2 * JSON.stringify(tools).length);
    return tools;
  }

  /** Reads the media of a call into `loaded`, so that the call can be prepared. */
  async loadMedia(call: ModelCall, loaded: Map<string, string>): Promise<void> {
    await loadMedia(this.#blobs, call, loaded);
  }

  rememberBody(turnId: string, body: string): void {
    this.#bodies.set(turnId, body, 2 * body.length);
  }

  /** Rebuilds a request from its recipe (K3, D3). */
  async #rebuild(recipe: RequestRecipe, opening: OpeningBlob, base: () => Promise<string | null>): Promise<string> {
    const stored = [...messageTexts(opening.message), ...earlierTexts(opening.earlier ?? [])];
    const known = new Map(stored.map(({ name, text }) => [name, text]));
    for (const piece of recipe.pieces) {
      if (typeof piece === "string" || known.has(piece.known)) continue;
      const text = await namedMedia(this.#blobs, piece.known);
      if (text !== null) known.set(piece.known, text);
    }
    return applyRecipe(recipe, recipe.hasBase ? await base() : null, known);
  }
}

function entrySize(entry: StateEntry | undefined): number {
  return entry === undefined ? 0 : 2 * JSON.stringify(entry.items).length;
}

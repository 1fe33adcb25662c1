/** Notes when a key was last used (H4). It is only shown, so a store that takes no note, such as a full disk, refuses no request. */
import type { ApiKey } from "../../domain/caller.ts";
import { RepeatedFault } from "../../system/repeated-fault.ts";
import type { EngineDependencies } from "../dependencies.ts";

/** The last use of a key is recorded at most this often, so that a busy client does not cost a write per request. */
const touchEveryMs = 60_000;
/** How long nothing is noted after a failure, in milliseconds. Each request would wait for a failure of its own. */
const restMs = 5_000;

export class KeyUses {
  readonly #deps: EngineDependencies;
  readonly #fault: RepeatedFault;
  #restsUntil = -Infinity;

  constructor(deps: EngineDependencies) {
    this.#deps = deps;
    this.#fault = new RepeatedFault(deps.report, "the last use of keys could not be noted");
  }

  /** Never rejects. */
  async note(key: ApiKey): Promise<void> {
    const { records, now, monotonic } = this.#deps;
    const lastUsedAt = now();
    if (key.lastUsedAt !== null && lastUsedAt - key.lastUsedAt <= touchEveryMs) return;
    if (monotonic() < this.#restsUntil) return;
    try {
      await records.keys.update(key, { lastUsedAt });
      this.#fault.succeeded();
    } catch (error) {
      this.#restsUntil = monotonic() + restMs;
      this.#fault.failed(error);
    }
  }
}

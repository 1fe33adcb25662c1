/** The stores of an engine, each of which is reported to the observer. */
import type { EngineStores } from "../../engine/dependencies.ts";
import { observedStore } from "../../telemetry/observed-store.ts";
import type { Observer } from "../../telemetry/observer.ts";
import type { Stores } from "../data-folder/open-stores.ts";
import type { LiveParts } from "../open-live.ts";

export function observedStores(
  { records, blobs, turnStore }: Stores,
  live: LiveParts,
  observer: Observer,
): EngineStores {
  return {
    records: observedStore(records, "records", observer),
    blobs: observedStore(blobs, "blobs", observer),
    ...(turnStore !== undefined && { turnStore: observedStore(turnStore, "records", observer) }),
    log: observedStore(live.log, "live", observer),
    cache: live.cache,
    ...(live.wakeUps !== undefined && { wakeUps: live.wakeUps }),
    unkeptStores: async () => {
      const { unkeptStores } = await import("./unkept-stores.ts");
      return unkeptStores();
    },
  };
}

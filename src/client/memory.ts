/** The client's methods for the memory of workspaces (M3). */
import type {
  WireFact,
  WireFactEdit,
  WireFactStart,
  WireForgotten,
  WireMemory,
} from "../protocol/workspaces/memory.ts";
import type { FetchJson } from "./send.ts";

export interface MemoryMethods {
  list(workspaceId: string): Promise<WireMemory>;
  get(workspaceId: string, factId: string): Promise<WireFact>;
  /** Adds a fact. If there is one with the same text, it is returned. */
  add(workspaceId: string, fact: WireFactStart): Promise<WireFact>;
  /** Throws `fact_changed` if the text does not have `expectedHash` any more. */
  change(workspaceId: string, factId: string, edit: WireFactEdit): Promise<WireFact>;
  /** Removes a fact, and returns the turns that were given it. */
  forget(workspaceId: string, factId: string): Promise<WireForgotten>;
}

export function memoryMethods(call: FetchJson): MemoryMethods {
  return {
    list: (workspace) => call("listFacts", { params: { workspace } }),
    get: (workspace, fact) => call("getFact", { params: { workspace, fact } }),
    add: (workspace, body) => call("addFact", { params: { workspace }, body }),
    change: (workspace, fact, body) => call("changeFact", { params: { workspace, fact }, body }),
    forget: (workspace, fact) => call("forgetFact", { params: { workspace, fact } }),
  };
}

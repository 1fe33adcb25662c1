/** What all files of the engine share: its dependencies and its memory. */
import type { Failure } from "../../../domain/errors.ts";
import { limits } from "../../../domain/limits.ts";
import { BoundedCache } from "../../../system/bounded-cache.ts";
import type { TurnStore } from "../../../records/turn-store.ts";
import { blobsFirst } from "../kept/blobs-first.ts";
import { Histories } from "../kept/histories.ts";
import { SharedRuns } from "../kept/kept-run.ts";
import { RememberedPlaces } from "../kept/remembered-places.ts";
import { KnownWindows } from "./known-windows.ts";
import { LiveTurns } from "./live-turns.ts";
import type { EngineDependencies } from "../../dependencies.ts";
import { OrgChanges } from "../../access/org-changes.ts";
import { QuotaKeeper } from "../../access/quotas.ts";
import { RulesOfSessions } from "../kept/kept-rules.ts";
import { Transcriber } from "./transcriber.ts";
import type { Tool } from "../../../tools/tool.ts";

/** What this process knows of the stores without asking them. */
interface RememberedStore {
  /** The sessions whose next turn may open without a read. */
  places: RememberedPlaces;
  /** The hashes of boot prompts that are stored. */
  prompts: BoundedCache<true>;
  /** The events of ended turns that are being read. */
  runs: SharedRuns;
}

export interface EngineCore {
  readonly deps: EngineDependencies;
  /** The runs and requests of users and orgs, counted against their limits (H5). */
  readonly quotas: QuotaKeeper;
  /** Writes the rows of turns with their blobs. */
  readonly turnStore: TurnStore;
  /** The histories of turns, with the newest states and request bodies in memory (K2, K3). */
  readonly histories: Histories;
  readonly remembered: RememberedStore;
  /** The turns that this process runs. */
  readonly live: LiveTurns;
  /** The context windows of models, with what providers named in errors (C4, C6). */
  readonly windows: KnownWindows;
  /** The last request in the queue of a session, by the id of the session. */
  readonly queueEnds: Map<string, Promise<void>>;
  /** Writes ended turns into the transcripts of their workspaces (W4). */
  readonly transcriber: Transcriber;
  /** Informs the listeners of an org that something changed in its sessions (U3). */
  readonly changes: OrgChanges;
  /** The rules of the repository that sessions began with (M1). */
  readonly rules: RulesOfSessions;
  /** The tools with which the model starts and steers subagents (A1). */
  readonly subagentTools: readonly Tool[];
  /** The turns that may be pending in the store and run nowhere, with the reason why their end could not be written. */
  readonly unsettled: Map<string, Failure>;
  /** The registries of turns whose content is not kept (O3). They end with the process like all others (R4). */
  readonly unkeptLive: Set<LiveTurns>;
  /** Aborts when the process begins to stop (R4). */
  readonly closing: AbortController;
}

/** Makes the core, and the tools that need it. */
export function engineCore(
  deps: EngineDependencies,
  subagentTools: (core: EngineCore) => readonly Tool[] = () => [],
): EngineCore {
  const core: EngineCore & { subagentTools: readonly Tool[] } = {
    subagentTools: [],
    deps,
    quotas: new QuotaKeeper(deps),
    turnStore: deps.turnStore ?? blobsFirst(deps),
    histories: new Histories(deps.blobs, deps.records),
    remembered: {
      places: new RememberedPlaces(),
      prompts: new BoundedCache(limits.keptPromptsMax),
      runs: new SharedRuns(),
    },
    live: new LiveTurns(),
    windows: new KnownWindows(deps),
    queueEnds: new Map(),
    transcriber: new Transcriber(deps),
    changes: new OrgChanges(deps.wakeUps),
    rules: new RulesOfSessions(deps.blobs),
    unsettled: new Map(),
    unkeptLive: new Set(),
    closing: new AbortController(),
  };
  core.subagentTools = subagentTools(core);
  return core;
}

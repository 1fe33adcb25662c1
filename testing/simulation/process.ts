/** A process of a world: one engine on the shared stores. It can be asleep, faulty, closed, or dead. */
import { AsyncLocalStorage } from "node:async_hooks";
import { builtInModes, type ConversationContext } from "../../src/domain/context.ts";
import { limits } from "../../src/domain/limits.ts";
import { createEngine } from "../../src/engine/create-engine.ts";
import type { Engine } from "../../src/engine/engine.ts";
import type { EngineDependencies } from "../../src/engine/dependencies.ts";
import type { Provider } from "../../src/providers/provider.ts";
import type { Runner } from "../../src/records/record-store.ts";
import type { Tool } from "../../src/tools/tool.ts";
import { noObserver } from "../../src/telemetry/observer.ts";
import { testParts, testRunner } from "../engine.ts";
import { lateReason, personTool } from "./acting-tools.ts";
import type { Gates } from "./gates.ts";
import type { StoreCalls, StoreUser, Trouble } from "./store-calls.ts";
import type { Stores } from "./stores.ts";

/** The environment of a process. */
export interface Surroundings {
  calls: StoreCalls;
  gates: Gates;
  providers: readonly Provider[];
  tools: readonly Tool[];
  conversations: readonly ConversationContext[];
  now(): number;
  isAlive(runner: Runner): boolean;
}

const ahead = new AsyncLocalStorage<number>();

/** Runs a function for which the clock is this much later. */
export function later<T>(ms: number, run: () => Promise<T>): Promise<T> {
  return ahead.run(ms, run);
}

export class Process implements StoreUser {
  readonly name: string;
  readonly runner: Runner;
  isDead = false;
  isAsleep = false;
  trouble: Trouble | null = null;
  /** Null until it has started. */
  engine: Engine | null = null;
  /** True if the process takes no new turns. */
  isClosing = false;
  /** True if the process has ended by itself. */
  isGone = false;
  /** True if one of its store calls ever failed. */
  hadTrouble = false;
  /** The reports to its operator. */
  readonly reports: string[] = [];

  constructor(name: string) {
    this.name = name;
    this.runner = testRunner({ processStart: name });
  }

  get isOpen(): boolean {
    return this.engine !== null && !this.isDead && !this.isClosing;
  }

  async start(stores: Stores, surroundings: Surroundings): Promise<void> {
    this.engine = await createEngine(partsOf(this, stores, surroundings));
  }
}

const conversation: ConversationContext = {
  id: "default",
  name: "Default",
  bootPrompt: "Be careful.",
  model: null,
  history: null,
  retrieval: "off",
  toolResend: "always",
  tools: [personTool],
  modes: [...builtInModes],
  settings: {},
};

export const conversations: readonly ConversationContext[] = [
  conversation,
  { ...conversation, id: "replaying", history: "replay", bootPrompt: "Say it again." },
  { ...conversation, id: "frugal", toolResend: "when-changed", bootPrompt: "" },
];

export const agents = [
  { id: "default", name: "Default", provider: "remembering", index: "none" },
  { id: "other", name: "Other", provider: "forgetful", index: "none" },
];

/** The model `small` has a window that a few turns fill. */
export const models = ["large", "large-2026-01-01", "small"];
const smallWindowTokens = 1_500;

function partsOf(process: Process, stores: Stores, { calls, gates, ...world }: Surroundings): EngineDependencies {
  return {
    ...testParts(),
    records: calls.held(stores.records, process),
    blobs: calls.held(stores.blobs, process),
    ...(stores.turnStore !== undefined && { turnStore: calls.held(stores.turnStore, process) }),
    log: calls.held(stores.log, process),
    providers: new Map(world.providers.map((provider) => [provider.name, provider])),
    tools: world.tools,
    agentContexts: agents,
    conversationContexts: world.conversations,
    limits,
    contextTokens: (model) => (model === "small" ? smallWindowTokens : null),
    runner: process.runner,
    isAlive: (runner) => world.isAlive(runner),
    monotonic: () => world.now(),
    now: () => world.now() + (ahead.getStore() ?? 0),
    sleep: (_ms, signal) => Promise.race([gates.wait(process), aborted(signal)]),
    deadline: () => {
      const controller = new AbortController();
      gates.add(process, () => controller.abort(lateReason));
      return controller.signal;
    },
    observer: noObserver,
    report: (message, error) => void process.reports.push(`${message}: ${String(error)}`),
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/**
 * An engine for tests, with memory stores and the scripted provider by default. The waits of the
 * engine itself (retries, grace periods) end at once, and a test can set the clock.
 */
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { memoryBlobs } from "../src/blobs/memory/memory-blobs.ts";
import { localOrgId, type Caller } from "../src/domain/caller.ts";
import { builtInModes, type AgentContext, type ConversationContext } from "../src/domain/context.ts";
import type { TurnEvent } from "../src/domain/events.ts";
import { newId } from "../src/domain/ids.ts";
import { limits } from "../src/domain/limits.ts";
import type { FinishedTurn } from "../src/domain/turn.ts";
import { createEngine } from "../src/engine/create-engine.ts";
import type { Engine, RunningTurn, TurnRequest } from "../src/engine/engine.ts";
import type { EngineDependencies } from "../src/engine/dependencies.ts";
import { memoryEventLog } from "../src/live/memory/memory-event-log.ts";
import type { Provider } from "../src/providers/provider.ts";
import { scriptedProvider, type Script, type ScriptedProvider } from "../src/providers/scripted/scripted.ts";
import { readContextEntry } from "../src/configuration/context-entry.ts";
import { lexicalEmbedder } from "../src/retrieval/lexical-embedding.ts";
import { localDocuments } from "../src/retrieval/local/local-documents.ts";
import { noObserver } from "../src/telemetry/observer.ts";
import { memoryRecords } from "../src/records/memory/memory-records.ts";
import type { Runner } from "../src/records/record-store.ts";

export interface TestEngineOptions extends Partial<EngineDependencies> {
  script?: Script;
  /** True if the scripted provider keeps chains; true by default. */
  remembers?: boolean;
  provider?: Provider;
  /** More providers beside the scripted one. */
  otherProviders?: Provider[];
  conversation?: Partial<ConversationContext>;
}

export interface TestEngine {
  engine: Engine;
  deps: EngineDependencies;
  provider: ScriptedProvider;
  caller: Caller;
  /** The reports to the operator. */
  reports: string[];
  /** Runs a turn to its end. */
  ask(instruction: string, more?: Partial<TurnRequest>): Promise<FinishedTurn>;
  start(instruction: string, more?: Partial<TurnRequest>): Promise<RunningTurn>;
  answer(turnId: string): Promise<string>;
}

const defaultAgent: AgentContext = { id: "default", name: "Default", provider: "scripted", index: "local" };
const defaultConversation: ConversationContext = {
  id: "default",
  name: "Default",
  bootPrompt: "Be careful.",
  model: null,
  history: null,
  retrieval: "required",
  toolResend: "always",
  tools: [],
  modes: [...builtInModes],
  settings: {},
};

export function testRunner(more: Partial<Runner> = {}): Runner {
  const id = newId();
  return { id, host: "here", bootId: "boot", pid: 1, processStart: id, startedAt: 0, ...more };
}

/** An admin of the local org, like its owner. */
export const alice: Caller = { orgId: localOrgId, userId: newId(), role: "admin" };

export function testParts(options: TestEngineOptions = {}): EngineDependencies & { scripted: ScriptedProvider } {
  const { script, remembers = true, provider, otherProviders = [], conversation, ...parts } = options;
  const scripted = scriptedProvider({ remembers, ...(script !== undefined && { script }) });
  const answering = provider ?? scripted;
  const first = parts.providers ?? new Map([[answering.name, answering]]);
  const others = new Map(otherProviders.map((one) => [one.name, one]));
  return {
    scripted,
    records: memoryRecords(),
    blobs: memoryBlobs(),
    log: memoryEventLog(),
    unkeptStores: async () => {
      const documents = localDocuments(lexicalEmbedder());
      return { records: memoryRecords(), blobs: memoryBlobs(), log: memoryEventLog(), documents };
    },
    retrievers: new Map(),
    documents: localDocuments(lexicalEmbedder()),
    tools: [],
    agentContexts: [{ ...defaultAgent, provider: answering.name }],
    conversationContexts: [{ ...defaultConversation, ...conversation }],
    readContext: (kind, id, entry) => readContextEntry({ kind, id, entry, index: "local", provider: answering.name }),
    limits,
    contextTokens: () => null,
    runner: testRunner(),
    isAlive: () => true,
    version: "test",
    now: Date.now,
    monotonic: () => performance.now(),
    random: () => 0.5,
    sleep: async () => {},
    deadline: () => new AbortController().signal,
    observer: noObserver,
    report: () => {},
    ...parts,
    providers: {
      keys: () => [...first.keys(), ...others.keys()],
      get: (name) => others.get(name) ?? first.get(name),
    },
  };
}

/** Node keeps the function that cleans up after a test, so it lets go of the engine. */
function closeAfter(context: TestContext, engine: Engine): void {
  let open: Engine | null = engine;
  context.after(async () => {
    const closing = open;
    open = null;
    await closing?.close({ graceMs: 0 });
  });
}

export async function testEngine(context: TestContext, options: TestEngineOptions = {}): Promise<TestEngine> {
  const reports: string[] = [];
  const deps = testParts({ report: (message) => void reports.push(message), ...options });
  const engine = await createEngine(deps);
  closeAfter(context, engine);
  const start = (instruction: string, more: Partial<TurnRequest> = {}) =>
    engine.turns.run(alice, { instruction, ...more });
  return {
    engine,
    deps,
    provider: deps.scripted,
    caller: alice,
    reports,
    start,
    ask: async (instruction, more) => await (await start(instruction, more)).finished,
    answer: async (turnId) => await (await engine.turns.read(alice, turnId)).answer(),
  };
}

/** Collects the items of an async iterable. */
export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}

/** Resolves when the turn has sent an event of this type. Fails if the turn ends before. */
export async function untilEvent(running: RunningTurn, type: TurnEvent["type"]): Promise<void> {
  for await (const { event } of running.events()) if (event.type === type) return;
  assert.fail(`the turn ended before ${type}`);
}

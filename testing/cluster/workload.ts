/**
 * The load: simulated users, each with a session. A user sends one word after the other through the proxy, and now and
 * then does what users do: sends two instructions at once, interrupts, steers, follows a turn on another connection, begins
 * subagents, or requests something of another org. The history of all of it goes to the checker.
 */
import { setTimeout as pause } from "node:timers/promises";
import { AptoveApiError, createClient, type AptoveClient, type ExecuteRequest } from "../../src/client/client.ts";
import type { Random } from "../simulation/random.ts";
import type { History, RunMs, TurnOperation } from "./history.ts";
import { sayInstruction, spawnInstruction } from "./model.ts";

export interface WorkloadOptions {
  url: string;
  keys: readonly string[];
  people: number;
  random: Random;
  /** The largest number of pieces in an answer. */
  piecesMax: number;
  signal: AbortSignal;
  now(): RunMs;
}

/** The time after which a user gives up on an answer and records it as unknown. */
const patienceMs = 45_000;
const retryPauseMs = 200;

export interface Workload {
  history: History;
  /** The sessions by org number. */
  sessions: Map<string, number>;
  /** Resolves when all users have stopped. Never rejects. */
  over: Promise<void>;
}

export function startWorkload(options: WorkloadOptions): Workload {
  const history: History = { turns: [], probes: [], faults: [] };
  const sessions = new Map<string, number>();
  let words = 0;
  const shared: Shared = { options, history, sessions, nextWord: () => `w${(words += 1)}` };
  const people = Array.from({ length: options.people }, (_, index) => new Person(shared, index % options.keys.length));
  return { history, sessions, over: Promise.all(people.map((person) => person.work())).then(() => undefined) };
}

interface Shared {
  options: WorkloadOptions;
  history: History;
  sessions: Map<string, number>;
  nextWord(): string;
}

class Person {
  readonly #shared: Shared;
  readonly #org: number;
  readonly #client: AptoveClient;
  #sessionId: string | null = null;

  constructor(shared: Shared, org: number) {
    this.#shared = shared;
    this.#org = org;
    // The operations here do their own retries, with the same key.
    this.#client = createClient({ url: shared.options.url, key: shared.options.keys[org] ?? "", retries: 8 });
  }

  async work(): Promise<void> {
    const { signal, random } = this.#shared.options;
    while (!signal.aborted) {
      const session = this.#sessionId;
      if (session === null) this.#sessionId = await this.#begin();
      else await this.#act(session);
      await pause(random.below(50), undefined, { signal }).catch(() => undefined);
    }
  }

  #act(session: string): Promise<unknown> {
    const acts: [weight: number, act: () => Promise<unknown>][] = [
      [6, () => this.#say({ sessionId: session })],
      [1, () => this.#twoAtOnce(session)],
      [1, () => this.#interruptOne(session)],
      [1, () => this.#steerOne(session)],
      [1, () => this.#spawn(session)],
      [1, () => this.#fire(session)],
      [1, () => this.#lookElsewhere()],
    ];
    return this.#shared.options.random.weighted(acts)();
  }

  async #begin(): Promise<string | null> {
    const { sessionId } = await this.#say({});
    if (sessionId !== null) this.#shared.sessions.set(sessionId, this.#org);
    return sessionId;
  }

  #say(where: Partial<ExecuteRequest>): Promise<TurnOperation> {
    const word = this.#shared.nextWord();
    const pieces = 1 + this.#shared.options.random.below(this.#shared.options.piecesMax);
    return this.#run(word, { instruction: sayInstruction(word, pieces), ...where });
  }

  async #spawn(session: string): Promise<void> {
    const word = this.#shared.nextWord();
    await this.#run(word, { instruction: spawnInstruction(word), sessionId: session });
  }

  async #twoAtOnce(session: string): Promise<void> {
    const { random } = this.#shared.options;
    const ifBusy = random.pick(["refuse", "queue", "interrupt"] as const) ?? "refuse";
    await Promise.all([this.#say({ sessionId: session }), this.#say({ sessionId: session, ifBusy })]);
  }

  async #interruptOne(session: string): Promise<void> {
    const running = this.#say({ sessionId: session });
    await pause(this.#shared.options.random.below(100));
    await quietly(this.#client.sessions.interrupt(session));
    await running;
  }

  /** Sends a message to a running turn. It counts as accepted only if the server acknowledged it. */
  async #steerOne(session: string): Promise<void> {
    const running = this.#say({ sessionId: session });
    await pause(this.#shared.options.random.below(100));
    const message = this.#shared.nextWord().replace("w", "s");
    const turnId = await quietly(this.#client.sessions.steer(session, `Also say ${message}.`));
    const operation = await running;
    if (turnId !== null && turnId === operation.turnId) operation.steered.push(message);
  }

  async #fire(session: string): Promise<void> {
    await this.#run(this.#shared.nextWord(), { instruction: "", sessionId: session, fire: true, ifBusy: "queue" });
  }

  /** Requests something of another org: for this user it must not exist (H4). */
  async #lookElsewhere(): Promise<void> {
    const { sessions, history, options } = this.#shared;
    const others = [...sessions].filter(([, org]) => org !== this.#org).map(([id]) => id);
    const other = options.random.pick(others);
    if (other === undefined) return;
    const turn = history.turns.findLast(({ org, turnId }) => org !== this.#org && turnId !== null)?.turnId ?? other;
    const looks: [string, () => Promise<unknown>][] = [
      [`session ${other}`, () => this.#client.sessions.get(other)],
      [`turns of session ${other}`, () => this.#client.sessions.turns(other)],
      [`turn ${turn}`, () => this.#client.turns.get(turn)],
      [`answer of turn ${turn}`, () => this.#client.turns.answer(turn)],
      [`interrupting session ${other}`, () => this.#client.sessions.interrupt(other)],
      [`events of turn ${turn}`, () => this.#client.events(turn)[Symbol.asyncIterator]().next()],
    ];
    for (const [what, look] of looks) {
      try {
        await look();
        history.probes.push({ what, saw: true });
      } catch (error) {
        if (isRefusal(error)) history.probes.push({ what: `${what}: ${error.code}`, saw: error.status !== 404 });
      }
    }
    const listed = await quietly(this.#client.sessions.list());
    for (const { id } of listed?.sessions ?? []) {
      if (others.includes(id)) history.probes.push({ what: `session ${id} in a list`, saw: true });
    }
  }

  async #run(word: string, request: ExecuteRequest): Promise<TurnOperation> {
    const { history, options } = this.#shared;
    return await carryOut({ client: this.#client, org: this.#org, history, now: options.now }, word, request);
  }
}

export interface Sender {
  client: AptoveClient;
  org: number;
  history: History;
  now(): RunMs;
}

/** Sends one instruction until it is answered or refused, or time runs out. The key makes all attempts one turn (T13). */
export async function carryOut(sender: Sender, word: string, request: ExecuteRequest): Promise<TurnOperation> {
  const { client, org, history, now } = sender;
  const operation = newOperation({ word, org, begin: now(), sessionId: request.sessionId ?? null });
  history.turns.push(operation);
  const idempotencyKey = crypto.randomUUID();
  const signal = AbortSignal.timeout(patienceMs);
  while (!signal.aborted && operation.end === null) {
    operation.received = [];
    try {
      const answer = await client.execute(request, {
        idempotencyKey,
        signal,
        onEvent: (streamed) => operation.received.push(streamed),
      });
      const { sessionId, turnId, kind, text, errorCode } = answer;
      Object.assign(operation, { outcome: "answered", sessionId, turnId, kind, text, errorCode, end: now() });
    } catch (error) {
      if (isRefusal(error)) {
        Object.assign(operation, { outcome: "refused", code: error.code, end: now() });
      } else {
        await pause(retryPauseMs);
      }
    }
  }
  return operation;
}

function newOperation(start: Pick<TurnOperation, "word" | "org" | "begin" | "sessionId">): TurnOperation {
  const open = {
    end: null,
    outcome: "unknown",
    code: null,
    turnId: null,
    kind: null,
    text: "",
    errorCode: null,
  } as const;
  return { ...start, ...open, steered: [], received: [] };
}

/** True if the server itself states that nothing was done. A server fault, or an error in between, does not prove that. */
function isRefusal(error: unknown): error is AptoveApiError {
  return error instanceof AptoveApiError && error.status >= 400 && error.status < 500 && error.status !== 429;
}

async function quietly<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch {
    return null;
  }
}

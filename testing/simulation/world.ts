/**
 * A world: shared stores, the processes on them, the models and tools outside, a clock, and the naive model that
 * remembers what should be true. Nothing in it happens by itself: calls to stores, gates and time move when the
 * simulation moves them.
 */
import { mock } from "node:test";
import type { ConversationContext } from "../../src/domain/context.ts";
import type { Tool } from "../../src/tools/tool.ts";
import type { Living } from "./asked.ts";
import { actingModel, type ActingModel } from "./acting-model.ts";
import { actingTools } from "./acting-tools.ts";
import { Gates } from "./gates.ts";
import { NaiveModel } from "./naive-model.ts";
import { conversations, Process } from "./process.ts";
import { seededRandom, type Random } from "./random.ts";
import { settled, StoreCalls } from "./store-calls.ts";
import { storedPendingTurns } from "./stored-rows.ts";
import { storePlace, type StoreKind, type StorePlace, type Stores } from "./stores.ts";

/** Something that must come to an end. */
interface Underway {
  what: string;
  process: Living;
  /** True if it must end although no gate is opened (T10). */
  isStopped: () => boolean;
}

/** The models and tools of a world. */
export interface Cast {
  actors: ActingModel[];
  tools: readonly Tool[];
  conversations: readonly ConversationContext[];
}

function usualCast(gates: Gates): Cast {
  return {
    actors: [
      actingModel(gates, { name: "remembering", remembers: true }),
      actingModel(gates, { name: "forgetful", remembers: false }),
    ],
    tools: actingTools(gates),
    conversations,
  };
}

type Casting = (gates: Gates, random: Random) => Cast;

interface Clock {
  now: number;
}

export class World {
  readonly random: Random;
  /** True if most requests continue the first sessions. */
  readonly hasLongSessions: boolean;
  readonly calls = new StoreCalls();
  readonly gates = new Gates();
  readonly model = new NaiveModel();
  readonly processes: Process[] = [];
  readonly #cast: Cast;
  /** The stores themselves, for checks. */
  readonly stores: Stores;
  readonly #place: StorePlace;
  readonly #underway = new Set<Underway>();
  readonly #violations: unknown[] = [];
  readonly #clock: Clock;
  #notes = 0;

  static async make(seed: number, kind: StoreKind, cast: Casting = usualCast): Promise<World> {
    const clock = { now: Date.now() };
    const place = await storePlace(kind, () => clock.now);
    return new World(seed, clock, { place, cast, stores: await place.open() });
  }

  private constructor(
    seed: number,
    clock: Clock,
    { place, cast, stores }: { place: StorePlace; cast: Casting; stores: Stores },
  ) {
    this.#clock = clock;
    this.random = seededRandom(seed);
    this.hasLongSessions = this.random.chance(0.3);
    this.#place = place;
    this.stores = stores;
    this.#cast = cast(this.gates, this.random);
  }

  get actors(): readonly ActingModel[] {
    return this.#cast.actors;
  }

  /** The current time of the world's clock. */
  get now(): number {
    return this.#clock.now;
  }

  get open(): Process[] {
    return this.processes.filter((process) => process.isOpen);
  }

  /** Starts a process on the stores; it recovers what dead ones left (R2). */
  async startProcess(): Promise<Process> {
    const process = new Process(`process ${this.processes.length + 1}`);
    this.processes.push(process);
    const dead = new Set(this.processes.filter(({ isDead }) => isDead).map(({ runner }) => runner.id));
    const stores = await this.#place.open();
    const surroundings = {
      calls: this.calls,
      gates: this.gates,
      providers: this.actors.map(({ provider }) => provider),
      tools: this.#cast.tools,
      conversations: this.#cast.conversations,
      now: () => this.now,
      isAlive: (runner: { id: string }) =>
        this.processes.some((one) => one.runner.id === runner.id && !one.isDead && !one.isGone),
    };
    const starting = process.start(stores, surroundings).then(async () => {
      for (const turn of await storedPendingTurns(this.stores))
        if (dead.has(turn.runnerId)) this.violate(new Error(`after a restart turn ${turn.id} is still pending (R2)`));
    });
    const start = starting.catch((error: unknown) => {
      process.isDead = true;
      if (!process.hadTrouble) this.violate(error);
    });
    this.follow({ what: `the start of ${process.name}`, process, isStopped: () => true }, start);
    return process;
  }

  async kill(process: Process): Promise<void> {
    this.gates.forget(process);
    await this.calls.kill(process, this.random);
  }

  /** True if some request is between its arrival and its answer. */
  get isOpening(): boolean {
    return this.model.asked.some(({ attempts }) =>
      attempts.some(({ outcome, process }) => outcome === null && !process.isDead),
    );
  }

  nextNote(): number {
    this.#notes += 1;
    return this.#notes;
  }

  /** Follows something that runs until `ending` settles. */
  follow(underway: Underway, ending: Promise<unknown>): void {
    this.#underway.add(underway);
    const end = (): void => void this.#underway.delete(underway);
    ending.then(end, (error: unknown) => {
      end();
      this.violate(error);
    });
  }

  /** Records a violation. It is reported at the end of the step. */
  violate(error: unknown): void {
    this.#violations.push(error);
  }

  checkViolations(): void {
    if (this.#violations.length > 0) throw this.#violations[0];
  }

  async pass(ms: number): Promise<void> {
    this.#clock.now += ms;
    mock.timers.tick(ms);
    this.calls.wakeFollowers();
    await settled();
  }

  /** Executes some calls, and now and then opens a gate. */
  async run(count: number): Promise<void> {
    for (let at = 0; at < count; at += 1) {
      if (await this.calls.letOneThrough(this.random)) continue;
      if (!this.gates.openOne(this.random)) return;
      await settled();
    }
  }

  async #runAll(): Promise<void> {
    while (await this.calls.letOneThrough(this.random));
  }

  #stillRunning(): Underway[] {
    return [...this.#underway].filter(({ process }) => !process.isDead);
  }

  /** Lets everything end: no process sleeps, no store fails, every gate opens. What does not end is a fault (T11). */
  async comeToRest(): Promise<void> {
    for (const process of this.processes) {
      process.isAsleep = false;
      process.trouble = null;
    }
    if (this.open.length === 0) await this.startProcess();
    await this.#endStopped();
    for (let idle = 0; idle < 60;) {
      await this.#runAll();
      this.checkViolations();
      const isPending = (await storedPendingTurns(this.stores)).length > 0;
      if (this.#stillRunning().length === 0 && !isPending) return;
      if (this.gates.openOne(this.random)) await settled();
      else {
        idle += 1;
        await this.pass(idle % 5 === 0 ? 5_000 : 100);
      }
    }
    const left = this.#stillRunning().map(({ what, process }) => `${what} (${process.name})`);
    throw new Error(`this never ends (T11): ${left.join("; ") || "a pending turn"}`);
  }

  /** Waits for interrupted turns, which end although the model is silent and tools hang (T10). */
  async #endStopped(): Promise<void> {
    for (let look = 0; look < 3; look += 1) {
      await this.#runAll();
      await this.pass(100);
    }
    await this.#runAll();
    const left = this.#stillRunning().filter(({ isStopped }) => isStopped());
    if (left.length > 0) throw new Error(`this does not stop (T10): ${left.map(({ what }) => what).join("; ")}`);
  }

  async end(): Promise<void> {
    for (const process of this.processes) await this.kill(process);
    await this.#place.close();
  }
}

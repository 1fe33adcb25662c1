/**
 * The simulation of subagents and the mailbox: several processes begin, continue, fire, stop and die, between any two
 * calls to the stores. After each step it checks that every end of a subagent was reported once, and every message is
 * in the right state. At the end everything is fired, and has been delivered exactly once (A1, A2).
 */
import assert from "node:assert/strict";
import { mock } from "node:test";
import type { ErrorCode } from "../../src/domain/errors.ts";
import { limits } from "../../src/domain/limits.ts";
import type { MailboxMessage } from "../../src/domain/mailbox.ts";
import { hasHistory, mayBeParent, type Turn } from "../../src/domain/turn.ts";
import type { TurnRequest } from "../../src/engine/engine.ts";
import { alice } from "../engine.ts";
import { follow, servingProcess, type Command, type CommandMaker } from "./command.ts";
import { mailCast } from "./mail-world.ts";
import type { Process } from "./process.ts";
import type { SimulationOptions } from "./simulate.ts";
import { settled } from "./store-calls.ts";
import { World } from "./world.ts";
import * as worldly from "./world-commands.ts";

const ifBusy = ["refuse", "queue", "interrupt"] as const;

const refusals: readonly ErrorCode[] = [
  "session_busy",
  "head_moved",
  "mailbox_empty",
  "mailbox_changed",
  "turn_not_finished",
  "turn_not_continuable",
];

function run(world: World, process: Process, request: TurnRequest): void {
  const call = async (): Promise<void> => {
    const running = await process.engine?.turns.run(alice, request);
    await running?.finished;
  };
  const mayRefuse = (code: ErrorCode): boolean => refusals.includes(code);
  follow(world, process, { what: JSON.stringify(request), call: call(), mayRefuse });
}

async function sessionIds({ stores }: World): Promise<string[]> {
  const { orgId, userId } = alice;
  const { sessions } = await stores.records.sessions.list({ orgId, userId, limit: 100 });
  return sessions.map(({ id }) => id).toSorted();
}

/** A command about one of the sessions, which are read directly from the stores. */
function inSession(
  what: string,
  act: (world: World, process: Process, sessionId: string) => Promise<void> | void,
): CommandMaker {
  return (world): Command | null => {
    const here = servingProcess(world);
    if (here === null) return null;
    return {
      text: `${what} in ${here.process.name}`,
      run: async () => {
        const sessionId = world.random.pick(await sessionIds(world));
        if (sessionId !== undefined) await act(world, here.process, sessionId);
      },
    };
  };
}

function fire(world: World, process: Process, sessionId: string): void {
  const busy = world.random.pick(ifBusy) ?? "refuse";
  run(world, process, { sessionId, instruction: "", fire: true, ifBusy: busy });
}

const root: CommandMaker = (world) => {
  const here = servingProcess(world);
  if (here === null) return null;
  const { process } = here;
  return { text: `a root in ${process.name}`, run: () => run(world, process, { instruction: "begin 2" }) };
};

const weights: readonly (readonly [number, CommandMaker])[] = [
  [2, root],
  [
    6,
    inSession("begin", (world, process, sessionId) => {
      const busy = world.random.pick(ifBusy) ?? "refuse";
      run(world, process, { sessionId, instruction: `begin ${1 + world.random.below(3)}`, ifBusy: busy });
    }),
  ],
  [6, inSession("fire", fire)],
  [
    3,
    inSession("fire twice at once", (world, process, sessionId) => {
      fire(world, process, sessionId);
      fire(world, world.random.pick(world.open) ?? process, sessionId);
    }),
  ],
  [
    3,
    inSession("tell one to go on", async (world, process, sessionId) => {
      const one = world.random.pick(await world.stores.records.subagents.listTurns(sessionId, { limit: 100 }));
      const instruction = `tell ${one?.subagent?.id ?? "none"}`;
      run(world, process, { sessionId, instruction, ifBusy: "queue" });
    }),
  ],
  [
    2,
    inSession("a rerun", async (world, process, sessionId) => {
      const turns = await world.stores.records.turns.list(sessionId, { limit: 20, kind: "agent" });
      const turn = world.random.pick(turns.filter(({ manifest }) => manifest.mailbox !== undefined));
      if (turn !== undefined) run(world, process, { instruction: "", rerun: { turnId: turn.id } });
    }),
  ],
  [
    2,
    inSession("interrupt", (world, process, sessionId) => {
      const call = process.engine?.turns.interrupt(alice, { sessionId }) ?? Promise.resolve();
      follow(world, process, { what: "interrupting", call, mayRefuse: () => false });
    }),
  ],
  [14, worldly.letRun],
  [8, worldly.openGate],
  [4, worldly.passTime],
  [2, worldly.startAnother],
  [2, worldly.crash],
  [1, worldly.close],
  [1, worldly.trouble],
  [1, worldly.fallAsleep],
  [1, worldly.wakeUp],
];

function nextCommand(world: World): Command {
  for (;;) {
    const command = world.random.weighted(weights)(world);
    if (command !== null) return command;
  }
}

/** Throws at the first violation, with the commands that led to it. */
export async function simulateMailbox({ seed, steps, stores }: SimulationOptions): Promise<{ delivered: number }> {
  mock.timers.enable({ apis: ["setInterval", "setTimeout"] });
  const commands: string[] = [];
  let world: World | null = null;
  try {
    world = await World.make(seed, stores, mailCast);
    await world.startProcess();
    for (let step = 1; step <= steps; step += 1) {
      const { text, run: perform } = nextCommand(world);
      commands.push(`${step}. ${text}`);
      await perform();
      await settled();
      world.checkViolations();
      await checkMailboxes(world);
    }
    return { delivered: await deliverAll(world) };
  } catch (error) {
    const trace = commands.slice(-30).join("\n  ");
    throw new Error(`seed ${seed}, step ${commands.length}: ${String(error)}\n  ${trace}`, { cause: error });
  } finally {
    mock.timers.reset();
    await world?.end();
  }
}

/** Waits until nothing runs, and fires waiting messages until there are none. */
async function deliverAll(world: World): Promise<number> {
  await world.comeToRest();
  await checkMailboxes(world);
  let delivered = 0;
  for (const sessionId of await sessionIds(world)) {
    for (let attempt = 0; ; attempt += 1) {
      const messages = await world.stores.records.subagents.listMail(sessionId, { limit: 1_000 });
      const waiting = messages.filter(({ takenBy }) => takenBy === null);
      delivered += waiting.length === 0 ? messages.length : 0;
      if (waiting.length === 0) break;
      assert.ok(attempt < 50, "what waits can be fired");
      const process = world.random.pick(world.open) ?? (await world.startProcess());
      fire(world, process, sessionId);
      await world.comeToRest();
      await checkMailboxes(world);
    }
  }
  return delivered;
}

async function checkMailboxes(world: World): Promise<void> {
  for (const sessionId of await sessionIds(world)) {
    const { records } = world.stores;
    const turns = await records.turns.list(sessionId, { limit: 1_000 });
    const messages = await records.subagents.listMail(sessionId, { limit: 1_000 });
    const byId = new Map(turns.map((turn) => [turn.id, turn]));
    checkSubagents(turns);
    checkMessages(messages, byId);
    checkTakers(messages, turns);
    const head = (await records.sessions.get(sessionId))?.headTurnId ?? null;
    assert.ok(head === null || byId.get(head)?.kind === "agent", "the head is the agent's (S5)");
  }
}

/** Checks that a subagent's turns are one line, of which only the last one may run (A1). */
function checkSubagents(turns: readonly Turn[]): void {
  const subagents = turns.filter(({ subagent }) => subagent !== undefined).toReversed();
  assert.ok(subagents.filter(({ status }) => status === "pending").length <= limits.subagentsRunningMax);
  for (const line of Map.groupBy(subagents, ({ subagent }) => subagent?.id).values()) {
    let good: string | null = null;
    for (const [at, turn] of line.entries()) {
      assert.equal(turn.parentId, good, "it goes on from its last good turn");
      assert.ok(turn.status !== "pending" || at === line.length - 1, "only its newest turn runs");
      // A failed turn that did something is continued (T12).
      if (hasHistory(turn)) good = turn.id;
    }
  }
}

function checkMessages(messages: readonly MailboxMessage[], turns: ReadonlyMap<string, Turn>): void {
  const numbers = messages.map(({ number }) => number);
  assert.deepEqual(
    numbers,
    [...numbers.keys()].map((at) => at + 1),
    "the places of messages have no gaps",
  );
  const ended = [...turns.values()].filter(({ kind, status }) => kind === "async_subagent" && status !== "pending");
  const reported = messages.map(({ turnId }) => turnId);
  assert.deepEqual(reported.toSorted(), ended.map(({ id }) => id).toSorted(), "every end is reported once");
  for (const { turnId, kind } of messages) {
    assert.equal(kind === "subagent_failed", turns.get(turnId)?.status === "failed", "the message says how it ended");
  }
}

/** Checks that a message is held by a running turn, was delivered by a completed one, or waits (A2). */
function checkTakers(messages: readonly MailboxMessage[], turns: readonly Turn[]): void {
  const byTurn = new Map(messages.map((message) => [message.turnId, message]));
  for (const { takenBy, deliveredAt, turnId } of messages) {
    const taker = turns.find(({ id }) => id === takenBy);
    if (taker === undefined) assert.deepEqual([takenBy, deliveredAt], [null, null], "a message without a taker waits");
    else {
      assert.ok(taker.status === "pending" || mayBeParent(taker), "a turn that failed and did nothing gives back");
      assert.equal(deliveredAt, taker.status === "pending" ? null : taker.statusAt);
      assert.ok(
        taker.manifest.mailbox?.some((ref) => ref.turnId === turnId),
        "the turn that holds the message received it",
      );
    }
  }
  for (const turn of turns) {
    const { id, rerunOf, manifest } = turn;
    if ((turn.status !== "pending" && !mayBeParent(turn)) || manifest.mailbox === undefined) continue;
    const given = manifest.mailbox.map((ref) => byTurn.get(ref.turnId));
    const places = given.map((message) => message?.number ?? 0);
    assert.deepEqual(
      places,
      places.toSorted((a, b) => a - b),
      "oldest first",
    );
    // A rerun repeats the input of its turn.
    if (rerunOf === null)
      assert.ok(
        given.every((message) => message?.takenBy === id),
        "delivered once",
      );
  }
}

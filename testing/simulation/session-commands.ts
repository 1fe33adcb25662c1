/** Commands for sessions as a whole, and for turns that run: marks, heads, purges, interrupts, steering, reading. */
import { AptoveError, type ErrorCode } from "../../src/domain/errors.ts";
import { mayBeParent } from "../../src/domain/turn.ts";
import type { Engine } from "../../src/engine/engine.ts";
import { alice } from "../engine.ts";
import { follow, marksRefuse, servingProcess, type CommandMaker } from "./command.ts";
import type { NaiveSession, NaiveTurn } from "./naive-model.ts";
import { comesAgain, isRunBy, numberOf } from "./turn-commands.ts";
import type { World } from "./world.ts";

export const createSession: CommandMaker = (world) => {
  const here = servingProcess(world);
  if (here === null) return null;
  const { model, random } = world;
  const origin = random.chance(0.5) ? random.pick([...model.turns.values()]) : undefined;
  const of = origin === undefined ? "" : ` below ${origin.asked.marker}`;
  const session = origin === undefined ? undefined : model.sessions.get(origin.sessionId);
  const mayRefuse = (code: ErrorCode): boolean =>
    origin !== undefined && (marksRefuse(code, session) || code === "turn_not_continuable");
  const make = async (): Promise<void> => {
    const made = await here.engine.sessions.create(alice, origin === undefined ? {} : { forkOf: origin.id });
    model.knowSession(made.id);
    // Only a stored end counts. A process that could not store an end reports it, and recovery may find more of the turn.
    const end = origin?.sealed?.row ?? null;
    if (end !== null && !mayBeParent(end)) throw new Error("a failed turn that did nothing was forked");
  };
  return {
    text: `an empty session${of} in ${here.process.name}`,
    run: () => {
      model.making.add(here.process);
      const call = make().catch((error: unknown) => {
        model.hasLostSessions ||= here.process.hadTrouble;
        throw error;
      });
      follow(world, here.process, { what: "making a session", call, mayRefuse });
    },
  };
};

type Mark = "isArchived" | "isRemoved" | "isPurged";

interface Marking {
  what: string;
  mark: Mark;
  value: boolean;
  /** The sessions on which the command is mostly tried. */
  suits(session: NaiveSession): boolean;
  call(engine: Engine, id: string): Promise<unknown>;
}

const markings: readonly (readonly [number, Marking])[] = [
  [
    3,
    {
      what: "archive",
      mark: "isArchived",
      value: true,
      suits: ({ isRemoved }) => isRemoved === false,
      call: (engine, id) => engine.tree.archive(alice, id),
    },
  ],
  [
    4,
    {
      what: "unarchive",
      mark: "isArchived",
      value: false,
      suits: ({ isArchived }) => isArchived === true,
      call: (engine, id) => engine.tree.unarchive(alice, id),
    },
  ],
  [
    3,
    {
      what: "remove",
      mark: "isRemoved",
      value: true,
      suits: ({ isRemoved }) => isRemoved === false,
      call: (engine, id) => engine.tree.remove(alice, id),
    },
  ],
  [
    2,
    {
      what: "restore",
      mark: "isRemoved",
      value: false,
      suits: ({ isRemoved }) => isRemoved === true,
      call: (engine, id) => engine.tree.restore(alice, id),
    },
  ],
  [
    2,
    {
      what: "purge",
      mark: "isPurged",
      value: true,
      suits: ({ isRemoved }) => isRemoved === true,
      call: (engine, id) => engine.tree.purge(alice, id),
    },
  ],
];

export const mark: CommandMaker = (world) => {
  const here = servingProcess(world);
  const { random, model } = world;
  const marking = random.weighted(markings);
  const all = [...model.sessions.values()];
  const suited = all.filter((session) => marking.suits(session));
  const session = random.pick(random.chance(0.9) ? suited : all);
  // A repeated request must give the same turn, and a purge would make it a new one.
  if (here === null || session === undefined || (marking.mark === "isPurged" && comesAgain(world))) return null;
  return {
    text: `${marking.what} session ${numberOf(world, session)} in ${here.process.name}`,
    run: () => {
      const call = marked(session, marking, () => marking.call(here.engine, session.id));
      const mayRefuse = (code: ErrorCode): boolean => refusesMark(code, session, marking);
      follow(world, here.process, { what: `${marking.what} session ${numberOf(world, session)}`, call, mayRefuse });
    },
  };
};

function refusesMark(code: ErrorCode, session: NaiveSession, { what, mark: field }: Marking): boolean {
  if (code === "session_busy") return field === "isPurged";
  // These two need removed sessions, the others do not.
  if (code === "not_found") return what === "restore" || what === "purge" || session.wasRemoved;
  return false;
}

/** Marks the state as unknown until the change is acknowledged. If another change crosses it, it stays unknown. */
async function marked(
  session: NaiveSession,
  { mark: field, value, what }: Marking,
  call: () => Promise<unknown>,
): Promise<void> {
  const before = session[field];
  session.wasArchived ||= what === "archive";
  session.wasRemoved ||= what === "remove";
  session.marksBegun += 1;
  const begun = session.marksBegun;
  const isAlone = session.marksUnderway === 0;
  session.marksUnderway += 1;
  session[field] = null;
  try {
    await call();
    if (isAlone && session.marksBegun === begun) session[field] = value;
  } catch (error) {
    // A refusal changes nothing. A store that failed may still have made the change.
    const isRefusal = error instanceof AptoveError && ["not_found", "session_busy"].includes(error.code);
    if (isRefusal && isAlone && session.marksBegun === begun) session[field] = before;
    throw error;
  } finally {
    session.marksUnderway -= 1;
  }
}

export const moveHead: CommandMaker = (world) => {
  const here = servingProcess(world);
  const { random, model } = world;
  const session = random.pick([...model.sessions.values()].filter(({ isRemoved }) => isRemoved !== true));
  const all = [...model.turns.values()];
  const own = all.filter((turn) => turn.sessionId === session?.id);
  const to = random.pick(random.chance(0.85) ? own : all);
  if (here === null || session === undefined || to === undefined) return null;
  const isStale = random.chance(0.2);
  const other = random.pick(own)?.id ?? null;
  const mayRefuse = (code: ErrorCode): boolean =>
    ["head_moved", "session_busy", "turn_not_continuable"].includes(code) ||
    marksRefuse(code, session) ||
    to.sessionId !== session.id;
  const move = async (): Promise<void> => {
    const head = (await world.stores.records.sessions.get(session.id))?.headTurnId ?? null;
    const from = isStale ? other : head;
    await here.engine.tree.moveHead(alice, { sessionId: session.id, from, to: to.id });
    if (to.sessionId !== session.id) throw new Error("the head was moved to another session's turn (S5)");
    session.moves.push({ from, to: to.id });
  };
  return {
    text: `move the head of session ${numberOf(world, session)} to ${to.asked.marker}${isStale ? ", from where it may have been" : ""}`,
    run: () => follow(world, here.process, { what: "moving a head", call: move(), mayRefuse }),
  };
};

/** Returns a turn, mostly one that runs. */
function someTurn({ model, random }: World): NaiveTurn | undefined {
  const all = [...model.turns.values()];
  const running = all.filter(({ sealed }) => sealed === null);
  return random.pick(running.length > 0 && random.chance(0.9) ? running : all);
}

export const interrupt: CommandMaker = (world) => {
  const here = servingProcess(world);
  const { model, random } = world;
  const turn = someTurn(world);
  if (here === null || turn === undefined) return null;
  const target = random.chance(0.5) ? { turnId: turn.id } : { sessionId: turn.sessionId };
  const stop = async (): Promise<void> => {
    for (const id of Object.values(target)) model.stopWishes.add(id);
    const turnId = await here.engine.turns.interrupt(alice, target);
    if (turnId !== null) model.stopped.add(turnId);
  };
  const mayRefuse = (code: ErrorCode): boolean => marksRefuse(code, model.sessions.get(turn.sessionId));
  return {
    text: `interrupt ${"turnId" in target ? turn.asked.marker : `the session of ${turn.asked.marker}`} from ${here.process.name}`,
    run: () => follow(world, here.process, { what: "interrupting", call: stop(), mayRefuse }),
  };
};

export const steer: CommandMaker = (world) => {
  const here = servingProcess(world);
  const { model, random } = world;
  const turn = someTurn(world);
  if (here === null || turn === undefined) return null;
  const target = random.chance(0.5) ? { turnId: turn.id } : { sessionId: turn.sessionId };
  const text = `note ${world.nextNote()}`;
  const send = async (): Promise<void> => {
    const turnId = await here.engine.turns.steer(alice, { ...target, text });
    model.steers.push({ turnId, text, isRemote: !isRunBy(world, here.process, turnId) });
  };
  const mayRefuse = (code: ErrorCode): boolean =>
    code === "turn_not_running" || marksRefuse(code, model.sessions.get(turn.sessionId));
  return {
    text: `steer ${turn.asked.marker} with "${text}" from ${here.process.name}`,
    run: () => follow(world, here.process, { what: "steering", call: send(), mayRefuse }),
  };
};

const looks: readonly ((engine: Engine, turn: NaiveTurn) => Promise<unknown>)[] = [
  (engine, { id }) => engine.turns.get(alice, id),
  async (engine, { id }) => await (await engine.turns.read(alice, id)).answer(),
  async (engine, { id }) => await (await engine.turns.read(alice, id)).request(1),
  (engine, { sessionId }) => engine.turns.list(alice, sessionId, {}),
  (engine, { sessionId }) => engine.tree.graph(alice, sessionId),
  (engine) => engine.sessions.list(alice, {}),
  (engine) => engine.tree.search(alice, { text: "please 7" }),
  (engine) => engine.health(),
];

/** Reads a turn while others run, which must not disturb anything. */
export const look: CommandMaker = (world) => {
  const here = servingProcess(world);
  const turn = someTurn(world);
  const one = world.random.pick(looks);
  if (here === null || turn === undefined || one === undefined) return null;
  const session = world.model.sessions.get(turn.sessionId);
  // The turn made no model call, or it was purged during the read.
  const mayRefuse = (code: ErrorCode): boolean =>
    code === "not_found" || (code === "blob_missing" && session?.isPurged !== false);
  return {
    text: `look at ${turn.asked.marker} from ${here.process.name}`,
    run: () => follow(world, here.process, { what: "looking", call: one(here.engine, turn), mayRefuse }),
  };
};

const stranger = { ...alice, role: "member" as const, userId: "00000000-0000-7000-8000-0000000000ff" };

const intrusions: readonly ((engine: Engine, turn: NaiveTurn) => Promise<unknown>)[] = [
  (engine, { sessionId }) => engine.turns.run(stranger, { sessionId, instruction: "mine" }),
  (engine, { id }) => engine.turns.run(stranger, { fork: { turnId: id }, instruction: "mine" }),
  (engine, { id }) => engine.turns.run(stranger, { rerun: { turnId: id }, instruction: "" }),
  (engine, { id }) => engine.turns.interrupt(stranger, { turnId: id }),
  (engine, { sessionId }) => engine.turns.steer(stranger, { sessionId, text: "mine" }),
  (engine, { sessionId, id }) => engine.tree.moveHead(stranger, { sessionId, from: null, to: id }),
  (engine, { sessionId }) => engine.tree.purge(stranger, sessionId),
];

/** Reads a session of another user, which must not exist for the reader (H4). */
export const intrude: CommandMaker = (world) => {
  const here = servingProcess(world);
  const turn = world.random.pick([...world.model.turns.values()]);
  const one = world.random.pick(intrusions);
  if (here === null || turn === undefined || one === undefined) return null;
  const call = async (): Promise<void> => {
    await one(here.engine, turn);
    throw new Error(`a stranger got at ${turn.asked.marker} (H4)`);
  };
  const mayRefuse = (code: ErrorCode): boolean => code === "not_found" || code === "forbidden";
  return {
    text: `a stranger wants ${turn.asked.marker}`,
    run: () => follow(world, here.process, { what: "intruding", call: call(), mayRefuse }),
  };
};

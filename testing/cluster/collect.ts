/** Reads the final state from each server, and the events from each position where a client may resume. */
import { setTimeout as pause } from "node:timers/promises";
import { createClient, type AptoveClient, type StreamedEvent, type WireTurn } from "../../src/client/client.ts";
import type { Random } from "../simulation/random.ts";
import { joined } from "./checker.ts";
import type { Cluster } from "./cluster.ts";
import type { FinalSession, FinalState, FinalTurn } from "./history.ts";

export interface CollectOptions {
  cluster: Cluster;
  /** The org number of each session. */
  sessions: ReadonlyMap<string, number>;
  random: Random;
  /** Number of random turns that are resumed from every position. The others are read as a whole from every server. */
  splitTurnsMax: number;
  /** Turns that are resumed from every position in any case. */
  splitTurns: ReadonlySet<string>;
}

/** The time in which running turns must end and lost ones must be found. */
const settleMs = 60_000;
const lookEveryMs = 250;
const pageSize = 100;

export async function collect(options: CollectOptions): Promise<FinalState> {
  const { cluster, sessions } = options;
  const clients = cluster.keys.map((key) => cluster.servers.map(({ url }) => createClient({ url, key })));
  const splitShare = { left: options.splitTurnsMax };
  const found = await Promise.all(
    [...sessions].map(async ([id, org]) => {
      const [first, ...others] = clients[org] ?? [];
      if (first === undefined) return [];
      return [await finalSession({ id, org, clients: [first, ...others], options, splitShare })];
    }),
  );
  return { sessions: found.flat() };
}

interface Collecting {
  id: string;
  org: number;
  clients: readonly [AptoveClient, ...AptoveClient[]];
  options: CollectOptions;
  splitShare: { left: number };
}

async function finalSession(at: Collecting): Promise<FinalSession> {
  const { id, org, clients } = at;
  const [client] = clients;
  await settled(client, id);
  await fireAll(client, id);
  const { headTurnId } = await client.sessions.get(id);
  const turns = await allTurns(client, id);
  const mail = await client.sessions.mailbox(id, { waiting: true });
  const finals: FinalTurn[] = [];
  for (const turn of turns) finals.push(await finalTurn(at, turn));
  return { id, org, headTurnId, undelivered: mail.messages.length, turns: finals };
}

/** Waits for turns that still run. The checker finds one that never ends. */
async function settled(client: AptoveClient, id: string): Promise<void> {
  const deadline = performance.now() + settleMs;
  for (;;) {
    const running = (await allTurns(client, id)).some(({ status }) => status === "pending");
    if (!running || performance.now() > deadline) return;
    await pause(lookEveryMs);
  }
}

/** Delivers the reports that no turn took. A failed delivery returns them to the mailbox, so it is retried. */
async function fireAll(client: AptoveClient, id: string): Promise<void> {
  for (let attempt = 1; attempt <= 5; attempt += 1) {
    const { messages } = await client.sessions.mailbox(id, { waiting: true });
    if (messages.length === 0) return;
    await client.execute({ instruction: "", sessionId: id, fire: true });
  }
}

async function allTurns(client: AptoveClient, id: string): Promise<{ id: string; status: string }[]> {
  const turns: { id: string; status: string }[] = [];
  for (let before: number | undefined; ;) {
    const page = await client.sessions.turns(id, { limit: pageSize, ...(before !== undefined && { before }) });
    turns.push(...page.turns);
    const last = page.turns.at(-1);
    if (page.turns.length < pageSize || last === undefined) return turns;
    before = last.sequence;
  }
}

async function finalTurn({ clients, options, splitShare }: Collecting, { id }: { id: string }): Promise<FinalTurn> {
  const [client] = clients;
  const turn: WireTurn = await client.turns.get(id);
  const base = {
    id,
    parentId: turn.parentId,
    sequence: turn.sequence,
    kind: turn.kind,
    status: turn.status,
    failureCode: turn.failures[0]?.code ?? null,
    statusAt: turn.statusAt,
  };
  if (turn.status === "pending") {
    return { ...base, instruction: turn.instructionSummary, answer: "", events: [], splitsRead: 0, splitFaults: [] };
  }
  const [instruction, { text }] = await Promise.all([client.turns.instruction(id), client.turns.answer(id)]);
  const events = await Promise.all(clients.map((one) => Array.fromAsync(one.events(id))));
  const isDrawn = splitShare.left > 0 && options.random.chance(0.3);
  if (isDrawn) splitShare.left -= 1;
  const isSplit = isDrawn || options.splitTurns.has(id);
  const splits = isSplit ? await resumed(clients, id, events[0] ?? []) : { splitsRead: 0, splitFaults: [] };
  return { ...base, instruction, answer: text, events, ...splits };
}

/** Reads the events from every position, each time from the next server (V2). */
async function resumed(
  clients: readonly AptoveClient[],
  turnId: string,
  whole: readonly StreamedEvent[],
): Promise<Pick<FinalTurn, "splitsRead" | "splitFaults">> {
  const expected = joined(whole);
  const splitFaults: string[] = [];
  const places = whole.slice(0, -1);
  for (const [index, { id }] of places.entries()) {
    const client = clients[index % clients.length];
    const rest = await Array.fromAsync(client?.events(turnId, { after: id }) ?? []);
    if (joined([...whole.slice(0, index + 1), ...rest]) !== expected) {
      splitFaults.push(`behind event ${index + 1} of ${whole.length} came ${rest.length}`);
    }
  }
  return { splitsRead: places.length, splitFaults };
}

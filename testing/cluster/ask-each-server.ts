/**
 * The last turns of a run. When all faults are healed, every server must take a turn and answer it. These turns are
 * also what a run checks in any case, however slow the machine is.
 */
import { createClient } from "../../src/client/client.ts";
import type { Violation } from "./checker.ts";
import type { Cluster } from "./cluster.ts";
import type { History, RunMs } from "./history.ts";
import { sayInstruction } from "./model.ts";
import { carryOut } from "./workload.ts";

interface Asking {
  cluster: Pick<Cluster, "servers" | "keys">;
  history: History;
  /** The sessions by org number. The new ones are added. */
  sessions: Map<string, number>;
  now(): RunMs;
}

export interface LastTurns {
  turnIds: Set<string>;
  violations: Violation[];
}

/** The load counts its words from 1, and a run is too short to get here. */
const firstWord = 1_000_000_001;
const pieces = 20;

export async function askEachServer({ cluster, history, sessions, now }: Asking): Promise<LastTurns> {
  const turnIds = new Set<string>();
  const violations: Violation[] = [];
  const org = 0;
  const asked = cluster.servers.map(async ({ url, number }) => {
    const client = createClient({ url, key: cluster.keys[org] ?? "", retries: 8 });
    const word = `w${firstWord + number}`;
    const operation = await carryOut({ client, org, history, now }, word, {
      instruction: sayInstruction(word, pieces),
    });
    const { outcome, kind, code, errorCode, turnId, sessionId } = operation;
    if (turnId !== null) turnIds.add(turnId);
    if (sessionId !== null) sessions.set(sessionId, org);
    const end = `${outcome} ${kind ?? ""} ${code ?? errorCode ?? ""}`.trim();
    if (kind !== "answer")
      violations.push({ rule: "T11", what: `server ${number} was asked when all was healed: ${end}` });
  });
  await Promise.all(asked);
  return { turnIds, violations };
}

/**
 * The rules for a history and for the final state of the stores, whatever was killed, paused and cut off meanwhile.
 * The checker is pure: it gets everything that it judges.
 */
import type { AgUiEvent } from "../../src/protocol/ag-ui.ts";
import type { FinalSession, FinalState, FinalTurn, History, TurnOperation } from "./history.ts";

export interface Violation {
  rule: string;
  what: string;
}

export interface Verdict {
  violations: Violation[];
  /** The amount of work that was checked: a run that did nothing proves nothing. */
  checked: {
    answered: number;
    unknown: number;
    refused: number;
    turns: number;
    streams: number;
    splits: number;
    probes: number;
    reports: number;
  };
}

type Note = (rule: string, what: string) => void;

export function check(history: History, final: FinalState): Verdict {
  const violations: Violation[] = [];
  const note: Note = (rule, what) => violations.push({ rule, what });
  const turns = new Map(final.sessions.flatMap((session) => session.turns.map((turn) => [turn.id, turn] as const)));
  for (const operation of history.turns) {
    checkPromise(operation, turns, note);
    checkReceived(operation, turns, note);
  }
  checkWords(history.turns, [...turns.values()], note);
  for (const session of final.sessions) {
    checkLine(session, note);
    for (const turn of session.turns) checkStreams(turn, note);
  }
  const reports = checkReports(final, note);
  for (const probe of history.probes) if (probe.saw) note("H4", `another org's data was seen: ${probe.what}`);
  const count = (outcome: TurnOperation["outcome"]): number =>
    history.turns.filter((operation) => operation.outcome === outcome).length;
  const all = [...turns.values()];
  return {
    violations,
    checked: {
      answered: count("answered"),
      unknown: count("unknown"),
      refused: count("refused"),
      turns: all.length,
      streams: all.reduce((sum, { events }) => sum + events.length, 0),
      splits: all.reduce((sum, { splitsRead }) => sum + splitsRead, 0),
      probes: history.probes.length,
      reports,
    },
  };
}

/** Checks B3 and T2: every answered turn is stored, with the result that the client got. */
function checkPromise(operation: TurnOperation, turns: ReadonlyMap<string, FinalTurn>, note: Note): void {
  if (operation.outcome !== "answered" || operation.turnId === null) return;
  const { word, turnId, kind, text, errorCode, steered } = operation;
  const turn = turns.get(turnId);
  if (turn === undefined) return note("B3", `turn ${turnId} (${word}) was answered, and is gone`);
  const reported = kind === "error" ? `failed ${errorCode}` : `completed ${text}`;
  const stored = turn.status === "failed" ? `failed ${turn.failureCode}` : `${turn.status} ${turn.answer}`;
  if (reported !== stored)
    note("T2", `turn ${turnId} (${word}) was reported as "${reported}", but is stored as "${stored}"`);
  // A message to a turn that failed is lost with the turn, and the failure states it.
  if (turn.status === "failed") return;
  const given = (turn.events[0] ?? []).flatMap(({ event }) => recordedMessage(event) ?? []);
  for (const message of steered) {
    const times = given.filter((taken) => taken.includes(message)).length;
    if (times !== 1) note("V4", `message ${message} to turn ${turnId} was taken, and is in its record ${times} times`);
  }
}

/** Checks V4: every message was delivered, or reported as too late. */
function recordedMessage(event: AgUiEvent): string | null {
  if (event.type !== "CUSTOM") return null;
  if (event.name === "aptove.steered") return event.value.text;
  return event.name === "aptove.warning" && event.value.code === "steer_undelivered" ? event.value.message : null;
}

/** Checks V2: what one client received over all its connections is the whole stream from its beginning. */
function checkReceived({ received, word }: TurnOperation, turns: ReadonlyMap<string, FinalTurn>, note: Note): void {
  const first = received[0]?.event;
  if (first?.type !== "RUN_STARTED") return;
  const turn = turns.get(first.runId);
  const whole = turn?.events[0];
  if (turn === undefined || whole === undefined) return;
  for (const [index, { id }] of received.entries()) {
    if (id !== `${turn.id}:${index + 1}`) return note("V2", `${word}: event ${index + 1} of ${turn.id} came as ${id}`);
  }
  const difference = firstDifference(joined(received), joined(whole.slice(0, received.length)));
  if (difference !== null)
    note(
      "V2",
      `${word}: the events that the client received of turn ${turn.id} differ from the stored ones: ${difference}`,
    );
}

function firstDifference(received: string, stored: string): string | null {
  if (received === stored) return null;
  const [a, b] = [received.split("\n"), stored.split("\n")];
  const at = a.findIndex((line, index) => line !== b[index]);
  const line = (lines: string[]): string => (lines[at === -1 ? a.length : at] ?? "nothing").slice(0, 200);
  return `${line(a)} was received, ${line(b)} is stored`;
}

/** Checks T13: an instruction runs once, however often it was sent. A refused one does not run. */
function checkWords(operations: readonly TurnOperation[], turns: readonly FinalTurn[], note: Note): void {
  const times = new Map<string, number>();
  for (const { instruction } of turns) {
    const word = wordOf(instruction);
    if (word !== null) times.set(word, (times.get(word) ?? 0) + 1);
  }
  for (const { word, outcome, code } of operations) {
    const found = times.get(word) ?? 0;
    if (found > 1) note("T13", `instruction ${word} was carried out ${found} times`);
    if (found > 0 && outcome === "refused") note("T5", `instruction ${word} was refused (${code}), and carried out`);
  }
}

/** Returns the word that identifies an instruction of the load. */
export function wordOf(text: string): string | null {
  return /\bw\d+\b/.exec(text)?.[0] ?? null;
}

/** Checks T1, T5, S5 and R2: numbers without gaps, no turn left running, and one line from the root to the head. */
function checkLine({ id, headTurnId, turns }: FinalSession, note: Note): void {
  const inOrder = turns.toSorted((a, b) => a.sequence - b.sequence);
  for (const [index, turn] of inOrder.entries()) {
    if (turn.sequence !== index + 1)
      return note("T1", `session ${id} has ${turn.sequence} for its number ${index + 1}`);
    if (turn.status === "pending") note("R2", `turn ${turn.id} of session ${id} still runs when all has settled`);
  }
  const agents = inOrder.filter(({ kind, status }) => kind === "agent" && status !== "pending");
  let heads: (string | null)[] = [agents[0]?.parentId ?? null];
  for (const turn of agents) {
    if (!heads.includes(turn.parentId)) {
      note(
        "S5",
        `turn ${turn.id} of session ${id} goes on from ${turn.parentId}, where the head was ${heads.join(" or ")}`,
      );
    }
    heads = headsAfter(turn);
  }
  if (!heads.includes(headTurnId) && agents.some(({ status }) => status !== "failed")) {
    note("S5", `session ${id} has the head ${headTurnId}, and its last turn that counts is ${heads.join(" or ")}`);
  }
}

/**
 * Returns the heads that are possible after the turn (T12). A failed turn that has text is the head. One that began a
 * call may be the head: a call that was cut off while it was written counts for nothing.
 */
function headsAfter(turn: FinalTurn): (string | null)[] {
  if (turn.status !== "failed") return [turn.id];
  const events = (turn.events[0] ?? []).map(({ event }) => event);
  if (events.some(isForgotten)) return [turn.parentId];
  if (turn.answer !== "") return [turn.id];
  return events.some(({ type }) => type === "TOOL_CALL_START") ? [turn.id, turn.parentId] : [turn.parentId];
}

/** Returns true for the warning that what the turn did could not be stored. */
function isForgotten(event: AgUiEvent): boolean {
  return event.type === "CUSTOM" && event.name === "aptove.warning" && event.value.code === "history_not_kept";
}

/** Checks V2 and T11: every server returns the same events, once and in order, with one end, from every position. */
function checkStreams(turn: FinalTurn, note: Note): void {
  const [first, ...others] = turn.events;
  if (first === undefined) return;
  const ends = first.filter(({ event }) => event.type === "RUN_FINISHED" || event.type === "RUN_ERROR").length;
  if (ends !== 1 || !isEnd(first.at(-1)?.event))
    note("T11", `turn ${turn.id} has ${ends} ends, or something behind its end`);
  for (const other of others) {
    if (joined(other) !== joined(first)) note("V2", `two servers tell the events of turn ${turn.id} differently`);
  }
  for (const fault of turn.splitFaults) note("V2", `turn ${turn.id}, resumed: ${fault}`);
}

function isEnd(event: AgUiEvent | undefined): boolean {
  return event?.type === "RUN_FINISHED" || event?.type === "RUN_ERROR";
}

/** Checks A2: after all was taken, each report of a subagent was delivered once. Returns the number of reports. */
function checkReports({ sessions }: FinalState, note: Note): number {
  let reports = 0;
  for (const { id, turns, undelivered } of sessions) {
    if (undelivered > 0) note("A2", `session ${id} has ${undelivered} messages left after the last fire`);
    for (const subagent of turns.filter(({ kind }) => kind === "async_subagent")) {
      reports += 1;
      const times = turns.filter(
        (turn) => headsAfter(turn).includes(turn.id) && turn.answer.includes(`got ${subagent.id}`),
      ).length;
      // A failed turn may have taken the report, and have been cut off before it could name it.
      const mayBeCut = turns.some((turn) => turn.status === "failed" && headsAfter(turn).includes(turn.id));
      if (times > 1 || (times === 0 && !mayBeCut))
        note("A2", `the report of subagent ${subagent.id} in session ${id} was delivered ${times} times`);
    }
  }
  return reports;
}

/** Returns the events as one text. Neighbouring pieces of one message are joined: how a message is cut does not matter. */
export function joined(events: readonly { event: AgUiEvent }[]): string {
  const lines: string[] = [];
  let open: { key: string; text: string } | null = null;
  const close = (): void => {
    if (open !== null) lines.push(`${open.key} ${JSON.stringify(open.text)}`);
    open = null;
  };
  for (const { event } of events) {
    const piece = pieceOf(event);
    if (piece === null) {
      close();
      lines.push(JSON.stringify(event));
    } else if (open !== null && open.key === piece.key) {
      open.text += piece.text;
    } else {
      close();
      open = piece;
    }
  }
  close();
  return lines.join("\n");
}

function pieceOf(event: AgUiEvent): { key: string; text: string } | null {
  switch (event.type) {
    case "TEXT_MESSAGE_CONTENT":
    case "REASONING_MESSAGE_CONTENT":
      return { key: `${event.type} ${event.messageId}`, text: event.delta };
    case "TOOL_CALL_ARGS":
      return { key: `${event.type} ${event.toolCallId}`, text: event.delta };
    default:
      return null;
  }
}

/**
 * Compares the stored items of a turn with what was observed: the answers to the calls that waited, the instruction,
 * and for each model call the answer of the model, the results of the tools and the delivered messages.
 */
import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import type { HistoryItem, ToolCallItem } from "../../src/domain/history.ts";
import type { ContinuableTurn } from "../../src/domain/turn.ts";
import { endingNotes, noteBlock } from "../../src/engine/turn/request/note-block.ts";
import type { Asked, SeenExchange } from "./asked.ts";
import { boundedOutput, feedbackResult, userItem, wasRecovered } from "./naive-model.ts";

export interface OwnItems {
  /** The number of the turn's items that each exchange received. */
  shown: Map<SeenExchange, number>;
  /** The delivered messages. */
  steered: string[];
}

interface Comparison {
  asked: Asked;
  row: ContinuableTurn;
  /** The turn that this one answers, if it waited. */
  parent: ContinuableTurn | null;
  items: readonly HistoryItem[];
}

/** Throws unless the items are what was observed, in that order (T8, T9, T10, V4). */
export function compareOwnItems({ asked, row, parent, items }: Comparison): OwnItems {
  const reader = new ItemReader(items);
  readAnswers(reader, { asked, row, parent });
  const note = noteBlock([...endingNotes(parent), ...unheardIn(reader.peek())]);
  if (asked.instruction !== "") reader.expect(userItem(asked.instruction, note));
  else if (note !== null) reader.expect({ type: "user", parts: [note] });
  const own: OwnItems = { shown: new Map(), steered: [] };
  const waiting = new Set(row.status === "awaiting_tool_results" ? row.deferredCalls.map(({ callId }) => callId) : []);
  const isSealed = row.status === "failed";
  const last = asked.exchanges.at(-1);
  for (const exchange of asked.exchanges) {
    own.shown.set(exchange, reader.at);
    if (exchange.isSummary) continue;
    if (isSealed && exchange === last) {
      own.steered.push(...readLastOfFailed(reader, { exchange, asked, row }));
      continue;
    }
    if (hasFailed(exchange)) continue;
    for (const item of exchange.items) reader.expect(item);
    const { openText } = exchange;
    if (openText !== "") reader.expect({ type: "assistant", text: openText });
    const calls = exchange.items.filter((item) => item.type === "tool_call" && !waiting.has(item.callId));
    readResults(reader, { calls, asked, row });
    for (let steer = reader.steer(); steer !== null; steer = reader.steer()) own.steered.push(steer);
  }
  assert.equal(reader.at, items.length, "the turn stored more than was seen");
  return own;
}

/**
 * Reads what is kept of the last model call of a turn that failed. Of a lost turn, the end may be missing, and reasoning
 * is only in the answer of the provider.
 */
function readLastOfFailed(reader: ItemReader, { exchange, asked, row }: Failed): string[] {
  const expected = exchange.items.map((item) => JSON.parse(JSON.stringify(item)) as HistoryItem);
  const steered: string[] = [];
  const calls: ToolCallItem[] = [];
  for (let item = reader.peek(); item !== null; item = reader.peek()) {
    const steer = reader.steer();
    if (steer !== null) {
      steered.push(steer);
      continue;
    }
    const kept = reader.next();
    if (kept.type === "tool_call") calls.push(kept);
    const call = kept.type === "tool_result" ? calls.find(({ callId }) => callId === kept.callId) : undefined;
    if (call !== undefined) checkResult(kept, { call, asked, row });
    else if (kept.type === "assistant")
      assert.ok(isCutOf(kept.text, exchange), "a failed turn keeps only text of the model");
    else
      assert.ok(
        expected.some((one) => isDeepStrictEqual(one, kept)),
        `nothing gave the item ${JSON.stringify(kept)}`,
      );
  }
  return steered;
}

/** Returns the notes of messages that the turn before never received (V4). Their texts are those of the requests. */
function unheardIn(item: HistoryItem | null): string[] {
  const note = item?.type === "user" ? (item.parts.at(-1) ?? "") : "";
  return note.split("\n").filter((line) => /^The user also sent this message .*: (?:note|please do) \d+$/.test(line));
}

interface Failed {
  exchange: SeenExchange;
  asked: Asked;
  row: ContinuableTurn;
}

function isCutOf(text: string, { items, openText }: SeenExchange): boolean {
  const whole = items.flatMap((item) => (item.type === "assistant" ? [item.text] : []));
  return [...whole, openText].some((one) => one.startsWith(text));
}

/** True if the call is retried or the turn fails: its reasoning belongs to no answer (C7). */
function hasFailed({ end }: SeenExchange): boolean {
  return end?.type === "failed" && end.failure.code !== "interrupted";
}

class ItemReader {
  readonly #items: readonly HistoryItem[];
  at = 0;

  constructor(items: readonly HistoryItem[]) {
    this.#items = items;
  }

  next(): HistoryItem {
    const item = this.#items[this.at];
    assert.ok(item !== undefined, "the turn stored less than was seen");
    this.at += 1;
    return item;
  }

  peek(): HistoryItem | null {
    return this.#items[this.at] ?? null;
  }

  expect(expected: HistoryItem): void {
    // Stored values went through JSON.
    assert.deepEqual(this.next(), JSON.parse(JSON.stringify(expected)));
  }

  /** Returns the text of the user's message at this position, or null. */
  steer(): string | null {
    const item = this.#items[this.at];
    if (item?.type !== "user") return null;
    this.at += 1;
    return /^\[MODE: ask\]\n\n\[INSTRUCTION\]\n(.*)$/s.exec(item.parts[0] ?? "")?.[1] ?? null;
  }
}

/** Checks that every call that waited has one answer: the caller's, or a note that there was none (T9). */
function readAnswers(reader: ItemReader, { asked, row, parent }: Omit<Comparison, "items">): void {
  const open = parent?.status === "awaiting_tool_results" ? parent.deferredCalls : [];
  const answers = open.map(() => reader.next());
  for (const call of open) {
    const answer = answers.filter((item) => item.type === "tool_result" && item.callId === call.callId);
    assert.equal(answer.length, 1, `the call ${call.callId} has ${answer.length} answers`);
    const expected = feedbackResult(call, asked.feedback);
    if (expected !== null) assert.deepEqual(answer[0], expected);
    else checkResult(answer[0], { call: { type: "tool_call", ...call }, asked, row });
  }
}

interface Results {
  calls: readonly HistoryItem[];
  asked: Asked;
  row: ContinuableTurn;
}

/** The results, one for each call. */
function readResults(reader: ItemReader, { calls, asked, row }: Results): void {
  const results = calls.map(() => reader.next());
  for (const call of calls) {
    if (call.type !== "tool_call") continue;
    const own = results.filter((item) => item.type === "tool_result" && item.callId === call.callId);
    assert.equal(own.length, 1, `the call ${call.callId} has ${own.length} results (T8)`);
    checkResult(own[0], { call, asked, row });
  }
}

interface Called {
  call: ToolCallItem;
  asked: Asked;
  row: ContinuableTurn;
}

/** Checks that a result contains what the tool did, or why it did nothing. */
function checkResult(item: HistoryItem | undefined, { call, asked, row }: Called): void {
  assert.ok(item?.type === "tool_result", `after the call ${call.callId} stands ${item?.type ?? "nothing"} (T8)`);
  const runs = asked.toolRuns.filter((run) => run.callId === call.callId && run.turnId === row.id);
  assert.ok(runs.length <= 1, `the tool of ${call.callId} ran ${runs.length} times in one turn (V5)`);
  const outcome = runs[0]?.outcome;
  // What the tool did after the last commit of a process that died is not known.
  if (wasRecovered(row) && item.output.startsWith("failed: the program ended")) return;
  if (typeof outcome === "object" && outcome !== null) {
    assert.equal(item.output, boundedOutput(call.callId, outcome.output));
    assert.equal(item.isError === true, outcome.isError);
    return;
  }
  assert.equal(item.isError, true);
  const reason = reasons.find(({ when }) => isDeepStrictEqual(when, outcome));
  assert.match(item.output, reason?.text ?? /^the tool runs and has no outcome$/);
}

const reasons: readonly { when: string | undefined; text: RegExp }[] = [
  { when: "threw", text: /^failed: it broke$/ },
  { when: "late", text: /^failed: no result within 120 s$/ },
  { when: "stopped", text: /^interrupted: the call was stopped$/ },
  {
    when: undefined,
    text: /^(?:failed: (?:the call was not run$|the program ended while this call was open|there is no tool|no client of this turn runs the tool|the arguments are not a JSON object|this call was made|the tool ".*" can no longer be run)|interrupted: the call was not run)/,
  },
];

/** T8: strictly in order, every call has exactly one result behind it, before the next message. Returns the calls that are open at the end. */
export function openCalls(items: readonly HistoryItem[]): string[] {
  let open: string[] = [];
  for (const item of items) {
    if (item.type === "tool_call") open.push(item.callId);
    else if (item.type === "tool_result") {
      assert.ok(open.includes(item.callId), `the result of ${item.callId} answers no open call (T8)`);
      open = open.filter((callId) => callId !== item.callId);
    } else if (item.type === "user") assert.deepEqual(open, [], "an instruction stands behind open calls (T8)");
  }
  return open;
}

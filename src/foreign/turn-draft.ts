/** Collects what belongs to one turn of another tool, while its history is read. */
import { countOne, type ForeignItem, type ForeignTurn } from "../domain/foreign.ts";
import type { Millis } from "../domain/ids.ts";
import type { StopReason } from "../domain/events.ts";
import { addUsage, type Usage } from "../domain/usage.ts";

/** The place of a turn's source: a range of bytes of a file. */
export interface SourceRange {
  path: string;
  from: number;
  to: number;
}

export type DraftedTurn = ForeignTurn<SourceRange>;

/** A longer text is cut in the history. The source keeps the whole of it. */
const textCharactersMax = 1_000_000;

export class ForeignDraft {
  readonly key: string;
  readonly parent: string | null;
  readonly startedAt: Millis;
  instruction: string | null = null;
  stopReason: StopReason | null = null;
  model = "";
  readonly items: ForeignItem[] = [];
  readonly unmapped: Record<string, number> = {};
  readonly source: SourceRange;
  subagents: DraftedTurn["subagents"] = [];
  /** The ids of subagents that a call of the turn started, with the name that the call gave. */
  readonly started = new Map<string, string>();
  #endedAt: Millis;
  #last: string;
  #summary: DraftedTurn["summary"];
  readonly #usages: (Usage | null)[] = [];
  readonly #open = new Set<string>();
  readonly #waiting: string[] = [];

  constructor(key: string, start: { parent: string | null; at: Millis; source: SourceRange }) {
    this.key = key;
    this.#last = key;
    this.parent = start.parent;
    this.startedAt = start.at;
    this.#endedAt = start.at;
    this.source = { ...start.source };
  }

  /** The id of the turn. It changes with everything that is added. */
  get id(): string {
    return this.#last === this.key ? this.key : `${this.key}@${this.#last}`;
  }

  count(kind: string): void {
    countOne(this.unmapped, kind);
  }

  /** Notes that the turn had something at a time. `mark` is the source's own id of it. */
  note(mark: string, at: Millis): void {
    this.#last = mark;
    if (at > this.#endedAt) this.#endedAt = at;
  }

  /** Adds a message of the person. It waits for the results of open calls, which no message may stand before. */
  user(text: string): void {
    if (this.#open.size > 0) this.#waiting.push(text);
    else this.items.push({ type: "user", text: this.#bounded(text) });
  }

  assistant(text: string): void {
    if (text !== "") this.items.push({ type: "assistant", text: this.#bounded(text) });
  }

  reasoning(text: string): void {
    if (text !== "") this.items.push({ type: "reasoning", text: this.#bounded(text), model: this.model });
  }

  call(callId: string, name: string, given: string): void {
    if (this.#open.has(callId)) return this.count("repeated tool call");
    this.#open.add(callId);
    this.items.push({ type: "tool_call", callId, name, arguments: this.#bounded(given) });
  }

  /** Adds the result of a call. One that answers no call of the turn that waits is counted. */
  result(callId: string, output: string, isError: boolean): void {
    if (!this.#open.delete(callId)) return this.count("tool result without its call");
    this.items.push({ type: "tool_result", callId, output: this.#bounded(output), isError });
    if (this.#open.size === 0) this.#addWaiting();
  }

  #addWaiting(): void {
    for (const message of this.#waiting.splice(0)) this.items.push({ type: "user", text: this.#bounded(message) });
  }

  isOpen(callId: string): boolean {
    return this.#open.has(callId);
  }

  /** Notes a call of the model. With `isAgain` it is the same one as before, whose newest counts hold. */
  used(usage: Usage | null, { isAgain = false } = {}): void {
    if (isAgain && this.#usages.length > 0) this.#usages.pop();
    this.#usages.push(usage);
  }

  /** Notes that from here on a summary stood for everything before. */
  compacted(text: string): void {
    this.#summary = { text: clean(text), items: this.items.length };
  }

  finish(): DraftedTurn {
    const { id, parent, startedAt, model, items, unmapped, source, subagents } = this;
    for (const callId of this.#open) {
      this.count("tool call without a result");
      items.push({ type: "tool_result", callId, output: "The source has no result of this call.", isError: true });
    }
    this.#addWaiting();
    const known = this.#usages.filter((usage) => usage !== null);
    const hasAnswer = items.at(-1)?.type === "assistant";
    return {
      id,
      parent,
      startedAt,
      endedAt: this.#endedAt,
      model,
      instruction: clean(this.instruction ?? ""),
      items,
      stopReason: this.stopReason ?? (hasAnswer ? "stop" : "interrupted"),
      modelRequests: this.#usages.length,
      usage: known.length === 0 ? null : known.reduce(addUsage),
      ...(this.#summary !== undefined && { summary: this.#summary }),
      unmapped,
      source,
      subagents,
    };
  }

  #bounded(text: string): string {
    if (text.length <= textCharactersMax) return clean(text);
    this.count("text that was cut");
    return `${clean(text.slice(0, textCharactersMax))}\n[cut here: the source has ${text.length} characters]`;
  }
}

/** Returns the text as every provider and every database can take it. */
function clean(text: string): string {
  return text.toWellFormed().replaceAll("\u0000", "\uFFFD");
}

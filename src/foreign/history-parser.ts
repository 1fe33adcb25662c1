/**
 * The contract of a reader of another tool's histories. It takes the lines of one file in order, and gives turns as soon
 * as they are whole. It never throws because of what stands in a line: what it does not know is counted.
 */
import { addCounts } from "../domain/foreign.ts";
import type { Millis } from "../domain/ids.ts";
import type { HistoryLine } from "./history-lines.ts";
import { ForeignDraft, type DraftedTurn, type SourceRange } from "./turn-draft.ts";

/** The facts of a conversation that stand anywhere in its file. */
export interface HistoryFacts {
  id: string | null;
  version: string | null;
  folder: string | null;
  name: string | null;
  /** The conversation that started this one with a subagent. Null: a person started it. */
  spawnedBy: string | null;
  createdAt: Millis;
  updatedAt: Millis;
}

/** A turn, and the ids of the subagents that it started. */
export interface ParsedTurn {
  turn: DraftedTurn;
  started: ReadonlyMap<string, string>;
}

export abstract class HistoryParser {
  readonly facts: HistoryFacts = {
    id: null,
    version: null,
    folder: null,
    name: null,
    spawnedBy: null,
    createdAt: 0,
    updatedAt: 0,
  };
  protected readonly path: string;
  protected draft: ForeignDraft | null = null;
  readonly #ready: ParsedTurn[] = [];
  /** What came before the first turn. */
  readonly #before: Record<string, number> = {};
  #sourceFrom = 0;

  constructor(path: string) {
    this.path = path;
  }

  /** Reads the object of a line. */
  protected abstract read(value: Record<string, unknown>, line: HistoryLine): void;

  take(line: HistoryLine): void {
    if (line.value !== null) this.read(line.value, line);
    else if (line.fault !== null) this.count(line.fault);
    if (this.draft !== null) this.draft.source.to = line.to;
  }

  /** Returns the turns that have become whole since the last call. */
  turns(): ParsedTurn[] {
    return this.#ready.splice(0);
  }

  /** Call it after the last line. */
  finish(): void {
    this.end();
  }

  protected count(kind: string): void {
    if (this.draft !== null) this.draft.count(kind);
    else addCounts(this.#before, { [kind]: 1 });
  }

  protected noteTime(at: Millis): void {
    if (at === 0) return;
    if (this.facts.createdAt === 0 || at < this.facts.createdAt) this.facts.createdAt = at;
    if (at > this.facts.updatedAt) this.facts.updatedAt = at;
  }

  /** Begins a turn at a line. The turn before it is whole then. */
  protected begin(key: string, start: { parent: string | null; at: Millis; line: HistoryLine }): ForeignDraft {
    this.end();
    const source: SourceRange = { path: this.path, from: this.#sourceFrom, to: start.line.to };
    this.draft = new ForeignDraft(key, { parent: start.parent, at: start.at, source });
    return this.draft;
  }

  /** Ends the turn. One without an instruction and without output is none: what it had belongs to the next one. */
  protected end(): DraftedTurn | null {
    const { draft } = this;
    this.draft = null;
    if (draft === null) return null;
    if (draft.instruction === null && draft.items.length === 0) {
      addCounts(this.#before, draft.unmapped);
      return null;
    }
    addCounts(draft.unmapped, this.#before);
    for (const kind of Object.keys(this.#before)) delete this.#before[kind];
    const turn = draft.finish();
    this.#sourceFrom = turn.source.to;
    this.#ready.push({ turn, started: draft.started });
    this.ended(draft, turn);
    return turn;
  }

  /** A parser that must know which turn an id of its source belongs to notes it here. */
  protected ended(_draft: ForeignDraft, _turn: DraftedTurn): void {}
}

/** Export files that were changed by a person who knows how they are sealed. */
import assert from "node:assert/strict";
import { sha256 } from "../src/domain/ids.ts";
import { turnDigest } from "../src/engine/turn/kept/turn-digest.ts";
import type { BlobLine, ExportLine, SessionLine, TurnLine } from "../src/engine/transfer/format.ts";

/** The lines of an export file, to be changed. */
export class ForgedFile {
  lines: ExportLine[];

  constructor(lines: readonly string[]) {
    this.lines = lines.map((line) => JSON.parse(line) as ExportLine);
  }

  get sessions(): SessionLine["session"][] {
    return this.lines.flatMap((line) => ("kind" in line && line.kind === "session" ? [line.session] : []));
  }

  get turns(): TurnLine[] {
    return this.lines.flatMap((line) => ("kind" in line && line.kind === "turn" ? [line] : []));
  }

  /** The first line. */
  get session(): SessionLine["session"] {
    return this.sessions[0] ?? assert.fail("there is no session");
  }

  /** Returns the row of the turn with this index, from 0. */
  row(at: number): TurnLine["turn"] {
    return this.turns[at]?.turn ?? assert.fail(`there is no turn ${at}`);
  }

  steps(at: number): TurnLine["steps"] {
    return this.turns[at]?.steps ?? assert.fail(`there is no turn ${at}`);
  }

  blob(key: string | null): BlobLine {
    const found = this.lines.find((line): line is BlobLine => "key" in line && line.key === key);
    return found ?? assert.fail(`there is no blob ${key}`);
  }

  /** Changes the content of a blob. */
  edit(key: string | null, change: (content: Record<string, unknown>) => void): void {
    const blob = this.blob(key);
    const content = JSON.parse("text" in blob.content ? blob.content.text : "") as Record<string, unknown>;
    change(content);
    this.fill(blob, JSON.stringify(content));
  }

  fill(blob: BlobLine, text: string): void {
    Object.assign(blob, { bytes: Buffer.byteLength(text), sha256: sha256(text), content: { text } });
  }

  /** Removes a turn with its blobs. */
  drop(turnId: string): void {
    this.lines = this.lines.filter((line) => {
      if ("turn" in line) return line.turn.id !== turnId;
      return !("key" in line) || !line.key.startsWith(`turns/${turnId}/`);
    });
  }

  /** Replaces an id everywhere. */
  rename(from: string, to: string): void {
    this.lines = JSON.parse(JSON.stringify(this.lines).replaceAll(from, to)) as ExportLine[];
    for (const line of this.lines) if ("key" in line && "text" in line.content) this.fill(line, line.content.text);
  }

  /** Returns the lines with correct digests and end, unless the options leave them unchanged. */
  sealed({ digests = true }: { digests?: boolean } = {}): string[] {
    if (digests) this.#sealTurns();
    const body = this.lines.slice(0, -1);
    const text = body.map((line) => `${JSON.stringify(line)}\n`).join("");
    const blobs = body.filter((line) => "key" in line).length;
    const counts = { sessions: this.sessions.length, turns: this.turns.length, blobs };
    const end = { kind: "end" as const, ...counts, sha256: sha256(text) };
    return [...body, end].map((line) => JSON.stringify(line));
  }

  #sealTurns(): void {
    const digests = new Map<string, string | null>();
    const hashOf = (key: string | null): string | null =>
      this.lines.find((line): line is BlobLine => "key" in line && line.key === key)?.sha256 ?? null;
    for (const { turn, steps } of this.turns) {
      const { opening, run, state } = turn.blobs;
      const hashes = { opening: hashOf(opening) ?? "", run: hashOf(run), state: hashOf(state) };
      // A parent outside the file keeps its digest, which is unknown here.
      if (turn.parentId !== null && !digests.has(turn.parentId)) continue;
      const parent = turn.parentId === null ? null : (digests.get(turn.parentId) ?? null);
      if (turn.digest !== null) turn.digest = turnDigest(turn, { parent, steps, hashes });
      digests.set(turn.id, turn.digest);
    }
  }
}

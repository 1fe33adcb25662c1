/**
 * The ends of turns in SQLite: one content for each turn, with its words as plain text for the search, and everything else
 * packed (K6). The row of the turn names its content. A turn that runs has a plain row.
 */
import { sql, type Kysely, type Transaction } from "kysely";
import type Database from "better-sqlite3";
import { AptoveError } from "../../../../domain/errors.ts";
import type { Step } from "../../../../domain/step.ts";
import type { ArchivedTurn, FinishedTurn } from "../../../../domain/turn.ts";
import type { TurnText } from "../../../search.ts";
import type { BlobWrite, SharedHistory } from "../../../turn-store.ts";
import { plain, plainRow, runPlain } from "../../plain/plain-sql.ts";
import { textToRow } from "../../rows/text-row.ts";
import { turnToRow } from "../../rows/turn-row.ts";
import { selectSteps, stepsToText } from "../../steps.ts";
import type { ContentTable, Tables } from "../../tables.ts";
import type { PreparedEnd, TurnEnd, TurnEnds } from "../../ends/turn-ends.ts";
import { sqlite } from "../sqlite-placeholder.ts";
import type { StoredEntry } from "./blob-pack.ts";
import { packBlobs } from "./pack-blobs.ts";
import type { ContentText, Seed } from "./content-row.ts";
import { Contents, deletionsFact } from "./contents.ts";
import type { Part } from "./parts.ts";

/** The blobs of a turn that go into its content. */
export interface BlobsToSeal {
  blobs: readonly BlobWrite[];
  history: SharedHistory | null;
}

/** The store of the blobs of turns that are inserted as a whole. */
export interface BlobSource {
  /** Removes and returns the blobs of a turn. Null: there are none. */
  take(
    tx: Transaction<Tables>,
    of: { turn: FinishedTurn | ArchivedTurn; steps: readonly Step[] },
  ): Promise<BlobsToSeal | null>;
}

export interface SealedEnds extends TurnEnds {
  readonly contents: Contents;
  /** The blobs that contents keep. Null: the blobs are in another store. */
  blobs: BlobSource | null;
  /** Seals a turn with all of its steps, and with its blobs if the content keeps them. It awaits `mayGoOn` between the two. */
  seal(end: EndToSeal, blobs: BlobsToSeal | null, mayGoOn?: () => Promise<void>): Promise<NewContent>;
  /** Adds the blobs to the content of a turn that is stored without them. A turn that version 2 wrote is sealed with them. */
  addBlobs(tx: Transaction<Tables>, turn: Omit<EndToSeal, "text">, blobs: BlobsToSeal): Promise<void>;
}

export interface EndToSeal {
  turn: FinishedTurn | ArchivedTurn;
  steps: readonly Step[];
  text: TurnText | null;
}

export interface NewContent {
  words: ContentText;
  columns: Omit<ContentTable, "id">;
  /** The unpacked row. */
  row: Part;
  /** What the turn adds to the history. Null: the content does not keep its state. */
  entry: Uint8Array | null;
}

const noText: TurnText = { instruction: "", answer: "" };

export function sealedEnds(database: Database.Database, db: Kysely<Tables>): SealedEnds {
  const contents = new Contents(database);
  const ends: SealedEnds = {
    contents,
    blobs: null,
    docOf: (row) => (typeof row.content_id === "number" && row.doc === "" ? contents.row(row.content_id).doc : row.doc),
    async seal(end, blobs, mayGoOn) {
      const { seed, content } = await sealRow(contents, end);
      if (blobs === null) return content;
      await mayGoOn?.();
      return await withBlobs(contents, { content, seed, blobs });
    },
    addBlobs: (tx, end, blobs) => addBlobs(contents, tx, { end, blobs }),
    async prepare(end) {
      const all = await allSteps(db, end);
      return endWith(contents, end, { all, content: await ends.seal({ ...end, steps: all }, null) });
    },
    async insert(tx, turns) {
      for (const { turn, steps, text } of turns) {
        const toSeal = (await ends.blobs?.take(tx, { turn, steps })) ?? null;
        const contentId = await insertContent(tx, await ends.seal({ turn, steps, text }, toSeal));
        await tx
          .insertInto("turns")
          .values({ ...turnToRow(turn), doc: "", content_id: contentId })
          .execute();
      }
    },
    async delete(tx, _sessionId, turns) {
      const ids = turns.map(({ id }) => id);
      const gone = await tx.selectFrom("turns").select("content_id").where("id", "in", ids).execute();
      await tx.deleteFrom("steps").where("turn_id", "in", ids).execute();
      await tx.deleteFrom("turns").where("id", "in", ids).execute();
      const contentIds = gone.flatMap(({ content_id }) => content_id ?? []);
      if (contentIds.length === 0) return;
      await tx.deleteFrom("contents").where("id", "in", contentIds).execute();
      await tx.deleteFrom("words").where("id", "in", contentIds).execute();
      await noteDeletion(tx);
      await sql`pragma incremental_vacuum`.execute(tx);
    },
    sealedRoom: sql`coalesce((select length(c.sealed) from contents c where c.id = t.content_id), 0)`,
    async listSteps(at, dialect, turnId) {
      // Turns that run, and those that an earlier version wrote, have their steps in rows.
      const stored = await selectSteps(at, dialect, turnId);
      if (stored.length > 0) return stored;
      const row = await at.selectFrom("turns").select(["content_id"]).where("id", "=", turnId).executeTakeFirst();
      return typeof row?.content_id === "number" ? contents.steps(turnId, row.content_id) : [];
    },
  };
  return ends;
}

/** Returns all steps of a turn that ends: those that were stored while it ran, and the rest. Throws `storage_failed` if one is both. */
export async function allSteps(db: Kysely<Tables>, { turn, steps }: TurnEnd): Promise<Step[]> {
  const stored = await selectSteps(db, sqlite, turn.id);
  const all = [...stored, ...steps].toSorted((a, b) => a.index - b.index);
  if (new Set(all.map(({ index }) => index)).size === all.length) return all;
  throw new AptoveError("storage_failed", `a step of turn ${turn.id} is stored already`);
}

/** Seals a turn without its blobs, and returns its seed too. */
async function sealRow(
  contents: Contents,
  { turn, steps, text }: EndToSeal,
): Promise<{ seed: Seed; content: NewContent }> {
  const seed = await contents.seedBelow(turn.parentId);
  const words = textToRow(text ?? noText);
  const unpacked = { doc: turnToRow(turn).doc, steps: stepsToText(steps) };
  const { sealed, row } = await contents.seal(unpacked, seed, words);
  return { seed, content: { words, columns: { seed_id: seed.id, sealed, blobs: null }, row, entry: null } };
}

async function withBlobs(
  contents: Contents,
  { content, seed, blobs: toSeal }: { content: NewContent; seed: Seed; blobs: BlobsToSeal },
): Promise<NewContent> {
  const { words, columns, row } = content;
  const around = { text: words, row, seed: seed.blobs };
  const blobs = await packBlobs({ ...toSeal, stored: await storedEntries(contents, toSeal) }, around);
  return { ...content, columns: { ...columns, blobs }, entry: entryIn(toSeal) };
}

async function addBlobs(
  contents: Contents,
  tx: Transaction<Tables>,
  { end, blobs }: { end: Omit<EndToSeal, "text">; blobs: BlobsToSeal },
): Promise<void> {
  const { id: turnId } = end.turn;
  const row = await tx.selectFrom("turns").select("content_id").where("id", "=", turnId).executeTakeFirst();
  const id = row?.content_id ?? null;
  const content = id === null ? null : contents.find(id);
  if (content === null || content.sealed === null) {
    const { seed, content: bare } = await sealRow(contents, { ...end, text: content });
    const sealed = await withBlobs(contents, { content: bare, seed, blobs });
    const contentId = await insertContent(tx, sealed, id);
    await tx.updateTable("turns").set({ doc: "", content_id: contentId }).where("id", "=", turnId).execute();
    await tx.deleteFrom("steps").where("turn_id", "=", turnId).execute();
    contents.remember(turnId, { id: contentId, ...sealed });
    return;
  }
  const part = contents.rowPart(content.id);
  const around = { text: content, row: part, seed: (await contents.seedOf(content)).blobs };
  const packed = await packBlobs({ ...blobs, stored: await storedEntries(contents, blobs) }, around);
  await tx.updateTable("contents").set({ blobs: packed }).where("id", "=", content.id).execute();
  contents.remember(turnId, { id: content.id, row: part, entry: entryIn(blobs) });
}

async function storedEntries(contents: Contents, { history }: BlobsToSeal): Promise<Map<string, StoredEntry>> {
  const stored = new Map<string, StoredEntry>();
  for (const { turnId } of history?.entries.slice(0, -1) ?? []) {
    const entry = await contents.entryOf(turnId);
    if (entry !== null) stored.set(turnId, entry);
  }
  return stored;
}

/** Returns what the turn itself adds to the history. Null: it has no state. */
function entryIn({ blobs, history }: BlobsToSeal): Uint8Array | null {
  const state = blobs.find(({ key }) => key === history?.key);
  const own = history?.entries.at(-1);
  return state === undefined || own === undefined ? null : state.bytes.subarray(own.start, own.end);
}

/** A turn that ends, with the content that has its end. */
export function endWith(
  contents: Contents,
  { turn, steps }: TurnEnd,
  { content, all }: { content: NewContent; all: readonly Step[] },
): PreparedEnd {
  let id: number | null = null;
  return {
    async write(tx) {
      id = await insertContent(tx, content);
      const { status, runner_id, lease_expires_at, history_key } = turnToRow(turn);
      const end = plain`
        update turns set status = ${status}, runner_id = ${runner_id}, lease_expires_at = ${lease_expires_at},
          history_key = ${history_key}, doc = '', content_id = ${id} where id = ${turn.id}`;
      await runPlain(tx, sqlite, end);
      if (all.length > steps.length) await tx.deleteFrom("steps").where("turn_id", "=", turn.id).execute();
    },
    written() {
      if (id !== null) contents.remember(turn.id, { id, ...content });
    },
  };
}

/** `wordsId` has the words, if they are stored already. */
async function insertContent(
  tx: Transaction<Tables>,
  { words, columns }: NewContent,
  wordsId: number | null = null,
): Promise<number> {
  const id = wordsId ?? (await insertWords(tx, words));
  await runPlain(tx, sqlite, plain`insert into contents ${plainRow({ id, ...columns })}`);
  return id;
}

/** Tells every process to forget which contents turns have. */
async function noteDeletion(tx: Transaction<Tables>): Promise<void> {
  const again = plain`update set value = cast(cast(value as integer) + 1 as text)`;
  await runPlain(
    tx,
    sqlite,
    plain`insert into store_facts (name, value) values (${deletionsFact}, '1') on conflict (name) do ${again}`,
  );
}

async function insertWords(tx: Transaction<Tables>, words: ContentText): Promise<number> {
  const { rows } = await runPlain<{ id: number }>(tx, sqlite, plain`insert into words ${plainRow(words)} returning id`);
  return rows[0]?.id ?? 0;
}

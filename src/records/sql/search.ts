/**
 * Search in SQL (S8): a scan over the texts of the sessions that the caller may see. The database reports which words each
 * text contains. The rule that all drivers share then selects the matches to show, and only their texts are read.
 */
import { sql, type Expression, type Kysely, type RawBuilder } from "kysely";
import type { SearchRecords, TextHit, TextMatch, TextQuery } from "../search.ts";
import {
  detailMatches,
  excerptOf,
  foldedWords,
  matchesToShow,
  storableText,
  summaryMatches,
  type WordMatch,
} from "../search-text.ts";
import { inBatches } from "./batches.ts";
import { rowToSession } from "./rows/session-row.ts";
import { isVisible } from "./lists/visible-sessions.ts";
import { newestOf, isNewest } from "./summaries.ts";
import type { SqlDialect } from "./sql-dialect.ts";
import type { Tables } from "./tables.ts";

/** Stands for a summary where a turn has its sequence number. */
const summarySequence = 0;

export function searchRecords(db: Kysely<Tables>, dialect: SqlDialect): SearchRecords {
  return {
    async find(query) {
      const words = foldedWords(query.words);
      if (words.length === 0) return [];
      const shown = new Map<string, WordMatch[]>();
      for (const [sessionId, matches] of await findMatches(db, dialect, { ...query, words })) {
        const best = shown.size < query.limit ? matchesToShow(matches, words.length) : null;
        if (best !== null) shown.set(sessionId, best);
      }
      return await readHits(db, { ...query, words }, shown);
    },
  };
}

/** Returns every match of any of the words, by session, newest activity first. */
async function findMatches(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  query: TextQuery,
): Promise<Map<string, WordMatch[]>> {
  const has = (text: Expression<string>, folded: Expression<string | null>): RawBuilder<number> => {
    const bits = query.words.map(
      (word, bit) =>
        sql`case when ${dialect.containsWord({ text, folded }, word)} then ${sql.lit(1 << bit)} else 0 end`,
    );
    return sql<number>`${sql.join(bits, sql` + `)}`;
  };
  const inNames = db
    .selectFrom("sessions as s")
    .where(isVisible(query))
    .select(["s.id", "s.active_at"])
    .select((eb) => [
      sql.lit<number | null>(null).as("sequence"),
      has(eb.ref("s.folded_name"), eb.ref("s.folded_name")).as("first"),
      has(eb.ref("s.folded_details"), eb.ref("s.folded_details")).as("second"),
    ]);
  const inTexts = db
    .selectFrom("sessions as s")
    .innerJoin("texts as x", "x.session_id", "s.id")
    .where(isVisible(query))
    .select(["s.id", "s.active_at", "x.sequence"])
    .select((eb) => [
      has(eb.ref("x.instruction"), eb.ref("x.folded_instruction")).as("first"),
      has(eb.ref("x.answer"), eb.ref("x.folded_answer")).as("second"),
    ]);
  const inSummaries = db
    .selectFrom("sessions as s")
    .innerJoin("summaries as x", "x.session_id", "s.id")
    .where(isVisible(query))
    .where("x.status", "=", "completed")
    .where(isNewest)
    .select(["s.id", "s.active_at"])
    .select((eb) => [
      sql.lit<number | null>(summarySequence).as("sequence"),
      has(eb.ref("x.folded_text"), eb.ref("x.folded_text")).as("first"),
      sql.lit(0).as("second"),
    ]);
  const rows = await db
    .with(
      (matches) => matches("matches").materialized(),
      () => inNames.unionAll(inSummaries).unionAll(inTexts),
    )
    .selectFrom("matches")
    .selectAll()
    .where((eb) => eb.or([eb("first", ">", 0), eb("second", ">", 0)]))
    .orderBy("active_at", "desc")
    .orderBy("id", "desc")
    .execute();
  const found = new Map<string, WordMatch[]>();
  for (const { id, sequence, first, second } of rows) {
    const matches = found.get(id) ?? [];
    found.set(id, matches);
    if (sequence === null) {
      if (first > 0) matches.push({ where: "name", sequence: Infinity, words: first });
      if (second > 0) matches.push({ where: "details", sequence: Infinity, words: second });
    } else if (sequence === summarySequence) {
      matches.push({ where: "summary", sequence: Infinity, words: first });
    } else {
      if (first > 0) matches.push({ where: "instruction", sequence, words: first });
      if (second > 0) matches.push({ where: "answer", sequence, words: second });
    }
  }
  return found;
}

/** Returns the sessions in the order of `shown`. A session that was deleted or hidden in the meantime is left out. */
async function readHits(db: Kysely<Tables>, query: TextQuery, shown: Map<string, WordMatch[]>): Promise<TextHit[]> {
  const ids = [...shown.keys()];
  if (ids.length === 0) return [];
  const sessions = await db
    .selectFrom("sessions as s")
    .selectAll("s")
    .where(isVisible(query))
    .where("s.id", "in", ids)
    .execute();
  const texts = await readTexts(db, shown);
  const summaries = await readSummaries(db, shown);
  const hits = new Map<string, TextHit>();
  for (const row of sessions) {
    const session = rowToSession(row);
    const matches = (shown.get(row.id) ?? []).flatMap(({ where, sequence }): TextMatch[] => {
      if (where === "name")
        return [{ where, turnId: null, excerpt: excerptOf(storableText(session.name), query.words) }];
      if (where === "details") return detailMatches(session, query.words);
      if (where === "summary") return summaryMatches(summaries.get(row.id), query.words);
      const text = texts.get(`${row.id} ${sequence}`);
      return text === undefined ? [] : [{ where, turnId: text.id, excerpt: excerptOf(text[where], query.words) }];
    });
    hits.set(row.id, { session, matches });
  }
  return ids.flatMap((id) => hits.get(id) ?? []);
}

/** Returns the newest summaries of the sessions that have a match in one. */
async function readSummaries(db: Kysely<Tables>, shown: Map<string, WordMatch[]>) {
  const ids = [...shown].flatMap(([id, matches]) => (matches.some(({ where }) => where === "summary") ? [id] : []));
  return new Map((await newestOf(db, ids)).map((summary) => [summary.sessionId, summary]));
}

/** Returns the texts of these matches, by session and sequence number. */
async function readTexts(db: Kysely<Tables>, shown: Map<string, WordMatch[]>) {
  const turns = [...shown].flatMap(([sessionId, matches]) => {
    const sequences = matches.map(({ sequence }) => sequence).filter(Number.isFinite);
    return sequences.length === 0 ? [] : [{ sessionId, sequences }];
  });
  const rows = await inBatches(turns, (batch) =>
    db
      .selectFrom("texts as x")
      .innerJoin("turns as t", (join) =>
        join.onRef("t.session_id", "=", "x.session_id").onRef("t.sequence", "=", "x.sequence"),
      )
      .select(["t.id", "x.session_id", "x.sequence", "x.instruction", "x.answer"])
      .where((eb) =>
        eb.or(
          batch.map(({ sessionId, sequences }) =>
            eb.and([eb("x.session_id", "=", sessionId), eb("x.sequence", "in", sequences)]),
          ),
        ),
      )
      .execute(),
  );
  return new Map(rows.map((row) => [`${row.session_id} ${row.sequence}`, row]));
}

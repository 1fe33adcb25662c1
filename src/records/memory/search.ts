/** Search in memory (S8): it reads every text of every session that the caller may see. */
import type { Session } from "../../domain/session.ts";
import { summaryText } from "../../domain/summary.ts";
import type { SearchRecords, TextHit, TextQuery } from "../search.ts";
import {
  detailMatches,
  detailsOf,
  excerptOf,
  foldedText,
  foldedWords,
  matchesToShow,
  storableText,
  summaryMatches,
  wordsIn,
  type WordMatch,
} from "../search-text.ts";
import type { Rows } from "./rows.ts";
import { isVisible, newestFirst } from "./sessions.ts";
import { newestSummary } from "./summaries.ts";

export function searchRecords(rows: Rows): SearchRecords {
  return {
    async find(query) {
      return search(rows, query);
    },
  };
}

function search(rows: Rows, query: TextQuery): TextHit[] {
  const words = foldedWords(query.words);
  if (words.length === 0) return [];
  const { workspaceId } = query;
  const visible = [...rows.sessions.values()].filter(
    (session) => isVisible(rows, session, query) && (workspaceId === undefined || session.workspaceId === workspaceId),
  );
  const hits = visible.toSorted(newestFirst).flatMap((session): TextHit[] => {
    const shown = matchesToShow(matchesIn(rows, session, words), words.length);
    if (shown === null) return [];
    const matches = shown.flatMap(({ where, turnId, text }) => {
      if (where === "details") return detailMatches(session, words);
      if (where === "summary") return summaryMatches(newestSummary(rows, session.id), words);
      return [{ where, turnId, excerpt: excerptOf(text, words) }];
    });
    return [{ session, matches }];
  });
  return hits.slice(0, query.limit);
}

interface TextWordMatch extends WordMatch {
  turnId: string | null;
  text: string;
}

function matchesIn(rows: Rows, session: Session, words: readonly string[]): TextWordMatch[] {
  const matchOf = (rest: Omit<TextWordMatch, "words">): TextWordMatch => {
    const text = storableText(rest.text);
    return { ...rest, text, words: wordsIn(foldedText(text), words) };
  };
  const found = [matchOf({ where: "name", sequence: Infinity, turnId: null, text: session.name })];
  found.push(matchOf({ where: "details", sequence: Infinity, turnId: null, text: detailsOf(session) }));
  const summary = newestSummary(rows, session.id);
  if (summary !== undefined) {
    const text = summaryText(summary.end.lines);
    found.push(matchOf({ where: "summary", sequence: Infinity, turnId: null, text }));
  }
  for (const { id, sessionId, sequence } of rows.turns.values()) {
    const text = rows.texts.get(id);
    if (sessionId !== session.id || text === undefined) continue;
    found.push(matchOf({ where: "instruction", sequence, turnId: id, text: text.instruction }));
    found.push(matchOf({ where: "answer", sequence, turnId: id, text: text.answer }));
  }
  return found.filter((each) => each.words !== 0);
}

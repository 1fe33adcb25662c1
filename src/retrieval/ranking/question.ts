/**
 * What a question asks for, read once for every driver (Q3): its words, the words of its first line, the names in it, and whether it
 * speaks of tests or documents.
 */
import { cutQuestion } from "../cut-question.ts";
import { identifierTerms, questionTerms } from "../terms.ts";
import { askedKinds, type PathKind } from "./path-kinds.ts";

/** The first line of a longer question says what it is about. A title is cut, because a pasted log may have no line end. */
const titleCharactersMax = 300;
/** A question with so many more characters than its first line has a body. */
const bodyCharactersMin = 20;

/** A ranking by words. `symbol`: only the names that chunks define are searched. */
export interface WordRanking {
  field: "all" | "symbol";
  terms: string[];
}

export interface Question {
  text: string;
  /** A long question describes a behaviour, in words that documents and tests have too. */
  hasBody: boolean;
  rankings: WordRanking[];
  /** The terms of the first line. */
  titleTerms: ReadonlySet<string>;
  asks: ReadonlySet<PathKind>;
  /** The kinds that the question is about. Others are hardly meant. */
  isAbout: ReadonlySet<PathKind>;
}

/** Returns null for a question without any text. */
export function readQuestion(asked: string): Question | null {
  // What templates say to the person who fills them in is no part of the question.
  const text = cutQuestion(asked.toWellFormed().replace(/<!--[^]*?-->/g, " "));
  if (text.trim() === "") return null;
  const title = (text.split("\n").find((line) => line.trim() !== "") ?? "").trim().slice(0, titleCharactersMax);
  const hasBody = text.trim().length > title.length + bodyCharactersMin;
  const rankings: WordRanking[] = [
    { field: "all", terms: questionTerms(text) },
    // A user who writes `moveHead` wants to see where it is defined.
    { field: "symbol", terms: identifierTerms(text) },
  ];
  if (hasBody) rankings.push({ field: "all", terms: questionTerms(title) });
  const titleTerms = new Set(questionTerms(title));
  return {
    text,
    hasBody,
    rankings: rankings.filter(({ terms }) => terms.length > 0),
    titleTerms,
    ...askedKinds(title),
  };
}

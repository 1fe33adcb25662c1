/**
 * Chooses the files that fit into the budget of a turn (X8). Files that the caller named come first, then those that the
 * question is about, then the smaller ones. The others wait for a later turn.
 */
import { limits } from "../../../../domain/limits.ts";
import { estimateTokens } from "./choose-chunks.ts";
import type { EngineDependencies } from "../../../dependencies.ts";
import type { AcceptedRequest } from "../accepted-request.ts";
import type { CheckedFile } from "./check-files.ts";

export interface FileBudget {
  /** The tokens that all files of one message may have together. */
  tokensMax: number;
  /** The text that tells which files matter most. */
  question: string;
}

interface BudgetSources {
  instruction: string;
  /** The configured budget. */
  tokensMax: number;
  /** The window of the model. Null: it is unknown. */
  window: number | null;
}

/**
 * Returns the budget of a turn. A turn without an instruction is a step of a tool loop: the model has just worked with the
 * files itself, and gets them again with the next instruction.
 */
function fileBudget({ instruction, tokensMax, window }: BudgetSources): FileBudget {
  const ofWindow = window === null ? tokensMax : Math.floor(window * limits.activeFilesWindowShareMax);
  const share = instruction === "" ? limits.activeFilesLoopShare : 1;
  return { tokensMax: Math.floor(Math.min(tokensMax, ofWindow) * share), question: instruction };
}

/** Returns the budget of a request. */
export function budgetOf(
  { limits: { activeFilesTokensMax: tokensMax }, contextTokens }: Pick<EngineDependencies, "limits" | "contextTokens">,
  { instruction, model }: Pick<AcceptedRequest, "instruction" | "model">,
): FileBudget {
  return fileBudget({ instruction, tokensMax, window: contextTokens(model) });
}

interface RankedFile {
  file: CheckedFile;
  tokens: number;
  relation: number;
}

/** Returns the files that wait, largest and least related first. Files without a text take no room. */
export function waitingFiles(files: readonly CheckedFile[], budget: FileBudget): CheckedFile[] {
  const sized = files.map((file) => ({ file, tokens: tokensOf(file) }));
  const total = sized.reduce((sum, { tokens }) => sum + tokens, 0);
  if (total <= budget.tokensMax) return [];
  const words = wordsOf(budget.question);
  const ranked = sized.map((one): RankedFile => ({ ...one, relation: relationOf(one.file, budget.question, words) }));
  const waiting: CheckedFile[] = [];
  let left = budget.tokensMax;
  for (const { file, tokens } of ranked.toSorted((a, b) => b.relation - a.relation || a.tokens - b.tokens)) {
    if (tokens <= left) left -= tokens;
    else waiting.push(file);
  }
  return waiting.toReversed();
}

/** Path, hash and fence take some tokens too. */
const frameTokens = 60;

export function tokensOf({ text }: CheckedFile): number {
  return text === null ? 0 : estimateTokens(text) + frameTokens;
}

function wordsOf(question: string): string[] {
  const words =
    question
      .slice(0, limits.questionCharactersMax)
      .toLowerCase()
      .match(/[\p{L}\p{N}_]{4,}/gu) ?? [];
  return [...new Set(words)].slice(0, 64);
}

/** Returns how much a file has to do with the question: 3 if the caller named it, 2 if the question does, else less than 1. */
function relationOf(file: CheckedFile, question: string, words: readonly string[]): number {
  if (!file.isTouched) return 3;
  const name = file.path.split(/[/:]/).at(-1) ?? file.path;
  if (question.includes(file.path) || question.includes(name)) return 2;
  if (words.length === 0) return 0;
  const text = `${file.path}\n${file.text ?? ""}`.toLowerCase();
  return words.filter((word) => text.includes(word)).length / (words.length + 1);
}

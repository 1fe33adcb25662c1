/**
 * Tests quote the code that they test, and often the question itself, so by words alone they would rank first. A question about
 * code means the code. Only a question that mentions tests means tests.
 */
import { questionTerms } from "./terms.ts";

const testPath =
  /(?:^|\/)(?:tests?|__tests__|spec|testing|fixtures|testdata)\/|(?:^|[./_-])(?:test|tests|spec)\.[a-z]+$/i;
const testTerms = new Set(["test", "spec", "fixtur", "fixture", "assert", "suite", "mock"]);

/** Returns the factor for the score of a chunk with this question: 1 or less. */
export function testCodeWeight(path: string, question: string): number {
  if (!testPath.test(path)) return 1;
  return questionTerms(question).some((term) => testTerms.has(term)) ? 1 : 0.5;
}

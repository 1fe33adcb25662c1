/** Finds matching lines, with a fast check that most texts without such a line fail. */

export interface LinePattern {
  pattern: string;
  isLiteral: boolean;
  ignoreCase: boolean;
}

export interface LineMatcher {
  /** Returns the position of the first match in a line, or -1. */
  lineMatch(line: string): number;
  /** Checks the whole text fast. False means that no line of it can match. */
  mayBeIn(text: string): boolean;
}

/** Returns the matcher for a pattern, or the fault of a pattern that is not valid. */
export function lineMatcher({ pattern, isLiteral, ignoreCase }: LinePattern): LineMatcher | { fault: string } {
  if (!isLiteral) return expressionMatcher(pattern, { ignoreCase, isInText: !mayDifferInText.test(pattern) });
  if (ignoreCase) return expressionMatcher(RegExp.escape(pattern), { ignoreCase, isInText: true });
  return { lineMatch: (line) => line.indexOf(pattern), mayBeIn: (content) => content.includes(pattern) };
}

/**
 * Matches the parts of an expression that may match in a line but not in the whole text, such as assertions. Without
 * them, whatever matches in a line also matches in the whole text. Parts that could run over the end of a line are in
 * this list because they would be slow.
 */
const mayDifferInText = /\(\?[=!<]|\[\^|\\[sSwWdDpPnrcxu0-9k]/;

interface Options {
  ignoreCase: boolean;
  /** True if every match in a line is also a match in the whole text. */
  isInText: boolean;
}

function expressionMatcher(pattern: string, { ignoreCase, isInText }: Options): LineMatcher | { fault: string } {
  // Other dialects write options at the beginning of the pattern; JavaScript has them as flags.
  const inline = /^\(\?([ims]+)\)/.exec(pattern);
  const source = inline === null ? pattern : pattern.slice(inline[0].length);
  const option = ignoreCase || inline?.[1]?.includes("i") === true ? "i" : "";
  try {
    const expression = compiled(source, option);
    const inText = isInText ? compiled(source, `${option}m`) : null;
    return {
      lineMatch: (line) => line.search(expression),
      mayBeIn: (text) => inText === null || inText.test(text),
    };
  } catch (error) {
    return { fault: error instanceof Error ? error.message : String(error) };
  }
}

/** Compiles the pattern with the `u` flag if it is valid with it. Without the flag, JavaScript accepts escapes of other dialects. */
function compiled(source: string, options: string): RegExp {
  try {
    return new RegExp(source, `${options}u`);
  } catch {
    return new RegExp(source, options);
  }
}

/** Whether a line has what is searched for, and a quick answer for most texts that have no such line. */

export interface LinePattern {
  pattern: string;
  isLiteral: boolean;
  ignoreCase: boolean;
}

export interface LineMatcher {
  /** The place of the first match in a line, or -1. */
  lineMatch(line: string): number;
  /** A cheap look at the whole text; false: no line of it can match. */
  mayBeIn(text: string): boolean;
}

/** A fault: the pattern is none. */
export function lineMatcher({ pattern, isLiteral, ignoreCase }: LinePattern): LineMatcher | { fault: string } {
  if (!isLiteral) return expressionMatcher(pattern, { ignoreCase, isInText: !mayDifferInText.test(pattern) });
  if (ignoreCase) return expressionMatcher(RegExp.escape(pattern), { ignoreCase, isInText: true });
  return { lineMatch: (line) => line.indexOf(pattern), mayBeIn: (content) => content.includes(pattern) };
}

/**
 * Without assertions about what is around, whatever matches in a line matches in the whole text too. What could run
 * over the end of a line is left out because it would be slow.
 */
const mayDifferInText = /\(\?[=!<]|\[\^|\\[sSwWdDpPnrcxu0-9k]/;

interface Options {
  ignoreCase: boolean;
  /** Whatever matches in a line matches in the whole text. */
  isInText: boolean;
}

function expressionMatcher(pattern: string, { ignoreCase, isInText }: Options): LineMatcher | { fault: string } {
  // Other dialects say at the beginning what ours says beside the pattern.
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

/** With Unicode's rules where the pattern keeps to them; without, JavaScript takes escapes of other dialects. */
function compiled(source: string, options: string): RegExp {
  try {
    return new RegExp(source, `${options}u`);
  } catch {
    return new RegExp(source, options);
  }
}

/** Faults in summaries of sessions (M5, M6). */
import type { Mutant } from "./mutant.ts";

export const summaryFaults: readonly Mutant[] = [
  {
    name: "summary-quote-unchecked",
    does: "takes the quotes of a summary for true, so that a line rests on a turn that does not have its words (M5)",
    file: "src/engine/summaries/check-answer.ts",
    find: "if (!place.texts.some((one) => comparable(one).includes(wanted)))",
    replace: "if (place.texts.length === 0)",
    tests: ["src/engine/summaries/summaries.test.ts"],
  },
  {
    name: "summary-imported-unchecked",
    does: "imports a summary whose lines name turns that are not in its branch (M5)",
    file: "src/engine/transfer/summary-lines.ts",
    find: "find(({ turnId }) => !branch.has(turnId))",
    replace: 'find(({ turnId }) => turnId === "")',
    tests: ["src/engine/transfer/summary-lines.test.ts"],
  },
  {
    name: "summary-forged-heading",
    does: "lets the text of a turn pretend to be another turn in the request for a summary (M5)",
    file: "src/engine/summaries/turn-text.ts",
    find: "map((line) => `> ${line}`)",
    replace: "map((line) => line)",
    tests: ["src/engine/summaries/summaries.test.ts"],
  },
  {
    name: "summary-of-another-branch",
    does: "lets a summary of another branch stand for a part of this history (M5, C4)",
    file: "src/engine/turn/run/stored-beginning.ts",
    find: "depths.get(throughTurnId) === throughDepth &&",
    replace: "throughDepth > 0 &&",
    tests: ["src/engine/turn/run/stored-beginning.test.ts"],
  },
  {
    name: "summary-brings-back",
    does: "lets a summary bring back what was hidden or forgotten after it was made (M5, M3)",
    file: "src/engine/turn/run/stored-beginning.ts",
    find: "historySummary(visible) === null && isWhole &&",
    replace: "historySummary(visible) === null && (isWhole || true) &&",
    tests: ["src/engine/turn/run/stored-beginning.test.ts"],
  },
  {
    name: "summary-names-invented-turns",
    does: "keeps numbers of turns that a summary does not stand for (M6)",
    file: "src/engine/turn/run/turn-names.ts",
    find: "return from >= 1 && from <= to && to <= through;",
    replace: "return from >= 1 && from <= to;",
    tests: ["src/engine/turn/run/pins.test.ts"],
  },
];

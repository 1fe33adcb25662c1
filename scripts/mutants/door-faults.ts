/** Faults of what the model, a person or a client is given: messages, masks, transcripts, tools. */
import type { Mutant } from "./mutant.ts";

export const doorFaults: readonly Mutant[] = [
  {
    name: "envelope-without-mode",
    does: "leaves the mode out of the user message (E2)",
    file: "src/engine/turn/request/envelope.ts",
    find: "const first = `[MODE: ${mode}]\\n\\n[INSTRUCTION]",
    replace: "const first = `[MODE: ${mode.slice(0, 0)}]\\n\\n[INSTRUCTION]",
    tests: ["src/engine/turn/request/envelope.test.ts"],
  },
  {
    name: "ask-mode-writes",
    does: "offers tools that write in the mode ask (E5)",
    file: "src/domain/context.ts",
    find: 'return mayAct || (tool.effect !== "write" && tool.effect !== "run");',
    replace: 'return mode.id !== "" || tool.effect !== "write";',
    tests: ["src/engine/turn/request/prompt.test.ts", "src/engine/turn/run/own-tools.test.ts"],
  },
  {
    name: "transcript-header-unescaped",
    does: "writes a line of a message that reads as a header (W4)",
    file: "src/workspace/transcript/format.ts",
    find: 'const escaped = text.replace(headToEscape, "\\\\");',
    replace: "const escaped = text;",
    tests: ["src/workspace/transcript/transcripts.test.ts"],
  },
  {
    name: "secret-shown",
    does: "shows secrets of the configuration (E8)",
    file: "src/system/mask-secret.ts",
    find: 'return text.length < 12 ? "***" : `${text.slice(0, 3)}***${text.slice(-3)}`;',
    replace: "return text;",
    tests: ["src/configuration/configured-providers.test.ts", "src/doors/cli/commands/config.test.ts"],
  },
  {
    name: "export-parts-short",
    does: "loses the last byte of each part of a large blob in an export (D2, D3)",
    file: "src/engine/transfer/format.ts",
    find: "buffer.subarray(at, at + partBytes)",
    replace: "buffer.subarray(at, at + partBytes - 1)",
    tests: ["src/engine/transfer/transfer.test.ts"],
  },
  {
    name: "listeners-unlimited",
    does: "counts no open connections of a user (H5)",
    file: "src/doors/connection-slots.ts",
    find: "if (count >= this.#max) {",
    replace: "if (count > 1e9) {",
    tests: ["src/doors/http/handlers/news.test.ts"],
  },
  {
    name: "position-checked-too-early",
    does: "refuses the position of a listener whose turn ends while its stream is opened (V2)",
    file: "src/engine/turn/live/turn-events.ts",
    find: "live === null ? await core.deps.records.turns.get(turn.id) : turn;",
    replace: "turn;",
    tests: ["src/doors/http/handlers/ending-turns.test.ts"],
  },
  {
    name: "watch-of-role-only",
    does: "leaves a stream open whose caller was put into another org (H4)",
    file: "src/engine/access/access.ts",
    find: "JSON.stringify([scopeOf(caller), caller.role])",
    replace: "JSON.stringify([caller.role])",
    tests: ["src/engine/people/key-watch.test.ts"],
  },
];

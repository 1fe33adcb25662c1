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
];

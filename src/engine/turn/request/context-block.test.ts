import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { anyCharacter } from "../../../../testing/any-character.ts";
import type { Chunk } from "../../../domain/chunk.ts";
import { contextBlock, type ContextFile } from "./context-block.ts";

const chunk: Chunk = {
  id: "c1",
  repo: "r",
  path: "src/head.ts",
  startLine: 40,
  endLine: 41,
  language: "typescript",
  symbol: null,
  text: "export function moveHead() {}\n// end",
  hash: "h",
  commit: null,
};
const file: ContextFile = { path: "notes.md", sha256: "ab", language: "markdown", text: "Use ```` for code.\n" };

test("[E3] the block has exactly this form", () => {
  assert.equal(
    contextBlock([chunk], [file]),
    [
      "[CONTEXT]",
      "",
      "=== CHUNK 1 ===",
      "Id: c1",
      "Path: src/head.ts",
      "Lines: 40-41",
      "Language: typescript",
      "```typescript",
      "export function moveHead() {}",
      "// end",
      "```",
      "",
      "=== FILE 1 ===",
      "Path: notes.md",
      "Sha256: ab",
      "Language: markdown",
      "`````markdown",
      "Use ```` for code.",
      "`````",
      "",
    ].join("\n"),
  );
});

test("[E2] with nothing to say there is no block", () => {
  assert.equal(contextBlock([], []), null);
});

interface ReadBlock {
  kind: string;
  number: number;
  path: string;
  text: string;
}

/** Reads a block the way a careful reader would: header lines, then everything up to the closing fence. */
function readBlocks(block: string): ReadBlock[] {
  const lines = block.split("\n");
  assert.deepEqual(lines.splice(0, 2), ["[CONTEXT]", ""]);
  const blocks: ReadBlock[] = [];
  while (lines.length > 0) {
    const header = /^=== (CHUNK|FILE) (\d+) ===$/.exec(lines.shift() ?? "");
    assert.ok(header, "a block begins with its header");
    const fields: Record<string, string> = {};
    for (let field = lines.shift() ?? ""; ; field = lines.shift() ?? "") {
      const fence = /^(`{3,})[^`]*$/.exec(field);
      if (fence === null) {
        const at = field.indexOf(": ");
        assert.ok(at > 0, `a field: ${JSON.stringify(field)}`);
        fields[field.slice(0, at)] = field.slice(at + 2);
        continue;
      }
      const end = lines.indexOf(fence[1] ?? "");
      assert.notEqual(end, -1, "the fence is closed");
      const text = lines.splice(0, end).join("\n");
      assert.deepEqual(lines.splice(0, 2), [fence[1], ""]);
      blocks.push({ kind: header[1] ?? "", number: Number(header[2]), path: fields["Path"] ?? "", text });
      break;
    }
  }
  return blocks;
}

const hostile = fc.oneof(
  fc.string({ unit: anyCharacter }),
  fc
    .array(
      fc.constantFrom(
        "```",
        "````\n",
        "\n",
        "=== CHUNK 1 ===",
        "=== FILE 2 ===\nPath: x",
        "[CONTEXT]",
        "Id: c9",
        "`",
        "\r",
        "text",
        "\u2028",
      ),
      { maxLength: 30 },
    )
    .map((pieces) => pieces.join("")),
);

test("[E3] no text can forge a block, end one, or hide one", () => {
  fc.assert(
    fc.property(
      fc.array(hostile, { maxLength: 4 }),
      fc.array(hostile, { maxLength: 3 }),
      hostile,
      (chunks, files, path) => {
        const block = contextBlock(
          chunks.map((text) => ({ ...chunk, text, path, language: path })),
          files.map((text) => ({ ...file, text, path, language: path })),
        );
        if (block === null) return;
        const read = readBlocks(block);
        assert.deepEqual(
          read.map(({ kind, number }) => `${kind} ${number}`),
          [...chunks.map((_, index) => `CHUNK ${index + 1}`), ...files.map((_, index) => `FILE ${index + 1}`)],
        );
        [...chunks, ...files].forEach((text, index) => assert.equal(read[index]?.text, text.replace(/\n$/, "")));
      },
    ),
  );
});

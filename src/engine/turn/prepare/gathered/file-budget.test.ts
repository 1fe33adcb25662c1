import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { testEngine } from "../../../../../testing/engine.ts";
import type { ActiveFile } from "../../../../domain/active-file.ts";
import { limits } from "../../../../domain/limits.ts";
import type { FinishedTurn } from "../../../../domain/turn.ts";
import { tokensOf, waitingFiles } from "./file-budget.ts";

function modified(path: string, content: string): ActiveFile {
  return { path, content: Buffer.from(content), sha256: null, isTouched: true };
}

function named(path: string, content: string): ActiveFile {
  return { ...modified(path, content), isTouched: false };
}

function sentFiles({ manifest }: FinishedTurn): string[] {
  return manifest.activeFiles.filter(({ wasSentToLLM }) => wasSentToLLM).map(({ path }) => path);
}

function waits({ warnings }: FinishedTurn): string[] {
  return warnings.filter(({ code }) => code === "active_files_waiting").map(({ message }) => message);
}

/** A file of so many tokens. */
function ofTokens(tokens: number): string {
  return "abc\n".repeat(tokens);
}

test("[X8] sixty large modified files do not make a question fail: what fits is sent, the rest is listed in one line", async (t) => {
  const { ask, provider } = await testEngine(t);
  const files = Array.from({ length: 60 }, (_, at) => modified(`src/file-${at}.ts`, "x".repeat(95_000)));
  const turn = await ask("what is wrong?", { activeFiles: files });
  assert.equal(turn.status, "completed");
  assert.equal(sentFiles(turn).length, 1);
  assert.equal(turn.manifest.skippedFiles.filter(({ reason }) => reason === "over_budget").length, 59);
  assert.equal(waits(turn).length, 1);
  assert.match(
    waits(turn)[0] ?? "",
    /^59 files wait, because 32000 tokens .*src\/file-\d+\.ts \(23810\).* and 51 more$/,
  );
  const message = JSON.stringify(provider.exchanges[0]?.call.items);
  assert.match(message, /\[NOTE\]\\nModified files that were not sent, .* and 51 more/);
  const again = await ask("and now?", { sessionId: turn.sessionId, activeFiles: files });
  assert.deepEqual(waits(again), [], "the same files are listed once");
});

test("[X8] the largest and least related files wait; a file that the caller or the question names does not", async (t) => {
  const deps = { limits: { ...limits, activeFilesTokensMax: 3_500 } };
  const { ask } = await testEngine(t, deps);
  const activeFiles = [
    modified("large.ts", ofTokens(2_000)),
    modified("payment.ts", `${ofTokens(1_000)} refund the customer`),
    modified("small.ts", ofTokens(100)),
    named("named.ts", ofTokens(1_000)),
    modified("asked.ts", ofTokens(1_000)),
  ];
  const turn = await ask("why does the refund of a customer fail in asked.ts?", { activeFiles });
  assert.deepEqual(sentFiles(turn), ["payment.ts", "small.ts", "named.ts", "asked.ts"]);
  const later = await ask("and now?", { sessionId: turn.sessionId, activeFiles });
  assert.deepEqual(sentFiles(later), ["large.ts"], "it has waited");
});

test("[X8] in a tool loop a small edit does not send a large file again; the next instruction does", async (t) => {
  const { ask } = await testEngine(t, {
    script: ({ items }) =>
      items.some(({ type }) => type === "tool_result") ? "done" : [{ calls: "edit", callId: "c1" }],
    conversation: { tools: [{ name: "edit", parameters: { type: "object" } }] },
  });
  const before = modified("large.ts", ofTokens(17_000));
  const first = await ask("edit it", { activeFiles: [before] });
  const after = modified("large.ts", `${ofTokens(17_000)}one line\n`);
  const { sessionId } = first;
  const toolResults = [{ callId: "c1", output: "edited", isError: false }];
  const second = await ask("", { sessionId, toolResults, activeFiles: [after] });
  assert.deepEqual([sentFiles(first), sentFiles(second)], [["large.ts"], []]);
  assert.equal(waits(second).length, 1);
  assert.deepEqual(sentFiles(await ask("go on", { sessionId, activeFiles: [after] })), ["large.ts"]);
});

test("[X8] the files of a small model take a share of its window", async (t) => {
  const { ask } = await testEngine(t, { contextTokens: () => 10_000 });
  const activeFiles = [modified("a.ts", ofTokens(3_000)), modified("b.ts", ofTokens(2_000))];
  assert.deepEqual(sentFiles(await ask("go", { activeFiles })), ["b.ts"]);
});

test("[X8] what is sent fits, and nothing waits that there was room for", () => {
  const file = fc.record({ size: fc.integer({ min: 0, max: 4_000 }), isTouched: fc.boolean() });
  fc.assert(
    fc.property(fc.array(file, { maxLength: 20 }), fc.integer({ min: 0, max: 4_000 }), (sizes, tokensMax) => {
      const files = sizes.map(({ size, isTouched }, at) => {
        const text = "x".repeat(size);
        const facts = {
          path: `${at}.ts`,
          hash: String(at),
          sizeBytes: size,
          isDeleted: false,
          language: "typescript",
          renamedTo: null,
        };
        return { ...facts, isTouched, text, current: text };
      });
      const waiting = waitingFiles(files, { tokensMax, question: "go" });
      const sent = files.filter((one) => !waiting.includes(one));
      const left = tokensMax - sent.reduce((sum, one) => sum + tokensOf(one), 0);
      assert.ok(left >= 0);
      assert.ok(waiting.every((one) => tokensOf(one) > left));
    }),
  );
});

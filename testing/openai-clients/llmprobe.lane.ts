/**
 * `llmprobe`, a public judge of servers behind OpenAI's API and a fork of Open Responses' acceptance suite, against ours (O1). What
 * it counts as unsupported is listed here, so that a later release of it, or of ours, cannot change the list unseen.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { servedOpenAi } from "./server.ts";

const program = fileURLToPath(new URL("node_modules/llmprobe/bin/dist/llmprobe.mjs", import.meta.url));

interface Outcome {
  id: string;
  surface: string;
  outcome: "pass" | "fail" | "unsupported" | "inconclusive" | "skipped";
  reason?: string;
  failures: { label: string; severity: string; message: string }[];
}

/** What this server does not have, and says so by an error that names the parameter. */
const unsupported = [
  "chat-logprobs",
  "chat-n-choices",
  "chat-rate-limit-headers",
  "responses-mcp-tools",
  "responses-rate-limit-headers",
  "responses-reasoning-roundtrip",
];
/** What depends on the model, and says nothing about the server. */
const ofTheModel = /^(chat|responses)-(parallel-tools|reasoning-cap|assistant-prefill|prompt-cach|concurrency)/;

test("[O1] llmprobe finds no fault in chat completions, models and responses", async (t) => {
  const { baseUrl, key } = await servedOpenAi(t);
  const results = (await probe([baseUrl, "--api-key", key, "--model", "scripted-1"])).filter(({ surface }) =>
    ["chat", "models", "responses"].includes(surface),
  );
  const failed = results.filter(({ outcome, id }) => outcome === "fail" && !ofTheModel.test(id));
  assert.deepEqual(failed, []);
  assert.deepEqual(idsOf(results, "unsupported"), unsupported);
  const unclear = idsOf(results, "inconclusive").filter((id) => !ofTheModel.test(id));
  assert.deepEqual(unclear, []);
  assert.deepEqual(idsOf(results, "skipped"), []);
  const passed = idsOf(results, "pass");
  t.diagnostic(`${passed.length} of ${results.length} pass: ${passed.join(" ")}`);
  assert.ok(passed.length >= 40, String(passed.length));
});

function idsOf(results: readonly Outcome[], wanted: Outcome["outcome"]): string[] {
  return results
    .filter(({ outcome }) => outcome === wanted)
    .map(({ id }) => id)
    .toSorted();
}

async function probe(args: string[]): Promise<Outcome[]> {
  const home = mkdtempSync(join(tmpdir(), "aptove-probe-"));
  try {
    const options = ["--full", "--no-bench", "--no-save", "--no-color", "--json", "--timeout", "20"];
    const child = spawn(process.execPath, [program, ...args, ...options], {
      env: { ...process.env, HOME: home },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
    assert.match(output, /^\{/, errors);
    return (JSON.parse(output) as { conformance: { results: Outcome[] } }).conformance.results;
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

/**
 * The official conformance runner of MCP plays the server, and our client has its tools (P5). Every scenario of a client
 * is run except those of OAuth: aptove sends the configured headers, and requests no token.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

const released = ["initialize", "tools_call", "sse-retry", "elicitation-sep1034-client-defaults"];
const newest = [
  "tools_call",
  "request-metadata",
  "sep-2322-client-request-state",
  "http-standard-headers",
  "http-custom-headers",
  "http-invalid-tool-headers",
  "json-schema-ref-no-deref",
  "json-schema-2020-12-preservation",
];

for (const scenario of released) {
  test(`[P5] MCP conformance: ${scenario}`, () => passes("conformance", ["--scenario", scenario]));
}
for (const scenario of newest) {
  const args = ["--scenario", scenario, "--spec-version", "2026-07-28"];
  test(`[P5] MCP conformance, 2026-07-28: ${scenario}`, () => passes("conformance-next", args));
}

async function passes(runner: string, args: string[]): Promise<void> {
  const command = `${process.execPath} ${here("client.ts")}`;
  const main = here(`node_modules/${runner}/dist/index.js`);
  const child = spawn(process.execPath, [main, "client", "--command", command, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [stdout, stderr, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((resolve) => child.once("close", resolve)),
  ]);
  assert.equal(code, 0, `${stdout}\n${stderr}`);
  // A runner that checked nothing did not pass.
  assert.match(stdout + stderr, /Passed: [1-9]\d*\/\d+, 0 failed, 0 warnings/);
}

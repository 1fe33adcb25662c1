/** Runs the official conformance runner of MCP. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

/** `runner`: the released one, or the one of the newest version of the protocol. Throws if a check failed, or if there was none. */
export async function passes(runner: "conformance" | "conformance-next", args: readonly string[]): Promise<void> {
  const main = fileURLToPath(new URL(`node_modules/${runner}/dist/index.js`, import.meta.url));
  const child = spawn(process.execPath, [main, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  const [stdout, stderr, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((resolve) => child.once("close", resolve)),
  ]);
  assert.equal(code, 0, `${stdout}\n${stderr}`);
  // A runner that checked nothing did not pass.
  assert.match(stdout + stderr, /Passed: [1-9]\d*\/\d+, 0 failed, 0 warnings/);
}

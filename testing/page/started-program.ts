/** `aptove start` in a small repository, as `npm start` runs it, and the address that it prints. */
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { temporaryFolder } from "../temporary-folder.ts";

export interface StartedProgram {
  address: string;
  url: string;
  /** Kills the server at once. */
  kill(): Promise<void>;
  /** Starts it again on the same data and port. */
  again(): Promise<StartedProgram>;
}

const bin = fileURLToPath(new URL("../../bin/aptove", import.meta.url));

export async function startedProgram(
  t: TestContext,
  { env = {}, folder, port = 0 }: { env?: Record<string, string>; folder?: string; port?: number } = {},
): Promise<StartedProgram> {
  const at = folder ?? (await temporaryFolder(t));
  const [copy, dataDir] = [join(at, "copy"), join(at, "data")];
  if (folder === undefined) makeRepository(copy);
  const { PATH = "", TMPDIR } = process.env;
  const own = { PATH, HOME: at, APTOVE_DATA_DIR: dataDir, ...(TMPDIR !== undefined && { TMPDIR }), ...env };
  const child = spawn(bin, ["start", "--port", String(port), "--no-open"], { cwd: copy, env: own });
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  };
  t.after(kill);
  let output = "";
  for await (const piece of child.stdout) {
    output += String(piece);
    if (output.includes("Ctrl-C stops")) break;
  }
  const address = /http:\S+#code=\S+/.exec(output)?.[0] ?? assert.fail(output);
  const url = new URL(address).origin;
  const again = (): Promise<StartedProgram> => startedProgram(t, { env, folder: at, port: Number(new URL(url).port) });
  return { address, url, kill, again };
}

function makeRepository(copy: string): void {
  mkdirSync(join(copy, "src"), { recursive: true });
  const greet =
    "/** Returns how a user is greeted. */\nexport function greet(name: string): string {\n  return `hello ${name}`;\n}\n";
  writeFileSync(join(copy, "src", "greet.ts"), greet);
  writeFileSync(join(copy, "README.md"), "# Greeter\n\nGreets users by their name.\n");
  const who = ["-c", "user.name=Test", "-c", "user.email=test@example.com"];
  for (const args of [
    ["init", "-q"],
    ["add", "."],
    ["commit", "-qm", "start"],
  ]) {
    execFileSync("git", [...who, ...args], { cwd: copy, stdio: "ignore" });
  }
}

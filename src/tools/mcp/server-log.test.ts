import assert from "node:assert/strict";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../../../testing/temporary-folder.ts";
import { limits } from "../../domain/limits.ts";
import { serverLog } from "./server-log.ts";

const hide = (text: string): string => text.replaceAll("secret", "***");

test("[P5] a log has the events with their time and the server's lines, without secrets, for its owner only", async (context) => {
  const folder = join(await temporaryFolder(context), "mcp");
  const log = serverLog({ folder, name: "files", hide, now: () => 0 });
  log.event("ready\nwith a secret");
  log.stderr("listening, secret\n");
  const file = join(folder, "files.log");
  assert.equal(await readFile(file, "utf8"), "1970-01-01T00:00:00.000Z ready with a ***\nlistening, ***\n");
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  assert.equal((await stat(folder)).mode & 0o777, 0o700);
});

test("[P5] a log has no control characters of the server, so that it can be read in a terminal", async (context) => {
  const folder = await temporaryFolder(context);
  const log = serverLog({ folder, name: "loud", hide, now: () => 0 });
  log.event("ended: \u001b]0;title\u0007");
  log.stderr("a\u001b[2J\tb\u202e\r\nc\n");
  const text = await readFile(join(folder, "loud.log"), "utf8");
  assert.equal(text, "1970-01-01T00:00:00.000Z ended: \\u001b]0;title\\u0007\na\\u001b[2J\tb\\u202e\nc\n");
});

test("[P5] a log is limited in size over all sessions, and the previous one is kept", async (context) => {
  const folder = await temporaryFolder(context);
  const chunk = `${"x".repeat(99_999)}\n`;
  for (let session = 0; session < 2; session += 1) {
    const log = serverLog({ folder, name: "loud", hide, now: () => 0 });
    for (let at = 0; at < 30; at += 1) log.stderr(chunk);
    log.stderr("y".repeat(5_000_000));
  }
  assert.deepEqual((await readdir(folder)).toSorted(), ["loud.log", "loud.log.1"]);
  for (const name of ["loud.log", "loud.log.1"]) {
    assert.equal((await stat(join(folder, name))).size <= limits.mcpLogBytesMax, true);
  }
});

test("[P5] a log that cannot be written does not fail the session", async (context) => {
  const folder = join(await temporaryFolder(context), "mcp");
  serverLog({ folder: null, name: "a", hide, now: () => 0 }).event("nowhere");
  serverLog({ folder, name: "a", hide, now: () => 0 }).event("a file");
  const inFile = serverLog({ folder: join(folder, "a.log"), name: "b", hide, now: () => 0 });
  inFile.event("a folder cannot be there");
  inFile.stderr("and it says nothing of it");
  assert.deepEqual(await readdir(folder), ["a.log"]);
});

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readdir, readFile, stat, symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { suite, test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { hasCode } from "../../../testing/refusals.ts";
import { textDelta } from "../../../testing/live-log.ts";
import { eventOfNumber } from "../../../testing/children/append-events.ts";
import { runOnSmallDisk } from "../../../testing/small-disk.ts";
import { temporaryFolder } from "../../../testing/temporary-folder.ts";
import type { SequencedEvent } from "../../domain/events.ts";
import { newId } from "../../domain/ids.ts";
import { limits } from "../../domain/limits.ts";
import type { EventLog } from "../event-log.ts";
import { eventLogSuite } from "../event-log.suite.ts";
import { fileEventLog } from "./file-event-log.ts";

const child = (name: string): string => fileURLToPath(new URL(`../../../testing/children/${name}`, import.meta.url));

async function openFolder(context: TestContext) {
  const folder = join(await temporaryFolder(context), "live");
  const open = (): EventLog => {
    const log = fileEventLog({ folder });
    context.after(() => log.close());
    return log;
  };
  return { folder, open };
}

eventLogSuite("the live log in files", async (context) => {
  const { open } = await openFolder(context);
  return { log: open(), reopen: open };
});

/** Returns the first events that the child `append-events.ts` appends. */
function firstEvents(count: number): SequencedEvent[] {
  return Array.from({ length: count }, (_, index) => ({ seq: index + 1, event: eventOfNumber(index + 1) }));
}

suite("the files of the live log", () => {
  test("[V2] [B6] a running turn is one file of lines, 0600 in a folder 0700, and drop deletes it", async (context) => {
    const { folder, open } = await openFolder(context);
    const log = open();
    const turnId = newId();
    await log.append(turnId, [textDelta("one\n"), textDelta("two")]);
    const file = join(folder, `${turnId}.ndjson`);
    const lines = (await readFile(file, "utf8")).split("\n");
    assert.deepEqual(lines, [JSON.stringify(textDelta("one\n")), JSON.stringify(textDelta("two")), ""]);
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    assert.equal((await stat(folder)).mode & 0o777, 0o700);
    await log.drop(turnId);
    assert.deepEqual(await readdir(folder), []);
  });

  test("[R1] a turn that another process ended and dropped is neither waited for without end nor kept open", async (context) => {
    const { open } = await openFolder(context);
    const [log, other] = [open(), open()];
    const turnId = newId();
    await log.append(turnId, [textDelta("one")]);
    await other.drop(turnId);
    context.mock.timers.enable({ apis: ["setTimeout"] });
    const waited = log.wait(turnId, 1, new AbortController().signal);
    context.mock.timers.tick(limits.livePollWithWakeUpsMs);
    await waited;
    assert.deepEqual(await log.list(), [turnId]);
    await log.drop(turnId);
    assert.deepEqual([await log.list(), await log.read(turnId, 0)], [[], null]);
  });

  test("[R2] wherever a crash cut the file off, an unbroken beginning is read, and a new process continues after it", async (context) => {
    const { folder, open } = await openFolder(context);
    const events = [textDelta("é\u2028"), textDelta("two"), textDelta("three")];
    const lines = events.map((event) => Buffer.from(`${JSON.stringify(event)}\n`));
    const bytes = Buffer.concat(lines);
    const writer = open();
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      const turnId = newId();
      await writer.append(turnId, events);
      await truncate(join(folder, `${turnId}.ndjson`), cut);
      const whole = lines.filter((_, index) => Buffer.concat(lines.slice(0, index + 1)).length <= cut).length;
      const expected = events.slice(0, whole).map((event, index) => ({ seq: index + 1, event }));
      const reader = open();
      assert.deepEqual(await reader.read(turnId, 0), expected, `cut at ${cut}`);
      const successor = open();
      await successor.append(turnId, [textDelta("after")]);
      expected.push({ seq: whole + 1, event: textDelta("after") });
      assert.deepEqual(await successor.read(turnId, 0), expected, `cut at ${cut}`);
      assert.deepEqual(await reader.read(turnId, whole), expected.slice(whole), `cut at ${cut}`);
      await writer.drop(turnId);
    }
  });

  test("[R2] whatever power loss leaves after the last line is ignored", async (context) => {
    const { folder, open } = await openFolder(context);
    for (const rest of [
      "\0\0\0\0",
      "\0\0\n\0\n",
      "null\n",
      "{}\n",
      '"text"\n',
      '{"type":3}\n',
      '{"type":"text_delta"',
    ]) {
      const turnId = newId();
      const line = `${JSON.stringify(textDelta("one"))}\n`;
      const reader = open();
      await writeFile(join(folder, `${turnId}.ndjson`), line + rest);
      assert.deepEqual(await reader.read(turnId, 0), [{ seq: 1, event: textDelta("one") }], JSON.stringify(rest));
      const successor = open();
      await successor.append(turnId, [textDelta("two")]);
      assert.equal(
        await readFile(join(folder, `${turnId}.ndjson`), "utf8"),
        `${line}${JSON.stringify(textDelta("two"))}\n`,
      );
    }
  });

  test("[R2] [B4] after kill -9 of a process whose turn is followed, the follower has an unbroken beginning with everything that was acknowledged", async (context) => {
    const { folder, open } = await openFolder(context);
    for (const acksBeforeKill of [1, 30, 90]) {
      const turnId = newId();
      const appender = spawn(process.execPath, [child("append-events.ts"), folder, turnId], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      const log = open();
      const followed: SequencedEvent[] = [];
      const ended = new AbortController();
      const follower = (async () => {
        while (!ended.signal.aborted) {
          followed.push(...((await log.read(turnId, followed.length)) ?? []));
          await log.wait(turnId, followed.length, ended.signal);
        }
      })();
      const acknowledged: number[] = [];
      for await (const line of createInterface({ input: appender.stdout })) {
        if (acknowledged.push(Number(line)) === acksBeforeKill) appender.kill("SIGKILL");
      }
      ended.abort();
      await follower;
      followed.push(...((await log.read(turnId, followed.length)) ?? []));
      assert.ok(followed.length >= (acknowledged.at(-1) ?? Infinity), "what was acknowledged is missing");
      assert.deepEqual(followed, firstEvents(followed.length));
      assert.deepEqual(await open().read(turnId, 0), followed);
    }
  });

  test("[B1] a full disk is storage_full; the log stays unbroken and continues when there is room", (context) =>
    runOnSmallDisk(context, child("fill-live-log.ts"), "size=500k"));

  test("[V2] a symbolic link is neither read nor written through", async (context) => {
    const { folder, open } = await openFolder(context);
    const log = open();
    const turnId = newId();
    const target = join(folder, "..", "target");
    await writeFile(target, "");
    await symlink(target, join(folder, `${turnId}.ndjson`));
    await assert.rejects(log.read(turnId, 0), hasCode("storage_failed"));
    await assert.rejects(log.append(turnId, [textDelta("one")]), hasCode("storage_failed"));
    assert.equal(await readFile(target, "utf8"), "");
  });

  test("[V2] a folder that cannot be created is refused when the log is opened", async (context) => {
    const file = join(await temporaryFolder(context), "file");
    await writeFile(file, "");
    assert.throws(() => fileEventLog({ folder: join(file, "live") }), hasCode("storage_failed"));
  });
});

/**
 * A test cannot cause a power loss, but it can see what the kernel was asked to do, and when. These tests watch the system
 * calls of a process that puts blobs, and make some of them fail (B3).
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { suite, test } from "node:test";
import { childPath } from "../../../testing/children/path.ts";
import { blobOfKey, keysOfVersion } from "../../../testing/children/put-blobs.ts";
import { temporaryFolder } from "../../../testing/temporary-folder.ts";
import { fileBlobs } from "./file-blobs.ts";

const child = childPath("put-blobs.ts");

const needsStrace = "strace is not installed, or may not trace here";

/** Runs the child that puts blobs under strace. Returns null if that is not possible. */
function strace(options: string[], args: string[]) {
  const run = spawnSync("strace", ["-f", ...options, process.execPath, child, ...args], { encoding: "utf8" });
  return run.error !== undefined || /^(?:\S*\/)?strace: /m.test(run.stderr) ? null : run;
}

interface Call {
  name: string;
  /** The paths and texts among its arguments. */
  texts: string[];
  /** The positions of its start and end in the order in which the kernel saw them. */
  start: number;
  end: number;
}

/** Reads the output of `strace -f`: a call is on one line, or starts on one (`<unfinished ...>`) and ends on another. */
function readCalls(trace: string): Call[] {
  const unfinished = new Map<string, Call>();
  return trace.split("\n").flatMap((line, at) => {
    const [, pid = "", rest = ""] = /^(\d+)\s+(.*)$/.exec(line) ?? [];
    const resumed = unfinished.get(pid);
    if (rest.startsWith("<...") && resumed !== undefined) {
      resumed.end = at;
      return [];
    }
    const [, name = "", argumentsText = ""] = /^(\w+?)(?:at2?)?\((.*)$/.exec(rest) ?? [];
    const texts = [...argumentsText.matchAll(/"((?:[^"\\]|\\.)*)"|<(\/[^>]*)>/g)].map(
      (found) => found[1] ?? found[2] ?? "",
    );
    const call = { name, texts, start: at, end: rest.includes("<unfinished ...>") ? Infinity : at };
    if (call.end === Infinity) unfinished.set(pid, call);
    return name === "" ? [] : [call];
  });
}

suite("the order of a put", () => {
  test("[B3] [K2] bytes are synced before they get their name, and every parent folder before the put is acknowledged", async (context) => {
    const folder = await temporaryFolder(context);
    const traceFile = join(folder, "trace");
    const options = ["-y", "-s", "4096", "-e", "trace=/^(fsync|link.*|mkdir.*|write)$", "-o", traceFile];
    const run = strace(options, [folder, "1", "4"]);
    if (run === null) return context.skip(needsStrace);
    assert.equal(run.status, 0, run.stderr);
    const calls = readCalls(await readFile(traceFile, "utf8"));

    /** Asserts that a path was synced between two calls. */
    const assertSynced = (path: string, from: Call, to: Call): void => {
      const isBetween = (call: Call): boolean => call.start > from.end && call.end < to.start;
      const syncs = calls.filter(({ name, texts }) => name === "fsync" && texts.includes(path));
      assert.ok(syncs.some(isBetween), `${path} is not synced between ${from.name} and ${to.name}`);
    };

    const acks = calls.filter(
      ({ name, texts }) => name === "write" && /^turns\/\d\/\w+-\d+\\n$/.test(texts.at(-1) ?? ""),
    );
    assert.equal(acks.length, 12, "three blobs of four versions");
    for (const ack of acks) {
      const file = join(folder, "blobs", ack.texts.at(-1)?.replace("\\n", "") ?? "");
      const link = calls.findLast(
        ({ name, texts, end }) => name === "link" && texts.at(-1) === file && end < ack.start,
      );
      assert.ok(link !== undefined, `${file} was never linked to its name`);
      const aside = link.texts.at(-2) ?? "";
      assert.equal(dirname(aside), join(folder, "blobs", "~aside"));
      const written = calls.findLast(
        ({ name, texts, end }) => name === "write" && texts.includes(aside) && end < link.start,
      );
      assert.ok(written !== undefined, "nothing was written");
      assertSynced(aside, written, link);
      assertSynced(dirname(file), link, ack);
      for (let at = dirname(file); at !== folder; at = dirname(at)) {
        const made = calls.find(
          ({ name, texts, start }) => name === "mkdir" && texts.includes(at) && start < ack.start,
        );
        assert.ok(made !== undefined, `${at} was never made`);
        assertSynced(dirname(at), made, ack);
      }
    }
  });
});

suite("a put that fails", () => {
  // Some file systems allocate blocks only when they are written out, so a full disk or quota shows at the sync.
  const faults = [
    { call: "fsync", error: "ENOSPC", code: "storage_full" },
    { call: "fsync", error: "EDQUOT", code: "storage_full" },
    { call: "fsync", error: "EIO", code: "storage_failed" },
    // On a file system without links the file is renamed, and that fails here too.
    { call: "(link|rename)", error: "EIO", code: "storage_failed" },
  ];
  for (const { call, error, code } of faults) {
    test(`[B3] ${error} at ${call} is ${code}: nothing is acknowledged, and existing blobs stay`, async (context) => {
      const folder = await temporaryFolder(context);
      const store = fileBlobs({ folder: join(folder, "blobs") });
      const kept = keysOfVersion(1);
      for (const key of kept) await store.put(key, blobOfKey(key));
      const options = ["-o", join(folder, "trace"), "-e", `inject=/^${call}.*:error=${error}`];
      const run = strace(options, [folder, "2", "2"]);
      if (run === null) return context.skip(needsStrace);
      assert.match(run.stderr, new RegExp(`code: '${code}'`));
      assert.equal(run.stdout, "");
      assert.deepEqual((await store.list("")).toSorted(), kept.toSorted());
      for (const key of kept) assert.deepEqual(await store.get(key), blobOfKey(key), key);
    });
  }
});

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { appendFileSync, statSync } from "node:fs";
import { mkdir, readdir, readFile, stat, symlink, truncate, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { suite, test, type TestContext } from "node:test";
import { messagesOf } from "../../../testing/children/finish-turns.ts";
import { childPath } from "../../../testing/children/path.ts";
import { temporaryFolder } from "../../../testing/temporary-folder.ts";
import { newId } from "../../domain/ids.ts";
import { dataFolderAt } from "../../configuration/data-folder.ts";
import { transcriptStoreSuite, type OpenTranscripts } from "../transcript-store.suite.ts";
import { asideName, currentName, notesName, type TranscriptFile } from "../transcript-store.ts";
import { parseTranscript } from "../transcript/format.ts";
import { fileTranscripts } from "./file-transcripts.ts";
import { fileWorkspaces } from "./file-workspaces.ts";

async function openFiles(context: TestContext): Promise<OpenTranscripts> {
  const data = dataFolderAt(await temporaryFolder(context));
  const workspaceIds: [string, string] = ["default", randomUUID()];
  for (const id of workspaceIds) await mkdir(join(data.workspaces, id), { recursive: true, mode: 0o700 });
  const reopen = () => fileTranscripts(data);
  return { store: reopen(), reopen, workspaceIds, missingId: randomUUID() };
}

transcriptStoreSuite("transcripts in files", openFiles);

async function openDefault(context: TestContext) {
  const data = dataFolderAt(await temporaryFolder(context));
  await fileWorkspaces(data).create({ id: "default", at: 0 });
  return { store: fileTranscripts(data), data, folder: join(data.workspaces, "default") };
}

const child = childPath("finish-turns.ts");

interface Writing {
  first: number;
  /** Absent: until it is killed. */
  last?: number;
  /** With `kill -9`, as soon as this turn is written. */
  killAt?: number;
}

/** Writes turns in a process of its own; gives the last one that it said was written. */
async function writeTurns(folder: string, session: string, { first, last, killAt }: Writing): Promise<number> {
  const given = [first, ...(last === undefined ? [] : [last])].map(String);
  const writer = spawn(process.execPath, [child, folder, session, ...given], { stdio: ["ignore", "pipe", "inherit"] });
  let written = 0;
  for await (const line of createInterface({ input: writer.stdout })) {
    written = Number(line);
    if (written === killAt) writer.kill("SIGKILL");
  }
  return written;
}

const content = Buffer.from("## User\n\nhi\n");
const sessionId = "0198c2a7-1111-7000-8000-000000000001";

suite("the files of transcripts", () => {
  test("[W1] [B6] they lie in the folder of their workspace, 0600, and what is aside in a folder 0700", async (context) => {
    const { store, folder } = await openDefault(context);
    for (const name of [currentName, notesName, asideName(sessionId)]) {
      await store.write("default", name, { content });
      assert.deepEqual(await readFile(join(folder, name)), content);
      assert.equal((await stat(join(folder, name))).mode & 0o777, 0o600);
    }
    assert.equal((await stat(join(folder, "sessions"))).mode & 0o777, 0o700);
    assert.deepEqual(await readdir(join(folder, "sessions")), [`${sessionId}.md`]);
  });

  test("[B3] what a killed writer left is neither read nor in the way", async (context) => {
    const { store, folder } = await openDefault(context);
    await writeFile(join(folder, `${currentName}.new`), "torn");
    const before = await store.read("default", currentName);
    assert.equal(before?.content?.length, 0);
    await store.write("default", currentName, { content });
    assert.deepEqual((await store.read("default", currentName))?.content, content);
    assert.ok(!(await readdir(folder)).includes(`${currentName}.new`));
    await writeFile(join(folder, `${notesName}.new`), "torn");
    await store.removeAll("default");
    assert.ok(!(await readdir(folder)).some((name) => name.includes(notesName) || name.includes(currentName)));
    assert.ok((await readdir(folder)).includes("workspace.toml"));
  });

  test("[W5] a change that sets back size and time is told", async (context) => {
    const { store, folder } = await openDefault(context);
    const written = await store.write("default", currentName, { content });
    const path = join(folder, currentName);
    const { atime, mtime } = await stat(path);
    await writeFile(path, "## User\n\nHI\n");
    await utimes(path, atime, mtime);
    assert.notEqual((await store.stat("default", currentName))?.stamp, written?.stamp);
  });

  test("[W5] an edit that comes while a change is made durable is told from that change", async (context) => {
    const { store, folder } = await openDefault(context);
    const path = join(folder, currentName);
    const edited = async (changing: Promise<TranscriptFile | null>, isThere: () => boolean): Promise<void> => {
      do await new Promise((resolve) => setImmediate(resolve));
      while (!isThere());
      appendFileSync(path, "## User\n\nby hand\n");
      const ours = await changing;
      assert.notEqual((await store.stat("default", currentName))?.stamp, ours?.stamp);
    };
    const size = (): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    await edited(store.write("default", currentName, { content }), () => size() === content.length);
    const { stamp = "" } = (await store.stat("default", currentName)) ?? {};
    const before = size();
    await edited(store.append("default", currentName, { stamp, content }), () => size() > before);
    await store.write("default", asideName(sessionId), { content });
    await store.remove("default", currentName);
    await edited(store.move("default", asideName(sessionId), currentName), () => size() > 0);
  });

  test("[W5] 100 MB, a folder and a link are told from a transcript without reading them", async (context) => {
    const { store, folder } = await openDefault(context);
    const path = join(folder, currentName);
    await truncate(path, 100_000_000);
    const memory = process.memoryUsage().arrayBuffers;
    const large = await store.read("default", currentName);
    assert.equal(large?.bytes, 100_000_000);
    assert.equal(large.content, null);
    assert.ok(process.memoryUsage().arrayBuffers - memory < 10_000_000);
    await store.remove("default", currentName);
    await mkdir(path);
    assert.equal((await store.read("default", currentName))?.content, null);
    await store.remove("default", currentName);
    const target = join(folder, "workspace.toml");
    const text = await readFile(target, "utf8");
    await symlink(target, path);
    const link = await store.read("default", currentName);
    assert.equal(link?.content, null);
    await assert.rejects(store.append("default", currentName, { stamp: link.stamp, content }));
    await store.write("default", currentName, { content });
    assert.equal(await readFile(target, "utf8"), text);
    assert.deepEqual(await readFile(path), content);
  });

  test("[W4] [B4] two processes, one of them killed again and again, lose no line of two sessions", async (context) => {
    const { store, data, folder } = await openDefault(context);
    const [steady, killed] = [newId(), newId()];
    const dying = async (): Promise<number> => {
      let written = 0;
      for (const killAt of [2, 15]) {
        written = await writeTurns(data.dir, killed, { first: written + 1, killAt: written + killAt });
      }
      return await writeTurns(data.dir, killed, { first: written + 1, last: written + 1 });
    };
    const counts = await Promise.all([writeTurns(data.dir, steady, { first: 1, last: 40 }), dying()]);
    const current = JSON.parse(await readFile(join(folder, notesName), "utf8")) as { current: string };
    for (const [index, session] of [steady, killed].entries()) {
      const name = session === current.current ? currentName : asideName(session);
      const parsed = parseTranscript((await store.read("default", name))?.content ?? Buffer.from(""));
      assert.ok(parsed.kind === "transcript");
      const expected = Array.from({ length: counts[index] ?? 0 }, (_, at) => messagesOf(session, at + 1));
      assert.deepEqual(parsed.messages, expected.flat());
    }
    assert.deepEqual(
      (await readdir(folder)).filter((name) => name.includes("edited") || name.includes("unreadable")),
      [],
    );
  });
});

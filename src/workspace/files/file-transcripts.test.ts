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
import {
  asideTranscriptName,
  currentTranscriptName,
  transcriptNotesName,
  type TranscriptFile,
} from "../transcript-store.ts";
import { parseTranscript } from "../transcript/format.ts";
import { parseNotes } from "../transcript/notes.ts";
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
  /** The number of the last turn. Absent: the process writes until it is killed. */
  last?: number;
  /** The turn after which the process is killed with `kill -9`. */
  killAt?: number;
}

/** Writes turns in another process. Returns the last turn that it reported as written. */
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
  test("[W1] [B6] they are in the folder of their workspace, 0600, and those of other sessions in a folder 0700", async (context) => {
    const { store, folder } = await openDefault(context);
    for (const name of [currentTranscriptName, transcriptNotesName, asideTranscriptName(sessionId)]) {
      await store.write("default", name, { content });
      assert.deepEqual(await readFile(join(folder, name)), content);
      assert.equal((await stat(join(folder, name))).mode & 0o777, 0o600);
    }
    assert.equal((await stat(join(folder, "sessions"))).mode & 0o777, 0o700);
    assert.deepEqual(await readdir(join(folder, "sessions")), [`${sessionId}.md`]);
  });

  test("[B3] the temporary file of a killed writer is not read and does not block the next one", async (context) => {
    const { store, folder } = await openDefault(context);
    await writeFile(join(folder, `${currentTranscriptName}.new`), "torn");
    const before = await store.read("default", currentTranscriptName);
    assert.equal(before?.content?.length, 0);
    await store.write("default", currentTranscriptName, { content });
    assert.deepEqual((await store.read("default", currentTranscriptName))?.content, content);
    assert.ok(!(await readdir(folder)).includes(`${currentTranscriptName}.new`));
    await writeFile(join(folder, `${transcriptNotesName}.new`), "torn");
    await store.removeAll("default");
    assert.ok(
      !(await readdir(folder)).some(
        (name) => name.includes(transcriptNotesName) || name.includes(currentTranscriptName),
      ),
    );
    assert.ok((await readdir(folder)).includes("workspace.toml"));
  });

  test("[W5] a change with the old size and time is noticed", async (context) => {
    const { store, folder } = await openDefault(context);
    const written = await store.write("default", currentTranscriptName, { content });
    const path = join(folder, currentTranscriptName);
    const { atime, mtime } = await stat(path);
    await writeFile(path, "## User\n\nHI\n");
    await utimes(path, atime, mtime);
    assert.notEqual((await store.stat("default", currentTranscriptName))?.stamp, written?.stamp);
  });

  test("[W5] an edit during a write to the disk is distinguished from that write", async (context) => {
    const { store, folder } = await openDefault(context);
    const path = join(folder, currentTranscriptName);
    const edited = async (changing: Promise<TranscriptFile | null>, isThere: () => boolean): Promise<void> => {
      do await new Promise((resolve) => setImmediate(resolve));
      while (!isThere());
      appendFileSync(path, "## User\n\nby hand\n");
      const ours = await changing;
      assert.notEqual((await store.stat("default", currentTranscriptName))?.stamp, ours?.stamp);
    };
    const size = (): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    await edited(store.write("default", currentTranscriptName, { content }), () => size() === content.length);
    const { stamp = "" } = (await store.stat("default", currentTranscriptName)) ?? {};
    const before = size();
    await edited(store.append("default", currentTranscriptName, { stamp, content }), () => size() > before);
    await store.write("default", asideTranscriptName(sessionId), { content });
    await store.remove("default", currentTranscriptName);
    await edited(store.move("default", asideTranscriptName(sessionId), currentTranscriptName), () => size() > 0);
  });

  test("[W5] 100 MB, a folder and a link are recognized without reading them", async (context) => {
    const { store, folder } = await openDefault(context);
    const path = join(folder, currentTranscriptName);
    await truncate(path, 100_000_000);
    const memory = process.memoryUsage().arrayBuffers;
    const large = await store.read("default", currentTranscriptName);
    assert.equal(large?.bytes, 100_000_000);
    assert.equal(large.content, null);
    assert.ok(process.memoryUsage().arrayBuffers - memory < 10_000_000);
    await store.remove("default", currentTranscriptName);
    await mkdir(path);
    assert.equal((await store.read("default", currentTranscriptName))?.content, null);
    await store.remove("default", currentTranscriptName);
    const target = join(folder, "workspace.toml");
    const text = await readFile(target, "utf8");
    await symlink(target, path);
    const link = await store.read("default", currentTranscriptName);
    assert.equal(link?.content, null);
    await assert.rejects(store.append("default", currentTranscriptName, { stamp: link.stamp, content }));
    await store.write("default", currentTranscriptName, { content });
    assert.equal(await readFile(target, "utf8"), text);
    assert.deepEqual(await readFile(path), content);
  });

  test("[W4] [B4] two processes, one of them killed repeatedly, lose no line of two sessions", async (context) => {
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
    const stored = parseNotes(await readFile(join(folder, transcriptNotesName)));
    for (const [index, session] of [steady, killed].entries()) {
      const name = session === stored?.notes.current ? currentTranscriptName : asideTranscriptName(session);
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

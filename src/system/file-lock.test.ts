import assert from "node:assert/strict";
import { spawn, type ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, readlinkSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { test, type TestContext } from "node:test";
import { childPath } from "../../testing/children/path.ts";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import { FileLockFailure, FileLockTimeout, withFileLock as lock, type LockOptions } from "./file-lock.ts";
import { systemCode } from "./system-error.ts";

const holder = childPath("hold-lock.ts");

type Holder = ChildProcessByStdio<null, Readable, null>;

function startHolder(context: TestContext, args: string[]): Holder {
  const child = spawn(process.execPath, [holder, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  context.after(() => child.kill("SIGKILL"));
  return child;
}

/** Starts a process that holds the lock until it is killed. */
async function holding(context: TestContext, path: string): Promise<Holder> {
  const child = startHolder(context, [path]);
  const { value } = await createInterface({ input: child.stdout })[Symbol.asyncIterator]().next();
  assert.equal(value, "held");
  return child;
}

/** Runs the body under the lock, and waits for it as long as a slow machine needs. */
function withFileLock<T>(path: string, body: () => T | Promise<T>, options: Partial<LockOptions> = {}): Promise<T> {
  return lock(path, body, { waitMsMax: 10_000, ...options });
}

const never = (): never => assert.fail("the body ran without the lock");

test("[B4] the body's outcome is the lock's, and the lock is free after a failure", async (t) => {
  const path = join(await temporaryFolder(t), "locks", "a.lock");
  assert.equal(await withFileLock(path, async () => 7), 7);
  await assert.rejects(
    withFileLock(path, () => Promise.reject(new Error("its own"))),
    { message: "its own" },
  );
  assert.equal(await withFileLock(path, () => "again"), "again");
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.equal(statSync(join(path, "..")).mode & 0o777, 0o700);
});

test("[B4] callers of one process are served in line, and different locks do not wait for each other", async (t) => {
  const folder = await temporaryFolder(t);
  const [path, other] = [join(folder, "a.lock"), join(folder, "b.lock")];
  const served: string[] = [];
  const { promise: mayGo, resolve: go } = Promise.withResolvers<void>();
  const first = withFileLock(path, async () => {
    served.push("1 in");
    await mayGo;
    served.push("1 out");
  });
  // The same file, written in another way, is the same lock.
  const rest = [2, 3, 4].map((name) =>
    withFileLock(`${folder}/./x/../a.lock`, async () => {
      served.push(`${name} in`);
      await Promise.resolve();
      served.push(`${name} out`);
    }),
  );
  await withFileLock(other, () => served.push("other"));
  go();
  await Promise.all([first, ...rest]);
  assert.deepEqual(
    served.filter((entry) => entry !== "other"),
    ["1 in", "1 out", "2 in", "2 out", "3 in", "3 out", "4 in", "4 out"],
  );
  assert.ok(served.indexOf("other") < served.indexOf("1 out"));
});

test("[B4] a caller that waits too long gets an error, and does not hold up those behind", async (t) => {
  const path = join(await temporaryFolder(t), "a.lock");
  const { promise: mayGo, resolve: go } = Promise.withResolvers<void>();
  const first = withFileLock(path, () => mayGo);
  const impatient = withFileLock(path, never, { waitMsMax: 5 });
  const patient = withFileLock(path, () => "served");
  await assert.rejects(impatient, (error) => {
    assert.ok(error instanceof FileLockTimeout, String(error));
    assert.deepEqual([error.file, error.waitedMs], [path, 5]);
    return true;
  });
  go();
  await first;
  assert.equal(await patient, "served");
});

test("[B4] waiting ends with the reason of its signal, in line and before another process", async (t) => {
  const path = join(await temporaryFolder(t), "a.lock");
  await assert.rejects(withFileLock(path, never, { signal: AbortSignal.abort("stop") }), (reason) => reason === "stop");
  await holding(t, path);
  const [first, second] = [new AbortController(), new AbortController()];
  const [looking, inLine] = [first, second].map(({ signal }) => withFileLock(path, never, { signal }));
  second.abort("in line");
  await assert.rejects(
    async () => await inLine,
    (reason) => reason === "in line",
  );
  first.abort("before the other");
  await assert.rejects(
    async () => await looking,
    (reason) => reason === "before the other",
  );
});

test("[B4] a lock that another process has is waited for, and is free when that one is killed", async (t) => {
  const path = join(await temporaryFolder(t), "a.lock");
  const other = await holding(t, path);
  await assert.rejects(withFileLock(path, never, { waitMsMax: 30 }), FileLockTimeout);
  const waiting = withFileLock(path, () => "mine");
  other.kill("SIGKILL");
  assert.equal(await waiting, "mine");
});

test("[B4] nothing that several processes do under the lock is lost", async (t) => {
  const folder = await temporaryFolder(t);
  const [path, file] = [join(folder, "a.lock"), join(folder, "number")];
  writeFileSync(file, "0");
  const children = [1, 2, 3].map(() => startHolder(t, [path, file, "40"]));
  const own = Array.from({ length: 40 }, () =>
    withFileLock(path, async () => {
      const number = Number(readFileSync(file, "utf8"));
      await Promise.resolve();
      writeFileSync(file, `${number + 1}`);
    }),
  );
  const exits = await Promise.all(children.map((child) => once(child, "exit")));
  await Promise.all(own);
  assert.deepEqual(
    exits.map(([exit]) => exit as number),
    [0, 0, 0],
  );
  assert.equal(readFileSync(file, "utf8"), "160");
});

test("[B4] a lock whose holder deletes the file is still one lock", async (t) => {
  const folder = await temporaryFolder(t);
  const [path, file] = [join(folder, "a.lock"), join(folder, "number")];
  writeFileSync(file, "0");
  const child = startHolder(t, [path, file, "60"]);
  const ended = once(child, "exit");
  for (let added = 0; added < 60; added += 1) {
    await withFileLock(path, async () => {
      const number = Number(readFileSync(file, "utf8"));
      await Promise.resolve();
      writeFileSync(file, `${number + 1}`);
      // This is the last step under this lock. From now on others may hold one with the same name.
      rmSync(path);
    });
  }
  assert.deepEqual(await ended, [0, null]);
  assert.equal(readFileSync(file, "utf8"), "120");
});

test("[B4] a path where there can be no lock is an error that names it", async (t) => {
  const folder = await temporaryFolder(t);
  const [missing, broken] = [join(folder, "no", "where", "a.lock"), join(folder, "broken.lock")];
  await assert.rejects(withFileLock(missing, never), (error) => {
    assert.ok(error instanceof FileLockFailure, String(error));
    assert.ok(error.message.includes(missing), error.message);
    assert.equal(systemCode(error.cause), "ENOENT");
    return true;
  });
  writeFileSync(broken, "x".repeat(2_000));
  await assert.rejects(withFileLock(broken, never), FileLockFailure);
});

test(
  "[B4] a lock that was taken before is taken again without opening its file",
  { skip: !existsSync("/proc/self/fd") },
  async (t) => {
    const path = join(await temporaryFolder(t), "a.lock");
    const opened = (): string[] =>
      readdirSync("/proc/self/fd").filter((name) => linkOf(`/proc/self/fd/${name}`) === path);
    await withFileLock(path, () => undefined);
    const first = opened();
    assert.equal(first.length, 1);
    for (let time = 0; time < 3; time += 1) {
      await withFileLock(path, () => assert.deepEqual(readdirSync(join(path, "..")), ["a.lock"]));
    }
    assert.deepEqual(opened(), first);
    const others = Array.from({ length: 40 }, (_, number) => join(path, "..", `${number}.lock`));
    for (const other of others) await withFileLock(other, () => undefined);
    assert.deepEqual(opened(), []);
    assert.equal(await withFileLock(path, () => "again"), "again");
  },
);

test("[B4] a process that keeps a lock's file open does not have the lock", async (t) => {
  const path = join(await temporaryFolder(t), "a.lock");
  await withFileLock(path, () => undefined);
  const other = await holding(t, path);
  await assert.rejects(withFileLock(path, never, { waitMsMax: 30 }), FileLockTimeout);
  other.kill("SIGKILL");
  assert.equal(await withFileLock(path, () => "mine"), "mine");
});

/** Returns what a link leads to. Empty if it is gone, as that of the descriptor that listed it. */
function linkOf(link: string): string {
  try {
    return readlinkSync(link);
  } catch {
    return "";
  }
}

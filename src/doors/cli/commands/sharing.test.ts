/** `aptove session share`, and what a user without sessions of their own finds (S7, H4). */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { memoryRecords } from "../../../records/memory/memory-records.ts";
import { remoteTest } from "../../../../testing/acp/remote-test.ts";
import { cliWorld, type CliRun } from "../../../../testing/cli.ts";
import type { Role } from "../../../domain/caller.ts";

interface SharedWorld {
  reader: { id: string; key: string };
  member: { id: string; key: string };
  /** Runs a command at the server. Without a person: as its admin. */
  run(argv: string[], key?: string): Promise<CliRun>;
}

async function sharedWorld(t: TestContext): Promise<SharedWorld> {
  const world = await cliWorld(t);
  const server = await remoteTest(t, { aptove: { records: memoryRecords() } });
  const person = async (role: Role): Promise<{ id: string; key: string }> => {
    const { caller, key } = await server.person(role);
    return { id: caller.userId, key };
  };
  return {
    reader: await person("reader"),
    member: await person("member"),
    run: (argv, key = server.admin.key) => world.run([...argv, "--server", server.url, "--key", key]),
  };
}

test("[S7] [L1] share says what each user may do: a reader reads, and the owner is none of them", async (t) => {
  const { run, reader, member } = await sharedWorld(t);
  assert.equal((await run(["ask", "hello"])).exit, 0);
  const shared = await run(["session", "share", "last", "--with", reader.id, "--with", member.id]);
  const [, ...people] = shared.stdout.trimEnd().split("\n");
  assert.equal(people.length, 2, shared.stdout);
  const lineOf = ({ id }: { id: string }): string => people.find((line) => line.includes(id.slice(-8))) ?? "";
  assert.match(lineOf(reader), /can read it, and not continue it: the role is reader$/);
  assert.match(lineOf(member), /can read and continue it$/);
});

test("[S7] [L1] last is the newest session that the caller may read, if they have none; --continue takes only their own", async (t) => {
  const { run, reader, member } = await sharedWorld(t);
  const nothing = await run(["session", "list"], reader.key);
  assert.match(nothing.stderr, /^there are no sessions yet that you may read\n$/);
  const none = await run(["session", "show", "last"], reader.key);
  assert.match(
    none.stderr,
    /there is no session about .* yet \(not_found\)\nfix: see what you may read: aptove session list/,
  );
  assert.equal((await run(["ask", "hello"])).exit, 0);
  assert.equal((await run(["session", "share", "last"])).exit, 0);
  for (const { key } of [reader, member]) assert.match((await run(["session", "show", "last"], key)).stdout, /hello/);
  const other = await run(["ask", "--continue", "more"], member.key);
  assert.match(other.stderr, /none of the sessions about .* is yours \(not_found\)\nfix: .*aptove session list/);
  assert.equal((await run(["ask", "mine"], member.key)).exit, 0);
  assert.equal((await run(["ask", "--continue", "more"], member.key)).exit, 0);
  assert.match((await run(["session", "show"], member.key)).stdout, /^mine\n/);
});

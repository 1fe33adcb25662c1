/** `aptove org | user | key | audit` and `session share`, on a machine's own data and against its server (H4, S7). */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { cliWorld, type CliRun, type CliWorld } from "../../../../testing/cli.ts";

test("[H4] [L1] the operator creates an org and its admin, who continues from another machine with a key", async (t) => {
  const world = await cliWorld(t);
  const json = async <T>(...argv: string[]): Promise<T> =>
    JSON.parse((await world.run([...argv, "--json"])).stdout) as T;
  const fails = async (code: string, ...argv: string[]): Promise<string> => {
    const run: CliRun = await world.run([...argv, "--json"]);
    const { error } = JSON.parse(run.stdout) as { error: { code: string; fix?: string } };
    assert.equal(error.code, code, run.stdout);
    assert.notEqual(run.exit, 0);
    return error.fix ?? "";
  };
  const org = await json<{ id: string }>("org", "create", "Engines");
  assert.equal((await world.run(["index", "--org", "Engines"])).exit, 0);
  assert.match(await fails("not_found", "index", "--org", "Missing"), /org list/);
  assert.match((await world.run(["org", "list"])).stdout, /local[\s\S]*Engines/);
  const ada = await json<{ id: string }>(
    "user",
    "add",
    "Ada",
    "--role",
    "admin",
    "--email",
    "Ada@example.org",
    "--org",
    "Engines",
  );
  assert.match(
    await fails("user_exists", "user", "add", "Eve", "--email", "ada@example.org", "--org", org.id),
    /user list/,
  );
  assert.match(await fails("last_admin", "user", "disable", "Ada", "--org", "Engines"), /user role/);
  const { stderr: last } = await world.run(["user", "disable", "Ada", "--org", "Engines"]);
  assert.equal(last.match(/user role/g)?.length, 1, last);
  const made = await world.run([
    "key",
    "create",
    "first",
    "--user",
    "ada@example.org",
    "--expires",
    "2999-01-31",
    "--org",
    "Engines",
  ]);
  const secret = made.stdout.trim();
  assert.match(secret, /^aptove_/);
  assert.match(await fails("usage", "key", "create", "x", "--org", "Engines"), /--user/);
  assert.match(await fails("usage", "key", "create", "x", "--expires", "2020-01-01"), /later time/);
  assert.match(await fails("usage", "key", "create", "x", "--expires", "soon"), /2027/);
  assert.match(await fails("usage", "key", "create", "x", "--expires", "2999-02-30"), /like 2027/);

  const serving = world.start(["serve", "--port", "0", "--json"]);
  await serving.saw("http://127.0.0.1:");
  const { url } = JSON.parse(readFileSync(join(world.dataDir, "server.json"), "utf8")) as { url: string };
  const there = ["--server", url, "--key", secret];
  const grace = await json<{ id: string }>("user", "add", "Grace", ...there);
  assert.match((await world.run(["user", "list", ...there])).stdout, /Ada[\s\S]*Grace/);
  assert.deepEqual((await json<{ orgs: object[] }>("org", "list", ...there)).orgs.length, 1);
  await fails("usage", "org", "create", "Other", ...there);
  await fails("not_found", "org", "rename", "local", "mine", ...there);
  assert.partialDeepStrictEqual(await json("org", "rename", org.id, "Analytical", ...there), { name: "Analytical" });

  const { session } = await json<{ session: { id: string } }>(
    "session",
    "show",
    await asked(world.run, there),
    ...there,
  );
  const shared = await json<{ participants: { userId: string }[] }>(
    "session",
    "share",
    session.id,
    "--with",
    "Grace",
    ...there,
  );
  assert.deepEqual(shared.participants.map(({ userId }) => userId).toSorted(), [ada.id, grace.id].toSorted());
  assert.match((await world.run(["session", "share", session.id, ...there])).stdout, /everyone in the org/);
  assert.match((await world.run(["session", "unshare", session.id, ...there])).stdout, /private/);

  await saysWhoHelps(world, there, fails);

  const audit = await world.run(["audit", ...there]);
  assert.match(
    audit.stdout,
    /session\.unshare[\s\S]*org\.rename[\s\S]*operator +key\.create[\s\S]*operator +org\.create/,
  );
  assert.match(await fails("usage", "audit", "--action", "fly", ...there), /user\.create/);
  await listsKeys(world, there);
  await world.run(["org", "suspend", "Analytical"]);
  await fails("unauthenticated", "user", "list", ...there);
  serving.signals.emit("SIGTERM");
  assert.equal((await serving.finished).exit, 0);
});

async function asked(run: (argv: string[]) => Promise<CliRun>, there: string[]): Promise<string> {
  const { stdout } = await run(["ask", "hello", "--json", ...there]);
  return (JSON.parse(stdout) as { sessionId: string }).sessionId;
}

type Fails = (code: string, ...argv: string[]) => Promise<string>;

async function saysWhoHelps(world: CliWorld, there: string[], fails: Fails): Promise<void> {
  // The index of a server is built on its own machine, and only its operator sees the state of its stores.
  const unindexed = await world.run(["ask", "hello", "--repo", "elsewhere", ...there]);
  assert.match(unindexed.stderr, /fix: ask the operator of the server to index it there \(aptove index --org/);
  assert.match(await fails("usage", "index", ...there), /^ask the operator of the server/);
  const doctor = await world.run(["doctor", ...there]);
  assert.match(doctor.stdout, /^ok stores +the server is ready$/m);
  assert.equal(doctor.exit, 0, doctor.stdout);
  const denied = await world.run(["gc", ...there]);
  assert.match(denied.stderr, /an admin of the server's first org .*ask one of them \(forbidden\)\nfix: .*\n$/);
}

async function listsKeys(world: CliWorld, there: string[]): Promise<void> {
  await world.run(["key", "create", "laptop", "--user", "Grace", ...there]);
  assert.match(
    (await world.run(["key", "list", ...there])).stdout,
    /^[0-9a-f]{8} +aptove_\S+ +Grace +valid .*laptop$/m,
  );
  const keyMade = await world.run(["audit", "--action", "key.create", "--limit", "1", ...there]);
  assert.match(keyMade.stdout, /Ada +key\.create +[0-9a-f]{8} +done +key=[0-9a-f]{8} userId=Grace\n$/);
  const second = await world.run(["user", "add", "Grace", ...there]);
  assert.match(second.stderr, /^warning: there is another user "Grace"; use their ids/);
  const ada = await world.run(["audit", "--action", "user.create", "--limit", "1", "--user", "Ada", ...there]);
  assert.match(ada.stdout, /Ada +user\.create +Grace +done/);
  const none = await world.run(["audit", "--action", "user.disable", "--user", "ada@example.org", ...there]);
  assert.deepEqual([none.stdout, none.stderr], ["", "no entry of the log matches\n"]);
}

test("[H4] [L1] an owner who is no admin any more learns how the operator of the machine changes that", async (t) => {
  const world = await cliWorld(t);
  assert.equal((await world.run(["user", "add", "Ada", "--role", "admin"])).exit, 0);
  assert.equal((await world.run(["user", "role", "owner", "reader"])).exit, 0);
  const refused = await world.run(["user", "role", "owner", "admin"]);
  assert.equal(refused.exit, 1);
  assert.match(refused.stderr, /\(forbidden\)\nfix: act as the operator of this machine's data: add --org <org>/);
  const { exit, stderr } = await world.run(["user", "role", "owner", "admin", "--org", "local"]);
  assert.equal(exit, 0, stderr);
});

import assert from "node:assert/strict";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { remoteTest } from "../../../../testing/acp/remote-test.ts";
import { cliWorld, type CliWorld } from "../../../../testing/cli.ts";
import { createAptove } from "../../../compose.ts";
import { memoryRecords } from "../../../records/memory/memory-records.ts";
import { scriptedProvider } from "../../../providers/scripted/scripted.ts";
import { dataFolderAt } from "../../../configuration/data-folder.ts";
import { openWorkspaces } from "../../../compose/open-workspaces.ts";

const dayMs = 86_400_000;

async function create(world: CliWorld, name?: string): Promise<string> {
  const created = await world.run(["workspace", "create", ...(name === undefined ? [] : ["--name", name])]);
  assert.equal(created.exit, 0, created.stderr);
  return created.stdout.trim();
}

/** Workspaces that were used last this many days ago, `default` among them, and what the commands call them. */
async function aged(context: TestContext, days: Record<string, number>) {
  const world = await cliWorld(context);
  await world.run(["workspace", "list"]);
  const folder = dataFolderAt(world.dataDir);
  const ids = new Map<string, string>();
  for (const [name, age] of Object.entries(days)) {
    const { workspaces, bindings } = openWorkspaces(folder, { now: () => Date.now() - age * dayMs });
    const { id } = name === "default" ? await workspaces.resolve(null) : await workspaces.create({ name });
    if (name !== "default") await bindings.bind(`device of ${name}`, id);
    ids.set(name, id);
  }
  return { world, folder, idOf: (name: string): string => ids.get(name) ?? assert.fail(name) };
}

test("[W1] [L1] a workspace is made, listed and shown", async (t) => {
  const world = await cliWorld(t);
  const none = await world.run(["workspace", "list"]);
  assert.deepEqual([none.exit, none.stdout], [0, ""]);
  assert.match(none.stderr, /there are no workspaces yet/);
  const id = await create(world, "project-x");
  assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-4/);
  await openWorkspaces(dataFolderAt(world.dataDir)).bindings.bind("Ada's phone", id);
  const listed = await world.run(["workspace", "list"]);
  assert.match(listed.stdout, new RegExp(`^${id}  used [-\\d]+ [\\d:]+  1 device +project-x\\n$`));
  for (const part of [id, id.slice(0, 6), id.slice(-5), id.toUpperCase()]) {
    const shown = await world.run(["workspace", "show", part]);
    assert.equal(shown.exit, 0, shown.stderr);
    assert.match(
      shown.stdout,
      new RegExp(`^id +${id}\nname +project-x\nfolder +${join(world.dataDir, "workspaces", id)}$`, "m"),
    );
    assert.match(shown.stdout, /^devices +Ada's phone$/m);
  }
  const twin = await create(world, "project-x");
  const ambiguous = await world.run(["workspace", "show", "project-x"]);
  assert.match(
    ambiguous.stderr,
    /"project-x" matches 2 workspaces: .* \(usage\)\nfix: give the id as aptove workspace list shows it\n/,
  );
  assert.equal((await world.run(["workspace", "delete", twin, "--yes"])).exit, 0);
  const json = JSON.parse((await world.run(["workspace", "show", id, "--json"])).stdout) as Record<string, unknown>;
  assert.deepEqual(
    [json["id"], json["name"], json["devices"], json["damage"]],
    [id, "project-x", ["Ada's phone"], null],
  );
  const list = JSON.parse((await world.run(["workspace", "list", "--json"])).stdout) as Record<string, unknown>;
  assert.deepEqual(list, { workspaces: [json] });
});

test("[W1] [L1] a workspace has one form of its id, and any part of it or its name is accepted by every command", async (t) => {
  const world = await cliWorld(t);
  await world.run(["index"]);
  const id = await create(world, "project-x");
  const idsIn = async (...argv: string[]): Promise<string[]> =>
    (await world.run(argv)).stdout.match(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g) ?? [];
  for (const json of [[], ["--json"]])
    assert.deepEqual(new Set(await idsIn("workspace", "list", ...json)), new Set([id]));
  assert.equal((await world.run(["ask", "--workspace", id, "greet"])).exit, 0);
  for (const text of [id, id.slice(-8), id.slice(0, 6), "project-x"]) {
    const listed = await world.run(["session", "list", "--workspace", text, "--json"]);
    const { sessions } = JSON.parse(listed.stdout) as { sessions: { workspaceId: string }[] };
    assert.deepEqual(
      sessions.map(({ workspaceId }) => workspaceId),
      [id],
    );
    const { key } = JSON.parse((await world.run(["key", "create", text, "--workspace", text, "--json"])).stdout) as {
      key: { workspaceId: string };
    };
    assert.equal(key.workspaceId, id);
    assert.equal((await world.run(["model", "list", "--workspace", text])).exit, 0);
    const agent = await world.run(["acp", "--workspace", text], { stdin: "" });
    assert.deepEqual([agent.exit, agent.stderr], [0, ""]);
  }
});

test("[W1] [L1] an id that is malformed, unknown or ambiguous is refused and changes nothing", async (t) => {
  const world = await cliWorld(t);
  await create(world);
  for (const command of [["show"], ["delete", "--yes"], ["permissions"]]) {
    for (const wrong of ["..", "../..", "/etc", "abc", "no id"]) {
      const refused = await world.run(["workspace", ...command, wrong]);
      assert.equal(refused.exit, 1, refused.stderr);
      assert.match(
        refused.stderr,
        /there is no workspace ".*" \(workspace_unknown\)\nfix: give its whole name, or at least 4 /,
      );
    }
    for (const missing of ["default", "00000000-0000-4000-8000-000000000000"]) {
      const refused = await world.run(["workspace", ...command, missing]);
      assert.equal(refused.exit, 1);
      assert.match(refused.stderr, /there is no workspace ".*" \(workspace_unknown\)\nfix: see: aptove workspace list/);
    }
  }
  const { workspaces } = openWorkspaces(dataFolderAt(world.dataDir));
  assert.equal((await workspaces.list()).length, 1);
  const unnamed = await world.run(["workspace", "create", "--name", "two\nlines"]);
  assert.equal(unnamed.exit, 1);
  assert.match(unnamed.stderr, /must be one line/);
});

test("[W1] [L1] a workspace is found by its exact name, unless two have it", async (t) => {
  const world = await cliWorld(t);
  const id = await create(world, "My project");
  await create(world, "My project 2");
  const shown = await world.run(["workspace", "show", "My project"]);
  assert.match(shown.stdout, new RegExp(`^id +${id}\nname +My project$`, "m"));
  assert.equal((await world.run(["workspace", "permissions", "My project"])).exit, 0);
  const second = await create(world, "My project");
  const refused = await world.run(["workspace", "show", "My project"]);
  assert.equal(refused.exit, 2);
  for (const each of [id, second]) assert.ok(refused.stderr.includes(each), refused.stderr);
});

test("[W1] [L1] a mistyped name or id is answered with the similar workspace", async (t) => {
  const world = await cliWorld(t);
  const id = await create(world, "project-x");
  const mistyped = `${id.slice(-8, -1)}${id.endsWith("0") ? "1" : "0"}`;
  for (const text of ["Projekt-x", mistyped]) {
    const { exit, stderr } = await world.run(["workspace", "show", text]);
    assert.equal(exit, 1);
    assert.match(
      stderr,
      new RegExp(`there is no workspace "${text}" \\(workspace_unknown\\)\nfix: did you mean ${id}, "project-x"\\?`),
    );
  }
});

test("[W1] [W2] [L1] damage is reported with its file, and a damaged workspace can be deleted", async (t) => {
  const world = await cliWorld(t);
  const id = await create(world);
  writeFileSync(join(world.dataDir, "workspaces", id, "workspace.toml"), "uuid = \n");
  const listed = await world.run(["workspace", "list"]);
  assert.equal(listed.exit, 0);
  assert.match(listed.stdout, /damaged: .*workspace\.toml:1:\d+: .*; correct the file/);
  assert.match((await world.run(["workspace", "show", id])).stdout, /^damaged +.*workspace\.toml:1:/m);
  writeFileSync(join(world.dataDir, "bindings.toml"), "[bindings\n");
  const refused = await world.run(["workspace", "delete", id, "--yes"]);
  assert.equal(refused.exit, 1);
  assert.match(
    refused.stderr,
    /bindings\.toml:1:\d+: .*; correct the file, or move it to another folder.* \(bindings_damaged\)/,
  );
  writeFileSync(join(world.dataDir, "bindings.toml"), "");
  assert.equal((await world.run(["workspace", "delete", id, "--yes"])).exit, 0);
});

test("[W6] [L1] delete asks first, and takes devices and folder", async (t) => {
  const { world, folder, idOf } = await aged(t, { phone: 0, tablet: 0 });
  const short = idOf("phone").slice(-8);
  const unasked = await world.run(["workspace", "delete", short]);
  assert.equal(unasked.exit, 2);
  assert.match(unasked.stderr, /delete [-0-9a-f]{36} "phone" permanently, and unbind 1 device\?.*\nfix: .*--yes/);
  const asking = world.start(["workspace", "delete", short], { isTerminal: true, env: { NO_COLOR: "1" } });
  await asking.saw("this cannot be undone [y/N]");
  asking.input.write("n\n");
  assert.equal((await asking.finished).exit, 1);
  assert.equal(readdirSync(folder.workspaces).length, 2);
  const deleted = await world.run(["workspace", "delete", short, "--yes"]);
  assert.match(deleted.stdout, /^[-0-9a-f]{36} deleted; its sessions are still there/);
  assert.deepEqual(readdirSync(folder.workspaces), [idOf("tablet")]);
  assert.deepEqual(
    (await openWorkspaces(folder).bindings.list()).map(({ deviceId }) => deviceId),
    ["device of tablet"],
  );
  await openWorkspaces(folder).workspaces.resolve(null);
  const standard = await world.run(["workspace", "delete", "default"]);
  assert.match(standard.stderr, /delete transcripts and settings of default permanently\?/);
  const anew = await world.run(["workspace", "delete", "default", "--yes"]);
  assert.match(anew.stdout, /^default deleted; it is created again, empty, when it is next needed;  its sessions are/);
});

test("[W6] [L1] gc shows what it takes, asks, and takes just that; never default, or what was used lately", async (t) => {
  const { world, folder, idOf } = await aged(t, { default: 400, old: 200, older: 300, young: 5 });
  const dry = await world.run(["workspace", "gc", "--dry-run"]);
  const lines = dry.stdout.trim().split("\n");
  assert.deepEqual(
    lines.slice(0, -1).map((line) => line.slice(0, 36)),
    [idOf("old"), idOf("older")],
  );
  assert.equal(lines.at(-1), "2 workspaces not used for 90 days; nothing was deleted");
  const unasked = await world.run(["workspace", "gc"]);
  assert.equal(unasked.exit, 2);
  assert.match(unasked.stderr, /delete 2 workspaces permanently\?/);
  assert.equal(readdirSync(folder.workspaces).length, 4);
  const json = await world.run(["workspace", "gc", "--max-age", "250", "--yes", "--json"]);
  const { workspaces } = JSON.parse(json.stdout) as { workspaces: { id: string }[] };
  assert.deepEqual(
    workspaces.map(({ id }) => id),
    [idOf("older")],
  );
  const taken = await world.run(["workspace", "gc", "--yes"]);
  assert.equal(taken.stdout, "deleted 1 workspace not used for 90 days\n");
  assert.deepEqual(readdirSync(folder.workspaces).toSorted(), [idOf("young"), "default"].toSorted());
  assert.equal((await world.run(["workspace", "gc"])).stdout, "deleted 0 workspaces not used for 90 days\n");
  assert.equal((await world.run(["workspace", "gc", "--max-age", "0"])).exit, 2);
});

test("[W6] [L1] gc spares a workspace in which a turn is running, and delete refuses it", async (t) => {
  const { world, idOf } = await aged(t, { busy: 200 });
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const slow = scriptedProvider({ name: "offline", script: () => [{ says: ["it begins", released, " and ends"] }] });
  const { engine } = await createAptove({ dataDir: world.dataDir, env: {}, providers: [slow] });
  t.after(() => engine.close());
  const turn = await engine.turns.run(await engine.keys.owner(), { instruction: "slowly", workspaceId: idOf("busy") });
  assert.match((await world.run(["workspace", "gc", "--yes"])).stdout, /^deleted 0 workspaces/);
  const refused = await world.run(["workspace", "delete", idOf("busy"), "--yes"]);
  assert.equal(refused.exit, 1);
  assert.match(refused.stderr, /a turn is running in the workspace .*aptove session interrupt.* \(workspace_busy\)/);
  assert.match((await world.run(["workspace", "show", idOf("busy")])).stdout, /^devices +device of busy$/m);
  release();
  await turn.finished;
  assert.match((await world.run(["workspace", "gc", "--yes"])).stdout, /^deleted 1 workspace /);
});

test("[P4] [L1] permanent permissions are listed, and can be removed", async (t) => {
  const { world, folder } = await aged(t, { default: 0 });
  const { permissions } = openWorkspaces(folder);
  assert.match((await world.run(["workspace", "permissions", "default"])).stderr, /nothing is allowed permanently/);
  await permissions.allow("default", "run npm test");
  await permissions.allow("default", "edit");
  const listed = await world.run(["workspace", "permissions", "default"]);
  assert.match(listed.stdout, /^[-\d]+ [\d:]+ {2}"(?:run npm test|edit)"\n[-\d]+ [\d:]+ {2}"/);
  const forgot = await world.run(["workspace", "permissions", "default", "--forget", "edit"]);
  assert.equal(forgot.stdout, "asks again before: edit\n");
  assert.equal(await permissions.isAllowed("default", "edit"), false);
  const again = await world.run(["workspace", "permissions", "default", "--forget", "edit"]);
  assert.equal(again.exit, 1);
  assert.match(again.stderr, /"edit" is not allowed there \(not_found\)/);
  const json = JSON.parse((await world.run(["workspace", "permissions", "default", "--json"])).stdout) as object;
  assert.deepEqual(Object.keys(json), ["id", "allowed"]);
});

test("[L1] [W1] [W6] [P4] with --server the workspaces are those of the server", async (t) => {
  const world = await cliWorld(t);
  const server = await remoteTest(t, { aptove: { records: memoryRecords() } });
  const { workspaces, bindings, permissions } = await server.aptove.workspaces();
  const run = (...argv: string[]): ReturnType<CliWorld["run"]> =>
    world.run(["workspace", ...argv, "--server", server.url, "--key", server.admin.key]);
  const id = (await run("create", "--name", "project-x", "--provider", "scripted")).stdout.trim();
  assert.equal((await workspaces.find(id)).name, "project-x");
  await bindings.bind("phone", id);
  await permissions.allow(id, "edit");
  assert.match((await run("list")).stdout, /used .* 1 device +scripted +project-x\n/);
  const shown = await run("show", "project-x");
  assert.match(shown.stdout, /^devices +phone$/m);
  assert.doesNotMatch(shown.stdout, /^folder/m);
  assert.match((await run("permissions", id)).stdout, /"edit"/);
  assert.equal((await run("permissions", id, "--forget", "edit")).exit, 0);
  assert.match((await run("permissions", id, "--forget", "edit")).stderr, /"edit" is not allowed there \(not_found\)/);
  assert.equal((await run("delete", id)).exit, 2);
  assert.match((await run("delete", id, "--yes")).stdout, /deleted; its sessions are still there/);
  assert.deepEqual(await bindings.list(), []);
  for (const argv of [["gc"], ["create", "--model", "m"], ["create", "--device", "d"]]) {
    const refused = await run(...argv);
    assert.equal(refused.exit, 2);
    assert.match(refused.stderr, /leave out --server/);
  }
  const member = await server.person("member");
  const none = await world.run(["workspace", "list", "--server", server.url, "--key", member.key]);
  assert.deepEqual([none.exit, none.stdout], [0, ""]);
  assert.match(none.stderr, /no workspaces that you may see; .* to the admins of its first org only\n$/);
  assert.ok(!existsSync(join(world.dataDir, "workspaces")));
});

test("[L1] nothing that workspaces need opens the database", async (t) => {
  const { world } = await aged(t, { default: 0, phone: 1 });
  for (const argv of [
    ["list"],
    ["show", "default"],
    ["permissions", "default"],
    ["create"],
    ["delete", "default", "-y"],
  ]) {
    assert.equal((await world.run(["workspace", ...argv])).exit, 0);
  }
  assert.equal((await world.run(["workspace", "gc"])).exit, 0);
  assert.ok(!readdirSync(world.dataDir).includes("records.db"));
});

test("[W1] [W7] [L1] workspace create takes the provider, the model and the device", async (t) => {
  const world = await cliWorld(t);
  const made = await world.run([
    "workspace",
    "create",
    "--provider",
    "offline",
    "--model",
    "offline-2",
    "--device",
    "phone-1",
  ]);
  assert.equal(made.exit, 0, made.stderr);
  const shown = await world.run(["workspace", "show", made.stdout.trim()]);
  assert.match(shown.stdout, /^provider +offline$/m);
  assert.match(shown.stdout, /^devices +phone-1$/m);
  const config = await world.run(["config", "show", "--workspace", made.stdout.trim()]);
  assert.match(config.stdout, /^conversation_contexts\.default\.model = "offline-2" +workspace/m);
  const wrong = await world.run(["workspace", "create", "--provider", "missing"]);
  assert.equal(wrong.exit, 2);
});

test("[W6] [S6] workspace delete --purge takes the sessions too; without it they stay", async (t) => {
  const world = await cliWorld(t);
  await world.run(["index"]);
  const count = async (): Promise<number> => {
    const { stdout } = await world.run(["session", "list", "--json"]);
    return (JSON.parse(stdout) as { sessions: unknown[] }).sessions.length;
  };
  for (const more of [[], ["--purge"]]) {
    const id = (await world.run(["workspace", "create"])).stdout.trim();
    await world.run(["chat", "-w", id], { stdin: "one\n" });
    const deleted = await world.run(["workspace", "delete", id, "--yes", ...more]);
    assert.equal(deleted.exit, 0, deleted.stderr);
    assert.match(deleted.stdout, more.length === 0 ? /its sessions are still there/ : /with 1 session$/m);
    assert.equal(await count(), 1);
  }
});

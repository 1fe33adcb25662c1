/** The commands that set things up and look after them: config, key, index, doctor. */
import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { stripVTControlCharacters } from "node:util";
import { cliWorld } from "../../../../testing/cli.ts";
import { startFakeS3 } from "../../../../testing/fake-s3/fake-s3.ts";
import type { WireIndexRun } from "../../../client/client.ts";
import { starterConfig } from "../../../configuration/config-text.ts";

test("[L1] [W7] config init writes the commented file once, for its owner alone", async (t) => {
  const world = await cliWorld(t);
  const file = join(world.dataDir, "config.toml");
  const first = await world.run(["config", "init"]);
  assert.equal(first.exit, 0);
  assert.ok(first.stdout.includes(file));
  assert.equal(readFileSync(file, "utf8"), starterConfig());
  assert.equal(statSync(file).mode & 0o777, 0o600);
  writeFileSync(file, "# mine\n");
  const second = await world.run(["config", "init"]);
  assert.equal(second.exit, 1);
  assert.match(second.stderr, /exists already \(config_exists\)\nfix: edit it/);
  assert.equal(readFileSync(file, "utf8"), "# mine\n");
  assert.equal((await world.run(["config", "init", "--force"])).exit, 0);
  assert.equal(readFileSync(file, "utf8"), starterConfig());
});

test("[L1] [W7] [E8] config show prints effective values and sources, without secrets", async (t) => {
  const world = await cliWorld(t);
  const env = { OPENAI_API_KEY: "sk-do-not-show-this-anywhere" };
  const shown = await world.run(["config", "show"], { env });
  assert.equal(shown.exit, 0);
  assert.match(shown.stdout, /^provider = "openai" +built-in$/m);
  assert.match(shown.stdout, /^providers.openai.api_key = "sk-\*\*\*ere" +environment +OPENAI_API_KEY$/m);
  const json = await world.run(["config", "show", "--json"], { env });
  assert.ok(!(shown.stdout + json.stdout).includes("do-not-show"));
  const { values } = JSON.parse(json.stdout) as { values: { key: string }[] };
  assert.ok(values.some((value) => value.key === "limits.heartbeat_ms"));
});

test("[L1] [W7] config check names every fault, and what cannot work", async (t) => {
  const world = await cliWorld(t);
  const fine = await world.run(["config", "check"]);
  assert.equal(fine.exit, 0);
  assert.match(fine.stdout, /^there is no \S+config.toml \(aptove config init writes one\), so .*; offline answers$/m);
  writeFileSync(join(world.dataDir, "config.toml"), "");
  assert.match((await world.run(["config", "check"])).stdout, /config.toml checked, no fault; offline answers/);
  writeFileSync(join(world.dataDir, "config.toml"), "[serve]\nprot = 1\nhost = 3\n");
  const wrong = await world.run(["config", "check"]);
  assert.equal(wrong.exit, 1);
  assert.match(wrong.stderr, /serve.prot is not known; did you mean "serve.port"\?; .*serve.host must be/);
  writeFileSync(join(world.dataDir, "config.toml"), 'provider = "openai"\n');
  const keyless = await world.run(["config", "check"]);
  assert.equal(keyless.exit, 1);
  assert.match(keyless.stderr, /the agent context "default" uses openai, which has no key: set OPENAI_API_KEY/);
});

test("[L1] [W7] config check names the provider that answers, those that could, and a server that is half configured", async (t) => {
  const world = await cliWorld(t);
  const env = { OPENAI_API_KEY: "sk-1", ANTHROPIC_API_KEY: "a" };
  const fine = await world.run(["config", "check"], { env });
  assert.match(fine.stdout, /openai answers; anthropic could too$/m);
  assert.match(
    (await world.run(["doctor"], { env })).stdout,
    /^ok configuration +openai answers; anthropic could too$/m,
  );
  writeFileSync(join(world.dataDir, "config.toml"), '[providers.compatible.ollama]\nmodel = "qwen3-coder"\n');
  const half = await world.run(["config", "check"]);
  assert.equal(half.exit, 1);
  assert.match(half.stderr, /the provider ollama has no address: set providers.compatible.ollama.base_url/);
});

test("[L1] [H4] key create shows the secret once, key list never, key revoke makes it worthless", async (t) => {
  const world = await cliWorld(t);
  const created = await world.run(["key", "create", "laptop", "--days", "7"]);
  const secret = created.stdout.trim();
  assert.match(secret, /^aptove_\S{20,}$/);
  assert.match(created.stderr, /the key is shown only this once/);
  await world.run(["key", "create", "phone"]);
  const listed = await world.run(["key", "list"]);
  assert.match(listed.stdout, /^[0-9a-f]{8} +aptove_\S+… +owner +until \d{4}-\d\d-\d\d +made .* +never used +laptop$/m);
  assert.ok(!listed.stdout.includes(secret));
  assert.equal((await world.run(["key", "revoke", "laptop"])).exit, 0);
  assert.match((await world.run(["key", "list"])).stdout, / revoked .* laptop$/m);
  const again = await world.run(["key", "revoke", "laptop"]);
  assert.equal(again.exit, 1);
  assert.match(again.stderr, /there is no key "laptop" \(not_found\)/);
  await world.run(["key", "create", "phone"]);
  assert.match((await world.run(["key", "revoke", "phone"])).stderr, /"phone" matches 2 keys/);
});

test("[L1] [Q1] [Q2] index reports what it did, and the second time that nothing changed", async (t) => {
  const world = await cliWorld(t);
  await world.write("picture.png", Uint8Array.of(0x89, 0x50, 0, 0));
  world.git("add", ".");
  const first = await world.run(["index"]);
  assert.equal(first.exit, 0);
  assert.match(first.stdout, /^indexed copy~[0-9a-f]{8} at [0-9a-f]{10}: \d files?, 2 chunks\n2 changed/);
  assert.match(first.stdout, /skipped, binary: \S+/);
  assert.match((await world.run(["index"])).stdout, /\n0 changed, 0 removed, 0 chunks written/);
  assert.match((await world.run(["index", "--rebuild"])).stdout, /\n2 changed/);
  const json = JSON.parse((await world.run(["index", "--json"])).stdout) as { repo: string };
  assert.match(json.repo, /^copy~[0-9a-f]{8}$/);
});

test("[L1] [Q2] index --status says how the last runs ended, and what they skipped", async (t) => {
  const world = await cliWorld(t);
  const none = await world.run(["index", "--status"]);
  assert.deepEqual([none.exit, none.stdout, none.stderr], [0, "", "no run is known\n"]);
  await world.write("picture.png", Uint8Array.of(0x89, 0x50, 0, 0));
  world.git("add", ".");
  await world.run(["index"]);
  const { stdout } = await world.run(["index", "--status"]);
  assert.match(stdout, /^copy~[0-9a-f]{8}: indexed \S+ \S+ in .*, \d files?, 2 chunks$/m);
  assert.match(stdout, /^copy~[0-9a-f]{8}: skipped, binary: 1 file$/m);
  const { runs } = JSON.parse((await world.run(["index", "--status", "--json"])).stdout) as { runs: WireIndexRun[] };
  assert.deepEqual(
    runs.map(({ running, done, failed }) => [running, done?.chunksTotal, failed]),
    [[null, 2, null]],
  );
});

test("[L1] [Q1] index --commit indexes the content of a commit, for the named org, and asks nothing", async (t) => {
  const world = await cliWorld(t);
  await world.write("new.ts", "export const novel = 1;\n");
  world.git("add", ".");
  const head = world.git("rev-parse", "HEAD").trim();
  const run = await world.run(["index", "--commit", "--json"]);
  assert.equal(run.exit, 0);
  assert.deepEqual((({ commit, filesTotal }) => ({ commit, filesTotal }))(JSON.parse(run.stdout)), {
    commit: head,
    filesTotal: world.git("ls-tree", "-r", "--name-only", "HEAD").trim().split("\n").length,
  });
  const unknown = await world.run(["index", "--commit", "nowhere"]);
  assert.equal(unknown.exit, 1);
  assert.match(unknown.stderr, /git knows no commit "nowhere".*\(repository_invalid\)/s);
  const org = "00000000-0000-7000-8000-00000000000f";
  assert.match((await world.run(["index", "--commit", head, "--org", org])).stdout, /\n[1-9]\d* changed/);
  assert.match((await world.run(["index", "--org", "acme"])).stderr, /there is no org "acme"/);
  const shared = await world.run(["index"], { env: { APTOVE_RETRIEVAL_STORE: "qdrant" } });
  assert.equal(shared.exit, 2);
  assert.match(shared.stderr, /the index is shared.*aptove index --commit/s);
});

test("[Q2] committed code is found without a run of `aptove index`, and nothing is warned of", async (t) => {
  const world = await cliWorld(t);
  await world.run(["index"]);
  await world.write("src/farewell.ts", "export function farewell(name: string) {}\n");
  world.git("add", ".");
  world.git("commit", "--quiet", "--message", "newer");
  const { stdout, stderr } = await world.run(["ask", "who says farewell?"]);
  assert.match(stdout, /src\/farewell\.ts:1-1/);
  assert.doesNotMatch(stderr, /warning/);
});

test("[L1] index takes a path and a name, and warns when a name moves to another folder", async (t) => {
  const world = await cliWorld(t);
  const elsewhere = join(world.dataDir, "..");
  const named = await world.run(["index", world.copy, "--repo", "mine"], { cwd: elsewhere });
  assert.match(named.stdout, /^indexed mine at/);
  assert.equal((await world.run(["ask", "--repo", "mine", "greet"])).exit, 0);
  const other = join(elsewhere, "other");
  mkdirSync(other);
  world.git("clone", "--quiet", world.copy, other);
  const moved = await world.run(["index", other, "--repo", "mine"]);
  assert.match(moved.stderr, /warning: the index of mine was made from .*copy and now follows .*other/);
  const missing = await world.run(["index", "nowhere"]);
  assert.equal(missing.exit, 2);
  assert.match(missing.stderr, /nowhere is not a folder/);
  for (const empty of ["", "   "]) {
    for (const argv of [
      ["index", "--repo"],
      ["ask", "hi", "--repo"],
      ["chat", "--repo"],
      ["ask", "hi", "--add-repo"],
    ]) {
      const { exit, stderr } = await world.run([...argv, empty]);
      assert.equal(exit, 2, stderr);
      assert.match(stderr, /-repo <name> cannot be .*Give the name of a repository \(usage\)/);
    }
  }
});

test("[L1] on a terminal index draws a progress bar, and clears it", async (t) => {
  const world = await cliWorld(t);
  const { stderr } = await world.run(["index"], { isTerminal: true, env: { NO_COLOR: "1" } });
  assert.match(stripVTControlCharacters(stderr), /\r\[=* *\] \w+ /);
  assert.ok(stderr.endsWith("\r\u001b[K"));
});

test("[L1] doctor reports what is there, and that missing options are no fault", async (t) => {
  const world = await cliWorld(t);
  const before = await world.run(["doctor"]);
  assert.equal(before.exit, 0, before.stdout);
  assert.match(before.stdout, /^-- index +copy~[0-9a-f]{8} is not indexed yet; the first instruction indexes it$/m);
  const outside = await world.run(["doctor"], { cwd: world.dataDir });
  assert.match(outside.stdout, /^-- index +code is searched only in a git repository$/m);
  await world.run(["index"]);
  // No server listens there, so the events take the other way.
  const env = { APTOVE_REDIS_URL: "redis://me:s3cret@127.0.0.1:1" };
  const without = await world.run(["doctor"], { env });
  assert.equal(without.exit, 0, without.stdout);
  assert.match(without.stdout, /^-- live log +in files, for Redis at 127.0.0.1:1 cannot be used: .*ECONNREFUSED/m);
  assert.doesNotMatch(without.stdout + without.stderr, /s3cret/);
  const after = await world.run(["doctor"]);
  assert.equal(after.exit, 0, after.stdout);
  for (const line of [
    /^ok node /m,
    /^ok data folder /m,
    /^ok git +copy~[0-9a-f]{8} at /m,
    /^ok stores +records ok/m,
    /^ok records +SQLite \S+, data of version \d+(?:, for programs from version \d+ on)?$/m,
    /^ok live log +in files$/m,
    /^ok index /m,
  ]) {
    assert.match(after.stdout, line);
  }
  assert.match(after.stdout, /^-- configuration +the built-in offline model answers/m);
  assert.match(after.stdout, /^-- server +not running/m);
  const json = JSON.parse((await world.run(["doctor", "--json"])).stdout) as { checks: { state: string }[] };
  assert.ok(json.checks.every((check) => check.state !== "failed"));
});

test("[L1] [B4] doctor only reads: without data it creates nothing, and says so", async (t) => {
  const world = await cliWorld(t, { hasDataFolder: false });
  const { exit, stdout } = await world.run(["doctor"]);
  assert.equal(exit, 0, stdout);
  assert.match(stdout, /^-- data folder .* does not exist yet; the first turn creates it$/m);
  assert.match(stdout, /^-- stores +SQLite in the data folder: no records yet$/m);
  assert.ok(!existsSync(world.dataDir));
});

test("[L1] [B6] a command that begins nothing does not create a mistyped data folder, and names the fix", async (t) => {
  const world = await cliWorld(t, { hasDataFolder: false });
  const copy = join(world.dataDir, "..", "backup");
  const refused = [
    ["session", "list"],
    ["session", "export"],
    ["session", "verify"],
    ["search", "x"],
    ["key", "list"],
    ["gc"],
  ];
  for (const words of refused) {
    const { exit, stderr } = await world.run(words);
    assert.equal(exit, 1, words.join(" "));
    assert.ok(stderr.includes(`there is no data folder ${world.dataDir} (data_missing)`), stderr);
    assert.match(stderr, /^fix: correct APTOVE_DATA_DIR, or begin with: aptove ask/m);
  }
  assert.match((await world.run(["backup", copy])).stderr, /backup_refused/);
  for (const words of [
    ["config", "show"],
    ["config", "check"],
    ["mcp", "list"],
    ["workspace", "list"],
    ["skill", "list"],
  ])
    assert.equal((await world.run(words)).exit, 0, words.join(" "));
  assert.deepEqual([existsSync(world.dataDir), existsSync(copy)], [false, false]);
  assert.equal((await world.run(["key", "create", "first"])).exit, 0);
  assert.equal((await world.run(["session", "list"])).exit, 0);
});

test("[L1] [W7] doctor and config check find a wrong key and a dead address, and say what is wrong", async (t) => {
  const world = await cliWorld(t, { asksProviders: true });
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    const isRight = request.headers.authorization === "Bearer sk-right" || request.headers["x-api-key"] === "sk-right";
    response.statusCode = isRight ? 200 : 401;
    response.end('{"data":[]}');
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  const { port } = server.address() as { port: number };
  const base = `http://127.0.0.1:${port}`;
  const right = {
    OPENAI_API_KEY: "sk-right",
    OPENAI_BASE_URL: `${base}/v1`,
    ANTHROPIC_API_KEY: "sk-right",
    ANTHROPIC_BASE_URL: base,
  };
  const fine = await world.run(["doctor"], { env: right });
  assert.equal(fine.exit, 0, fine.stdout);
  assert.match(fine.stdout, /^ok provider openai +answers and accepts the key$/m);
  assert.match(fine.stdout, /^ok provider anthropic +answers and accepts the key$/m);
  assert.deepEqual(asked.toSorted(), ["GET /v1/models", "GET /v1/models?limit=1"]);
  const wrong = { ...right, OPENAI_API_KEY: "sk-wrong-0123456789" };
  const closed = createServer();
  await new Promise<void>((resolve) => closed.listen(0, "127.0.0.1", resolve));
  const { port: deadPort } = closed.address() as { port: number };
  await new Promise((resolve) => closed.close(resolve));
  const dead = { ...right, OPENAI_BASE_URL: `http://127.0.0.1:${deadPort}/v1` };
  for (const [env, fault] of [
    [wrong, /does not accept the key.*\n? *(?:fix: |; )set another one in OPENAI_API_KEY/],
    [dead, /cannot be reached at 127\.0\.0\.1:\d+: .*ECONNREFUSED/],
  ] as const) {
    const doctor = await world.run(["doctor"], { env });
    assert.equal(doctor.exit, 1);
    assert.match(doctor.stdout, /^!! provider openai /m);
    assert.match(doctor.stdout, fault);
    const check = await world.run(["config", "check"], { env });
    assert.equal(check.exit, 1);
    assert.match(check.stderr, fault);
    assert.doesNotMatch(doctor.stdout + check.stderr, /sk-/);
  }
});

test("[L1] [B6] a data folder that is a file is named as such, and doctor does not change who may read it", async (t) => {
  const world = await cliWorld(t);
  const file = join(world.copy, "notes.txt");
  writeFileSync(file, "notes", { mode: 0o644 });
  const inFile = { env: { APTOVE_DATA_DIR: file } };
  const { exit, stdout } = await world.run(["doctor"], inFile);
  assert.equal(exit, 1);
  assert.match(stdout, /^!! data folder +\S+notes\.txt is a file\n +fix: set APTOVE_DATA_DIR to a folder$/m);
  assert.doesNotMatch(stdout, /chmod/);
  const listed = await world.run(["session", "list"], inFile);
  assert.match(listed.stderr, /notes\.txt is a file, or in a file; set APTOVE_DATA_DIR to a folder \(config_invalid\)/);
});

test("[L1] doctor sees a damaged configuration, an open folder and a server", async (t) => {
  const world = await cliWorld(t);
  await world.run(["index"]);
  chmodSync(world.dataDir, 0o755);
  assert.match(
    (await world.run(["doctor"])).stdout,
    /^-- data folder .* can be read by other users\n {3}fix: chmod 700/m,
  );
  const server = world.start(["serve", "--port", "0"]);
  await server.saw("http://127.0.0.1:");
  assert.match((await world.run(["doctor"])).stdout, /^ok server +http:\/\/127.0.0.1:\d+ \(pid \d+\)$/m);
  server.signals.emit("SIGINT");
  await server.finished;
  writeFileSync(join(world.dataDir, "config.toml"), "provider = 1\n");
  const damaged = await world.run(["doctor"]);
  assert.equal(damaged.exit, 1);
  assert.match(damaged.stdout, /^!! configuration .*provider must be/m);
});

test("[B2] [L1] a data folder of a newer version is refused by every command", async (t) => {
  const world = await cliWorld(t);
  writeFileSync(join(world.dataDir, "version"), "99\n");
  for (const argv of [
    ["ask", "x"],
    ["session", "list"],
    ["config", "show"],
    ["serve", "--port", "0"],
  ]) {
    const { exit, stderr } = await world.run(argv);
    assert.equal(exit, 1, argv.join(" "));
    assert.match(stderr, /\(data_newer\)\nfix: update aptove/);
  }
  assert.ok(!existsSync(join(world.dataDir, "records.db")));
});

test("[L1] doctor reports a fault of a store once, with its fix, and which checks it prevents", async (t) => {
  const world = await cliWorld(t);
  await world.run(["index"]);
  const faults: [env: Record<string, string>, line: RegExp][] = [
    [{ APTOVE_BLOBS_URL: "s3://ab/x" }, /^!! configuration +blobs.url: "ab" is not a valid bucket name.*\n {3}fix: /m],
    [{ APTOVE_BLOBS_URL: "s3://bucket/x" }, /^!! stores .*blobs.region is missing.*\n {3}fix: /m],
    // No server listens there.
    [{ APTOVE_RECORDS_URL: "postgres://me@127.0.0.1:1/x" }, /^!! stores .*\n {3}fix: .*records.url/m],
  ];
  const env = { AWS_ACCESS_KEY_ID: "id", AWS_SECRET_ACCESS_KEY: "secret" };
  const runs = await Promise.all(faults.map(([own]) => world.run(["doctor"], { env: { ...env, ...own } })));
  for (const [at, { exit, stdout }] of runs.entries()) {
    const [own, line] = faults[at] ?? assert.fail();
    assert.equal(exit, 1);
    assert.match(stdout, line);
    assert.equal(stdout.match(/^!!/gm)?.length, 1, stdout);
    assert.match(stdout, /^-- records +not checked, because of: (?:stores|configuration)$/m);
    if ("APTOVE_RECORDS_URL" in own) assert.match(stdout, /^-- live log +not checked, because of: stores$/m);
  }
});

test("[L1] [B1] doctor says what is wrong with the bucket, also where there are records", async (t) => {
  const world = await cliWorld(t);
  const fake = await startFakeS3();
  t.after(() => fake.close());
  const env = {
    APTOVE_BLOBS_URL: `s3://${fake.bucket}/team`,
    APTOVE_BLOBS_ENDPOINT: fake.endpoint,
    AWS_REGION: fake.region,
    AWS_ACCESS_KEY_ID: fake.accessKeyId,
    AWS_SECRET_ACCESS_KEY: fake.secretAccessKey,
  };
  assert.equal((await world.run(["ask", "hello"], { env })).exit, 0);
  const fine = await world.run(["doctor"], { env });
  assert.match(fine.stdout, /^ok stores +records ok, blobs ok in s3:.*, live log ok$/m);
  const { exit, stdout } = await world.run(["doctor"], { env: { ...env, AWS_SECRET_ACCESS_KEY: "another" } });
  assert.equal(exit, 1);
  assert.match(stdout, /^!! stores .*403 SignatureDoesNotMatch[^]*AWS_SECRET_ACCESS_KEY/m);
  assert.equal(stdout.match(/^!!/gm)?.length, 1, stdout);
});

/** Turns with blobs in S3, set up by the configuration (with a fake server; `*.servers.ts` use a real one). */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { createAptove, type Aptove } from "../src/index.ts";
import { startFakeS3, type FakeS3Options } from "./fake-s3/fake-s3.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** Starts the program without the launcher, so that a kill hits the program itself. */
const program = fileURLToPath(new URL("../src/main.ts", import.meta.url));

async function world(context: TestContext, options: FakeS3Options = {}) {
  const dataDir = await temporaryFolder(context);
  const fake = await startFakeS3(options);
  context.after(() => fake.close());
  const env = {
    APTOVE_DATA_DIR: dataDir,
    APTOVE_BLOBS_URL: `s3://${fake.bucket}/team`,
    APTOVE_BLOBS_ENDPOINT: fake.endpoint,
    AWS_REGION: fake.region,
    AWS_ACCESS_KEY_ID: fake.accessKeyId,
    AWS_SECRET_ACCESS_KEY: fake.secretAccessKey,
  };
  const open = async (now: () => number = Date.now): Promise<Aptove> => {
    const aptove = await createAptove({ dataDir, env, now });
    context.after(() => aptove.engine.close());
    return aptove;
  };
  return { fake, env, dataDir, open };
}

test("[B1] [W7] the configured bucket holds the conversation, and another process reads it; without keys nothing starts", async (t) => {
  const { fake, env, dataDir, open } = await world(t);
  const { engine } = await open();
  const owner = await engine.keys.owner();
  const turn = await (await engine.turns.run(owner, { instruction: "one" })).finished;
  assert.equal(turn.status, "completed");
  const names = [...fake.objects.keys()].filter((key) => key.startsWith("team/turns/"));
  assert.deepEqual(
    names.toSorted(),
    ["opening", "run", "state"].map((kind) => `team/turns/${turn.id}/${kind}.json.zst`),
  );
  const other = await open();
  const next = await other.engine.turns.run(owner, { instruction: "two", sessionId: turn.sessionId });
  assert.equal((await next.finished).status, "completed");
  assert.equal((await other.engine.explain.verify(owner, turn.sessionId)).fault, null);

  // A short failure of S3 only delays a turn. A lasting refusal fails the turn, with the reason.
  fake.next("PUT", { how: "refuse", status: 503 }, { how: "lost" });
  const third = await other.engine.turns.run(owner, { instruction: "three", sessionId: turn.sessionId });
  assert.equal((await third.finished).status, "completed");
  fake.next("PUT", { how: "refuse", status: 403, code: "AccessDenied" });
  await assert.rejects(other.engine.turns.run(owner, { instruction: "four", sessionId: turn.sessionId }), (error) => {
    assert.match(String(error), /opening\.json.* could not be written: S3 responded with 403 AccessDenied/);
    return true;
  });
  const keyless = createAptove({ dataDir, env: { ...env, AWS_SECRET_ACCESS_KEY: "" } });
  await assert.rejects(keyless, { code: "config_invalid", message: /AWS_SECRET_ACCESS_KEY is not set/ });
});

test("[B1] [B3] [R2] kill -9 between a blob in S3 and its row leaves garbage, never a false record", async (t) => {
  const { fake, env, dataDir, open } = await world(t, {
    mayAnswer: ({ method, key }) => !(method === "PUT" && key.endsWith("/run.json.zst")) || !asking.kill("SIGKILL"),
  });
  const { PATH, HOME, TMPDIR, TEST_RUN_MARK } = process.env;
  const asking = spawn(process.execPath, [program, "ask", "one"], {
    cwd: dataDir,
    env: { PATH, HOME, TMPDIR, TEST_RUN_MARK, ...env },
    stdio: "ignore",
  });
  await once(asking, "exit");
  assert.equal(asking.signalCode, "SIGKILL");
  // A time at which the garbage is old enough.
  const { engine } = await open(() => Date.now() + 2 * 3_600_000);
  const owner = await engine.keys.owner();
  const [session] = (await engine.sessions.list(owner, {})).sessions;
  assert.ok(session !== undefined);
  const [turn] = await engine.turns.list(owner, session.id, {});
  assert.ok(turn?.status === "failed" && turn.failures[0].code === "runner_lost");
  assert.ok(fake.objects.has(`team/${turn.blobs.run}.zst`), "the row names what is there");
  assert.equal((await engine.explain.verify(owner, session.id)).fault, null);
  const orphan = `turns/${turn.id}/run.json`;
  const { keys } = await engine.tree.collectGarbage(owner, { dryRun: false });
  assert.ok(keys.includes(orphan) && keys.every((key) => !fake.objects.has(`team/${key}.zst`)), keys.join());
  const next = await (await engine.turns.run(owner, { instruction: "two", sessionId: session.id })).finished;
  assert.equal(next.status, "completed");
});

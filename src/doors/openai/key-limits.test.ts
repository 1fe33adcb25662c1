/** What an API key has of its own: a workspace for new sessions, and limits (O4). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { testOpenAi } from "../../../testing/openai-door.ts";
import { newId } from "../../domain/ids.ts";

test("[O4] a key's new sessions are in its default workspace, in every door, unless the request names another one", async (t) => {
  const { client, person, clientOf } = await testOpenAi(t);
  const member = await person("member");
  const { key, secret } = await client({ key: member.key }).keys.create({ name: "ci", workspaceId: "storefront" });
  assert.equal(key.workspaceId, "storefront");
  const keyed = client({ key: secret });
  await clientOf({ ...member, key: secret }).responses.create({ input: "one" });
  await keyed.execute({ instruction: "two" });
  await keyed.execute({ instruction: "three", workspaceId: "elsewhere" });
  await keyed.sessions.create({ name: "four" });
  const { sessions } = await keyed.sessions.list();
  assert.deepEqual(sessions.map(({ workspaceId }) => workspaceId).toSorted(), [
    "elsewhere",
    "storefront",
    "storefront",
    "storefront",
  ]);
  // A session of before stays where it is, and other keys of the user are as they were.
  const old = await client({ key: member.key }).sessions.create({ name: "old" });
  await keyed.execute({ instruction: "five", sessionId: old.id });
  assert.equal((await keyed.sessions.get(old.id)).workspaceId, null);
});

test("[O4] [H5] a key has its own limits of requests and running turns, and other keys of its user do not", async (t) => {
  const held = Promise.withResolvers<void>();
  const begun = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const { client, person, call, refused } = await testOpenAi(t, {
    script: (_call, n) => {
      begun[n - 1]?.resolve();
      return [{ says: [held.promise, "end"] }];
    },
  });
  const member = await person("member");
  const limits = { concurrentRunsMax: 1, requestsPerMinuteMax: 4 };
  const { key, secret } = await client({ key: member.key }).keys.create({ name: "ci", limits });
  assert.deepEqual(key.limits, limits);
  const as = { ...member, key: secret };
  const execute = "POST /api/ai/agent/execute";
  const running = call(execute, { as, json: { instruction: "one" } });
  await begun[0]?.promise;
  const runs = await refused("runs_limited", execute, { as, json: { instruction: "two" } });
  assert.match(runs.detail, /^1 turns of your key are running, and the limit is 1/);
  const other = call(execute, { as: member, json: { instruction: "three" } });
  await begun[1]?.promise;
  held.resolve();
  await Promise.all([running, other]);
  await call("GET /api/sessions", { as });
  await call("GET /api/sessions", { as });
  const rate = await refused("rate_limited", "GET /api/sessions", { as });
  assert.match(rate.detail, /^the limit is 4 requests of your key per minute/);
  assert.equal(rate["of"], "key");
  await call("GET /api/sessions", { as: member });
});

test("[O4] [H4] a key with limits makes no keys, pairs no device and signs in no browser", async (t) => {
  const { client, engine, person, refused } = await testOpenAi(t);
  const member = await person("member");
  const limits = { requestsPerMinuteMax: 1_000 };
  const { secret } = await client({ key: member.key }).keys.create({ name: "ci", limits });
  const as = { ...member, key: secret };
  await refused("forbidden", "POST /api/keys", { as, json: { name: "more" } });
  await refused("forbidden", "POST /api/devices/pairing-codes", { as, json: {} });
  await assert.rejects(engine.keys.browsers.signIn({ key: secret }, "browser"), { code: "sign_in_refused" });
});

test("[O4] an unknown workspace, and limits that are no limits, are refused", async (t) => {
  const { refused } = await testOpenAi(t);
  for (const limits of [{ concurrentRunsMax: 0 }, { requestsPerMinuteMax: 1.5 }, { tokens: 3 }]) {
    await refused("request_invalid", "POST /api/keys", { json: { name: "x", limits } });
  }
  // The admin of the first org has workspaces, and this is none of them.
  await refused("workspace_unknown", "POST /api/keys", { json: { name: "x", workspaceId: newId() } });
});

/** Contexts over HTTP and from the command line (G1). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { cliWorld } from "../../../../testing/cli.ts";
import { testDoor } from "../../../../testing/http-door.ts";

const at = "/api/contexts/conversation/review";

test("[G1] [H2] a context is put, edited from its version, read as it was, and retired", async (t) => {
  const door = await testDoor(t);
  const content = {
    bootPrompt: "Find faults.",
    modes: { deep: { forceTool: "look" } },
    settings: { maxOutputTokens: 9 },
  };
  const made = await door.call(`PUT ${at}`, { json: { content } });
  assert.equal(made.headers.get("etag"), '"1"');
  const written = (await made.json()) as { version: number; content: typeof content };
  assert.deepEqual([written.content.modes.deep.forceTool, written.content.settings], ["look", content.settings]);
  // The content that was read can be sent again unchanged.
  const again = { json: { content: written.content }, headers: { "if-match": '"1"' } };
  assert.deepEqual(((await (await door.call(`PUT ${at}`, again)).json()) as typeof written).content, written.content);
  const { detail } = await door.refused("context_changed", `PUT ${at}`, again);
  assert.match(detail, /is at version 2/);
  await door.refused("context_changed", `PUT ${at}`, { json: { content } });
  for (const tag of ["*", '"0"', '"01"']) {
    await door.refused("request_invalid", `PUT ${at}`, { json: { content }, headers: { "if-match": tag } });
  }
  // No context has version 0, in the header as in the body.
  const zero = { json: { content }, headers: { "if-match": '"0"' } };
  await door.refused("request_invalid", "PUT /api/contexts/conversation/new", zero);
  await door.refused("request_invalid", "PUT /api/contexts/conversation/new", {
    json: { content, expectedVersion: 0 },
  });
  await door.refused("context_invalid", `PUT ${at}`, { json: { content: { apiKey: "x" }, expectedVersion: 2 } });
  const member = await door.person("member");
  await door.refused("forbidden", `PUT ${at}`, { json: { content }, as: member });
  assert.equal(((await (await door.call(`GET ${at}?version=1`, { as: member })).json()) as typeof written).version, 1);
  await door.call(`DELETE ${at}?expectedVersion=2`);
  await door.refused("not_found", `GET ${at}`);
  await door.refused("not_found", "GET /api/contexts/other/review");
  const versions = await door.client().contexts.versions("conversation", "review");
  assert.deepEqual(
    versions.map(({ version, isRetired }) => [version, isRetired]),
    [
      [3, true],
      [2, false],
      [1, false],
    ],
  );
  const { turnId } = await door.client().execute({ instruction: "x" });
  const { prompt, manifest } = await door.client().turns.context(turnId);
  assert.ok(prompt?.startsWith("Be careful."));
  assert.equal(manifest.conversationContext.version, undefined);
});

test("[G1] [L1] context set, show, history and delete; what show prints is what set takes", async (t) => {
  const world = await cliWorld(t);
  const run = async (...words: string[]): Promise<string> => {
    const { exit, stdout, stderr } = await world.run(["context", ...words]);
    assert.equal(exit, 0, stderr);
    return stdout;
  };
  assert.match(await run("list"), /^agent +default +configuration +Default\nconversation +default +configuration/);
  assert.match(await run("set", "conversation", "review", "--boot-prompt", "Find faults."), /is at version 1/);
  const shown = await run("show", "conversation", "review");
  assert.match(shown, /^boot_prompt = "Find faults\."$/m);
  await world.write("review.toml", shown.replace("Find faults.", "Praise."));
  assert.match(await run("set", "conversation", "review", "--file", "review.toml"), /is at version 2/);
  assert.match(await run("show", "conversation", "review", "--at", "1"), /Find faults/);
  assert.match(await run("history", "conversation", "review"), /^version 2 .*\nversion 1 /);
  const unedited = await world.run(["context", "history", "conversation", "default"]);
  assert.deepEqual([unedited.exit, unedited.stdout.trim()], [0, ""]);
  assert.match(unedited.stderr, /it was never edited/);
  const { turnId } = JSON.parse((await world.run(["--json", "ask", "x", "--context", "review"])).stdout) as {
    turnId: string;
  };
  assert.match((await world.run(["session", "show", "last"])).stdout, /conversation review version 2/, turnId);
  const stale = await world.run(["--json", "context", "set", "conversation", "review", "--name", "x", "--expect", "1"]);
  assert.equal(stale.exit, 1);
  assert.match(stale.stdout + stale.stderr, /context_changed/);
  const mixed = await world.run(["context", "set", "conversation", "review", "--provider", "offline"]);
  assert.match(mixed.stderr, /^error: --provider is for agent contexts only \(usage\)\nfix: .*context set agent/);
  const configured = await world.run(["context", "delete", "conversation", "default"]);
  assert.match(
    configured.stderr,
    /^error: the org keeps no conversation context "default"; a context of the configuration/,
  );
  await run("delete", "conversation", "review");
  const gone = await world.run(["context", "show", "conversation", "review"]);
  assert.match(gone.stderr, /there is no conversation context "review"/);
});

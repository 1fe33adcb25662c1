/** `aptove model list` (G3). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { cliWorld } from "../../../../testing/cli.ts";
import { offlineProvider } from "../../../providers/offline/offline.ts";
import { scriptedProvider } from "../../../providers/scripted/scripted.ts";

test("[G3] [L1] model list shows what the providers offer, with window, price and the date of the price", async (t) => {
  const anthropic = scriptedProvider({ name: "anthropic", model: "claude-sonnet-5" });
  const providers = [
    scriptedProvider({ name: "offline", model: "house-model" }),
    Object.assign(anthropic, { models: async () => [{ id: "claude-next", contextTokens: 4_321 }] }),
  ];
  const on = await cliWorld(t, { providers });
  const { stdout } = await on.run(["model", "list"]);
  assert.match(stdout, /^anthropic\/claude-sonnet-5 +1,000,000 tokens +\$2, \$0\.2, \$10 +read in 20\d\d-\d\d$/m);
  assert.match(stdout, /^anthropic\/claude-next +4,321 tokens +price not known$/m);
  const json = await on.run(["model", "list", "--provider", "anthropic", "--json"]);
  const { models } = JSON.parse(json.stdout) as { models: { model: string; source: { page: string } | null }[] };
  assert.deepEqual(
    models.map(({ model, source }) => [model, source === null]),
    [
      ["claude-sonnet-5", false],
      ["claude-next", true],
    ],
  );
  const unknown = await on.run(["model", "list", "--provider", "nope"]);
  assert.equal(unknown.exit, 2);
  assert.match(unknown.stderr, /nope is not configured.*\nfix: name one of offline, anthropic/);
});

test("[G3] [L3] without a key, another model than the offline one is refused with the way to a key, and the offline one costs nothing", async (t) => {
  const on = await cliWorld(t, { providers: [offlineProvider()] });
  const refused = await on.run(["ask", "--model", "gpt-9", "x"]);
  assert.equal(refused.exit, 1);
  assert.match(
    refused.stderr,
    /^error: "gpt-9" needs the key of a provider: aptove login; .*"offline-1" answers \(provider_unknown\)$/m,
  );
  assert.match((await on.run(["model", "list"])).stdout, /^offline\/offline-1 .*\$0, \$0, \$0$/m);
  assert.match((await on.run(["ask", "--dry-run", "x"])).stdout, /^price: \$0\.0000 to send/m);
});

/** The models that an editor offers (G3, P1). */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { SessionConfigOption } from "@agentclientprotocol/sdk";
import { acpTest } from "../../../../testing/acp/acp-test.ts";
import { requestErrorOf } from "../../../../testing/acp/request-error.ts";
import { scriptedProvider } from "../../../providers/scripted/scripted.ts";

function modelOption(options: readonly SessionConfigOption[] | null | undefined) {
  const found = options?.find(({ id }) => id === "model");
  return found?.type === "select" ? found : assert.fail("there is no option for the model");
}

const valuesOf = (options: readonly SessionConfigOption[] | null | undefined): string[] =>
  modelOption(options).options.flatMap((option) => ("value" in option ? [option.value] : []));

test("[G3] [P1] a session does not wait for the lists of the providers; it offers them when they come, and takes their words", async (t) => {
  const list = Promise.withResolvers<{ id: string; contextTokens: number | null }[]>();
  const own = Object.assign(scriptedProvider({ name: "scripted" }), { models: () => list.promise });
  const other = scriptedProvider({ name: "anthropic", model: "claude-sonnet-5" });
  const world = await acpTest(t, {
    aptove: {
      providers: [own, other],
      overrides: {
        provider: "scripted",
        agent_contexts: { review: { provider: "anthropic" } },
        conversation_contexts: { default: { retrieval: "off" } },
      },
    },
  });
  const connection = await world.connect();
  const { sessionId, configOptions } = await connection.begin();
  const [first] = valuesOf(configOptions);
  assert.equal(first, "scripted-1");
  list.resolve([{ id: "scripted-9", contextTokens: 8_000 }]);
  const later = () =>
    connection
      .updates(sessionId)
      .flatMap((update) => (update.sessionUpdate === "config_option_update" ? [update.configOptions] : []));
  await connection.until(() => later().length > 0);
  const values = valuesOf(later()[0]);
  assert.deepEqual(values.slice(0, 2), ["scripted-1", "scripted-9"]);
  for (const value of ["anthropic/claude-sonnet-5", "context:review"]) assert.ok(values.includes(value), value);
  const shown = modelOption(later()[0]).options.flatMap((option) => ("value" in option ? [option.description] : []));
  assert.ok(shown.includes("8k tokens"));
  assert.ok(shown.includes("1,000k tokens · $2 in, $10 out per million"));

  const set = (value: string) =>
    connection.agent.request("session/set_config_option", { sessionId, configId: "model", value });
  assert.equal(modelOption((await set("scripted/scripted-9")).configOptions).currentValue, "scripted-9");
  await connection.prompt(sessionId, "one");
  assert.equal(own.exchanges.at(-1)?.call.model, "scripted-9");
  await set("anthropic/claude-sonnet-5");
  await connection.prompt(sessionId, "two");
  assert.equal(other.exchanges.at(-1)?.call.model, "claude-sonnet-5");
  await set("context:review");
  await connection.prompt(sessionId, "three");
  assert.equal(other.exchanges.length, 2);
  assert.equal((await requestErrorOf(set("gpt-none"))).code, -32602);
  const again = await world.connect();
  const loaded = await again.load(sessionId);
  // The session has the chosen context now, and the context has a model (S9, G2).
  assert.equal(modelOption(loaded.configOptions).currentValue, "claude-sonnet-5");
  await again.prompt(sessionId, "four");
  assert.equal(other.exchanges.length, 3);
});

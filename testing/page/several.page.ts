/** "Ask several" (U7): one instruction to several models, repositories and forks at once, and one answer is kept. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { closeBrowser, settled } from "./page-world.ts";
import { reasonsWorld } from "./reasons-world.ts";

after(closeBrowser);

test("[U7] [U13] three models answer beside one another, the slowest holds none, one that is refused says so, and one is kept", async (t) => {
  const slow = Promise.withResolvers<void>();
  const world = await reasonsWorld(t, ({ model }) =>
    model === "claude-opus-5" ? [{ says: ["slow ", slow.promise, "but sure"] }] : "quick",
  );
  const tab = await world.tab("/several");
  const askees = tab.getByRole("group").filter({ has: tab.getByLabel("Model or context") });
  await askees.nth(1).waitFor();
  await tab.getByRole("button", { name: "Add another" }).click();
  for (const [at, model] of ["anthropic/claude-sonnet-5", "anthropic/claude-opus-5", "context:default"].entries())
    await askees.nth(at).getByLabel("Model or context").selectOption(model);
  await tab.getByLabel("Instruction").fill("which is better?");
  await askees
    .nth(1)
    .getByText(/^About .* tokens; \$/)
    .waitFor();
  // The last one is refused, once.
  await tab.route("**/agent/execute", async (route) => {
    const { model } = route.request().postDataJSON() as { model?: string };
    if (model === "context:default") await route.abort();
    else await route.continue();
  });
  await tab.getByRole("button", { name: "Ask these 3" }).click();
  const answer = (name: string) => tab.getByRole("region", { name, exact: true });
  await answer("anthropic/claude-sonnet-5").getByText("quick").waitFor();
  await answer("anthropic/claude-opus-5").getByText("slow").waitFor();
  await answer("context Default").getByRole("alert").waitFor();
  await tab.unroute("**/agent/execute");
  await answer("context Default").getByRole("button", { name: "Try again" }).click();
  await answer("context Default").getByText("quick").waitFor();
  assert.equal(await answer("anthropic/claude-opus-5").getByText("but sure").count(), 0);
  slow.resolve();
  await answer("anthropic/claude-opus-5").getByText("slow but sure").waitFor();
  await answer("anthropic/claude-sonnet-5")
    .getByRole("link", { name: /Compare with anthropic\/claude-opus-5/ })
    .click();
  await tab.getByRole("row", { name: /^model anthropic claude-sonnet-5 anthropic claude-opus-5/ }).waitFor();
  await tab.goBack();
  await answer("anthropic/claude-opus-5").getByText("slow but sure").waitFor();
  await answer("anthropic/claude-opus-5").getByRole("button", { name: "Go on with this one" }).click();
  await tab.waitForURL(/\/s\//);
  await tab.getByRole("heading", { name: "which is better?" }).waitFor();
  assert.deepEqual(tab.faults, []);
});

test("[U7] [U12] two working copies are asked the same, and a turn of a conversation is asked again of two models as forks", async (t) => {
  const world = await reasonsWorld(t, ({ model }) => `${model} answers`);
  const tab = await world.tab("/several");
  const askees = tab.getByRole("group").filter({ has: tab.getByLabel("Model or context") });
  for (const [at, repo] of ["shop", "store"].entries()) {
    await askees.nth(at).getByLabel("Model or context").selectOption("anthropic/claude-sonnet-5");
    await askees.nth(at).getByTitle("Repository", { exact: true }).selectOption(repo);
  }
  await tab.getByLabel("Instruction").fill("how is the discount computed?");
  await tab.getByRole("button", { name: "Ask these 2" }).click();
  await tab
    .getByRole("region", { name: "store", exact: true })
    .getByText("Given to the model")
    .or(tab.getByRole("region", { name: "store", exact: true }).getByText("claude-sonnet-5 answers"))
    .first()
    .waitFor();
  await tab
    .getByRole("region", { name: "shop", exact: true })
    .getByRole("link", { name: "Compare with store" })
    .click();
  await tab.getByText("Code and files that differ").waitFor();

  const { sessionId, turnId } = await world.run("first words");
  const second = await world.run("second words", { sessionId });
  await tab.goto(`${world.url}/s/${sessionId}/t/${second.turnId}`);
  await tab.locator(".turn.selected", { hasText: "second words" }).waitFor();
  await tab.keyboard.press(".");
  await tab.getByRole("menuitem", { name: "Ask this of several" }).click();
  const field = tab.getByLabel("Instruction");
  await askees.nth(1).waitFor();
  await settled(tab);
  assert.equal(await field.inputValue(), "second words");
  await tab.getByRole("button", { name: "Ask these 2" }).click();
  const sections = tab.locator(".beside > section");
  await sections.getByText("claude-opus-5 answers").waitFor();
  await tab.getByText(/You go on in the fork that you choose/).waitFor();
  await sections.getByRole("button", { name: "Go on with this one" }).nth(1).click();
  // The conversation goes on: the turns before stand above the answer, and the line between them leads back.
  await tab.locator(".turn").getByText("claude-opus-5 answers").waitFor();
  await tab.locator(".turn", { hasText: "first words" }).waitFor();
  const words = await tab.locator(".turn .instruction").allTextContents();
  assert.deepEqual(words, ["first words", "second words"]);
  const back = tab.getByRole("link", { name: "Go to where it was forked" });
  await back.click();
  await tab.waitForURL(`${world.url}/s/${sessionId}/t/${turnId}`);
  await tab.goBack();
  await back.waitFor();
  const graph = await world.engine.tree.graph(world.owner, sessionId);
  assert.deepEqual(
    graph.forks.map(({ turnId: from, count }) => [from, count]),
    [[turnId, 2]],
  );
  assert.equal(graph.session.headTurnId, second.turnId, "the conversation stays as it is");
  assert.equal(await field.inputValue(), "");
  assert.deepEqual(tab.faults, []);
});

test("[U7] [U13] answers that end while the server is away are shown as ended once it is back", async (t) => {
  const world = await reasonsWorld(t, () => "quick");
  const tab = await world.tab("/several");
  await tab.getByLabel("Instruction").fill("which is better?");
  // The end of the stream arrives, and what is asked then does not.
  await tab.route(/\/api\/turns\/[^/]+\/summary/, (route) => route.abort());
  const failed = tab.waitForEvent("requestfailed", (request) => request.url().endsWith("/summary"));
  await tab.getByRole("button", { name: "Ask these 2" }).click();
  await failed;
  await tab.unroute(/\/api\/turns\/[^/]+\/summary/);
  await tab
    .getByRole("link", { name: /^Compare with/ })
    .first()
    .waitFor();
});

/** Sessions about several repositories in the page (M7): how they are chosen, named and shown. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { repositoriesOf, type RetrievedChunk, type Retriever } from "../../src/retrieval/retriever.ts";
import { askInPage, axeFaults, closeBrowser, pageWorld } from "./page-world.ts";

after(closeBrowser);

/** Has three repositories, and finds one chunk in each that is searched. */
const retriever: Retriever = {
  search: async (query) =>
    repositoriesOf(query).map(({ repo }): RetrievedChunk => ({
      ...{ id: repo, repo, path: "main.ts", startLine: 1, endLine: 1, language: "typescript", symbol: null },
      ...{ text: `code of ${repo}`, hash: repo, commit: null, score: 1 },
    })),
  index: () => assert.fail("nothing is indexed here"),
  list: async () =>
    ["api", "lib", "web"].map((repo, at) => ({
      ...{ repo, root: `/srv/${repo}`, commit: null, files: 2, chunks: 2 },
      ...{ embedding: { model: "test", dimension: 1 }, indexedAt: 9 - at },
    })),
  paths: async ({ repo }) => ["main.ts", `only-${repo}.ts`],
  close: async () => {},
};

test("[M7] [U4] [U6] [U13] a session about several repositories is begun in their order, which its head, sources and files name", async (t) => {
  const held = Promise.withResolvers<void>();
  const script = () => [{ says: ["Both ", held.promise, "of them."] }];
  const world = await pageWorld(t, { retrievers: new Map([["local", retriever]]), script });
  const tab = await world.tab();
  await tab.getByTitle("Effort, context and scope").click();
  const picker = (name: string) => tab.getByTitle(name, { exact: true });
  await picker("Repository").selectOption("web");
  await picker("Repository 2").selectOption("lib");
  await picker("Repository 3").selectOption("api");
  assert.equal(await picker("Repository 4").count(), 0, "there are three");
  assert.deepEqual(await axeFaults(tab), []);
  await picker("Repository 2").selectOption("");
  assert.equal(await picker("Repository 2").inputValue(), "api", "the next one moves up");
  await tab.getByTitle("Effort, context and scope").click();

  const field = tab.getByLabel("Instruction");
  const offered = tab.getByRole("listbox", { name: "Files" }).getByRole("option");
  await field.fill("what is in @main");
  await offered.nth(1).waitFor();
  assert.deepEqual(await offered.allTextContents(), ["web:main.ts", "api:main.ts"]);
  await field.fill("what is in @api:onl");
  await offered.filter({ hasText: "api:only-api.ts" }).waitFor();
  await field.press("Tab");
  assert.equal(await field.inputValue(), "what is in @api:only-api.ts ");
  await askInPage(tab, "what is in both?");

  // It is above the answer while the turn runs.
  await tab.getByText("Given to the model: 2 chunks").click();
  assert.deepEqual(await tab.locator(".given .path").allTextContents(), ["web:main.ts", "api:main.ts"]);
  held.resolve();
  await tab.getByText("Both of them.").waitFor();
  await tab.locator(".thread-head", { hasText: "web, api · " }).waitFor();
  await field.fill("and @only");
  await offered.nth(1).waitFor();
  assert.deepEqual(await offered.allTextContents(), ["web:only-web.ts", "api:only-api.ts"]);
  await field.fill("");
  await tab.getByRole("link", { name: "What it saw" }).click();
  const inspector = tab.getByRole("complementary", { name: "Inspector" });
  await inspector.getByText("web, api", { exact: true }).waitFor();
  await inspector.locator("summary", { hasText: "api:main.ts" }).click();
  await inspector.getByText("code of api").waitFor();
  assert.deepEqual(await axeFaults(tab), []);
  const { sessions } = await world.engine.sessions.list(world.owner, {});
  assert.deepEqual(
    sessions.map(({ repo, otherRepos }) => [repo, otherRepos]),
    [["web", ["api"]]],
  );
  assert.deepEqual(tab.faults, []);
});

test("[M7] [U7] [U13] several models are asked about several repositories", async (t) => {
  const world = await pageWorld(t, { retrievers: new Map([["local", retriever]]), script: () => "An answer." });
  const tab = await world.tab("/several");
  await tab.getByRole("button", { name: "Remove" }).nth(1).click();
  await tab.getByTitle("Repository 2", { exact: true }).selectOption("web");
  assert.deepEqual(await axeFaults(tab), []);
  await tab.getByLabel("Instruction").fill("where?");
  await tab.getByRole("button", { name: /^Ask/ }).click();
  await tab.getByText("An answer.").first().waitFor();
  const { sessions } = await world.engine.sessions.list(world.owner, {});
  assert.deepEqual(
    sessions.map(({ repo, otherRepos }) => [repo, otherRepos]),
    [["api", ["web"]]],
  );
  assert.deepEqual(tab.faults, []);
});

test("[M7] [U4] [U12] the code that a question searches is named above the field before it is asked", async (t) => {
  const world = await pageWorld(t, { retrievers: new Map([["local", retriever]]), script: () => "An answer." });
  const silent = {
    kind: "conversation" as const,
    id: "talk",
    entry: { boot_prompt: "Talk.", retrieval: "off" as const },
  };
  await world.engine.contexts.put(world.owner, silent);
  const tab = await world.tab("/?new", { viewport: { width: 360, height: 740 } });
  const field = tab.getByRole("textbox", { name: "Instruction" });
  const searched = (words: string) => tab.locator("#searched").getByText(words, { exact: true }).waitFor();
  const more = () => tab.getByTitle("Effort, context and scope").click();
  await searched("Searches api");
  await more();
  await tab.getByTitle("Repository 2", { exact: true }).selectOption("web");
  await tab.getByPlaceholder("src/ docs/").fill("src/");
  await tab.getByPlaceholder("src/ docs/").press("Tab");
  await searched("Searches api, web below src/");
  assert.deepEqual(await axeFaults(tab), []);
  await tab.getByTitle("Context", { exact: true }).selectOption("talk");
  await searched("Searches no code");
  await tab.getByTitle("Context", { exact: true }).selectOption("default");
  await tab.getByPlaceholder("src/ docs/").fill("");
  await more();
  await searched("Searches api, web");
  await field.fill("where?");
  await tab.getByRole("button", { name: "Run" }).click();
  await tab.getByText("An answer.").waitFor();
  await searched("Searches api, web");
  await tab.goto(`${world.url}/?new`);
  await searched("Searches api");
  await more();
  await tab.getByTitle("Repository", { exact: true }).selectOption("");
  await searched("Searches no code");
  assert.deepEqual(tab.faults, []);
});

test("[M7] [U4] [U13] a question that is sent before the repositories are known is about the one that is named then", async (t) => {
  const world = await pageWorld(t, { retrievers: new Map([["local", retriever]]), script: () => "An answer." });
  const tab = await world.tab("/costs");
  const [asked, known] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await tab.route("**/api/indexes", async (route) => {
    asked.resolve();
    await known.promise;
    await route.continue();
  });
  await tab.keyboard.press("/");
  await asked.promise;
  await askInPage(tab, "where?");
  // A question that did not wait would have its answer before this one.
  await tab.evaluate("fetch('/api/health').then((answer) => answer.text())");
  known.resolve();
  await tab.getByText("An answer.").waitFor();
  const { sessions } = await world.engine.sessions.list(world.owner, {});
  assert.deepEqual(
    sessions.map(({ repo }) => repo),
    ["api"],
  );
  assert.deepEqual(tab.faults, []);
});

/** Conversations in the page (U4): streaming, resuming, hostile text, and what happens when others act at the same time. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { askInPage, closeBrowser, pageWorld } from "./page-world.ts";
import { startedProgram } from "./started-program.ts";

after(closeBrowser);

test("[U4] [U13] an answer streams, and a reload in the middle of it loses nothing", async (t) => {
  const held = Promise.withResolvers<void>();
  const world = await pageWorld(t, {
    script: () => [{ says: ["The **first** half", held.promise, " and the second."] }],
  });
  const tab = await world.tab();
  await askInPage(tab, "go");
  await tab.getByText("The first half").waitFor();
  assert.equal(await tab.locator("[aria-busy=true]").count(), 1);
  await tab.reload();
  await tab.getByText("The first half").waitFor();
  held.resolve();
  await tab.getByText("The first half and the second.").waitFor();
  await tab.locator("[aria-busy=true]").waitFor({ state: "detached" });
  assert.equal(await tab.locator(".markdown strong", { hasText: "first" }).count(), 1);
  assert.deepEqual(tab.faults, []);
});

test("[U4] [U13] attached files survive a reload with the text, and the page says of larger ones that they do not", async (t) => {
  const world = await pageWorld(t, { script: () => "seen" });
  const tab = await world.tab();
  const choose = async (name: string, size: number): Promise<void> => {
    await tab
      .getByLabel("Attach a file")
      .setInputFiles({ name, mimeType: "text/plain", buffer: Buffer.alloc(size, "word ") });
    await tab.locator(".attached", { hasText: name }).waitFor();
  };
  await tab.getByLabel("Instruction").fill("look at this");
  await choose("small.txt", 20_000);
  await tab.reload();
  await tab.locator(".attached", { hasText: "small.txt" }).waitFor();
  assert.equal(await tab.getByLabel("Instruction").inputValue(), "look at this");
  await choose("large.txt", 4_000_000);
  await tab.getByText(/^These files are too large to be kept/).waitFor();
  await tab.getByRole("button", { name: "Remove large.txt" }).click();
  await tab.getByText(/^These files are too large to be kept/).waitFor({ state: "detached" });
  await tab.reload();
  await tab.locator(".attached", { hasText: "small.txt" }).waitFor();
  await tab.getByRole("button", { name: "Run", exact: true }).click();
  await tab.getByText("seen").waitFor();
  assert.ok(JSON.stringify(world.provider.exchanges.at(-1)?.request).includes("word word word"));
  await tab.goto(world.url);
  await tab.getByLabel("Instruction").waitFor();
  assert.equal(await tab.locator(".attached").count(), 0, "what was sent is no draft");
  assert.deepEqual(tab.faults, []);
});

test("[U4] [U13] a server that stops listening in the middle of an answer is shown as away, and the answer goes on", async (t) => {
  const held = Promise.withResolvers<void>();
  const world = await pageWorld(t, { script: () => [{ says: ["one ", held.promise, "two"] }] });
  const tab = await world.tab();
  await askInPage(tab, "go");
  await tab.locator(".markdown", { hasText: "one" }).waitFor();
  await world.stopListening();
  await tab.getByText(/^As of .*reconnecting/).waitFor();
  assert.ok(await tab.locator(".markdown", { hasText: "one" }).isVisible(), "what was there stays");
  held.resolve();
  await world.listenAgain();
  await tab.locator(".markdown", { hasText: "one two" }).waitFor();
  await tab.getByText(/^As of .*reconnecting/).waitFor({ state: "detached" });
});

test("[U4] [U13] a turn that the list shows as completed before its stream is there again is followed to its end", async (t) => {
  const held = Promise.withResolvers<void>();
  const world = await pageWorld(t, { script: () => [{ says: ["one ", held.promise, "two"] }] });
  const tab = await world.tab();
  await askInPage(tab, "go");
  await tab.locator(".markdown", { hasText: "one" }).waitFor();
  const streamMay = Promise.withResolvers<void>();
  await tab.route(/\/api\/turns\/[^/]+\/events/, async (route) => {
    await streamMay.promise;
    await route.continue();
  });
  await world.stopListening();
  await tab.getByText(/^As of .*reconnecting/).waitFor();
  held.resolve();
  await world.listenAgain();
  await tab.getByRole("button", { name: "Run", exact: true }).waitFor();
  streamMay.resolve();
  await tab.locator(".markdown", { hasText: "one two" }).waitFor();
});

test("[U4] [U13] the steps of a turn that has ended say that they are being read until their last event is there", async (t) => {
  const world = await pageWorld(t, { script: () => "one two" });
  const turn = await world.engine.turns.run(world.owner, { instruction: "go" });
  await turn.finished;
  const tab = await world.tab(`/s/${turn.sessionId}`);
  await tab.locator(".markdown", { hasText: "one two" }).waitFor();
  // A proxy cuts the stream before its end.
  await tab.route(/\/api\/turns\/[^/]+\/events/, async (route) => {
    const response = await route.fetch();
    const [first = ""] = (await response.text()).split(/(?=^id:)/m);
    await route.fulfill({ response, body: first });
  });
  await tab.getByRole("button", { name: "Steps" }).click();
  await tab.getByText("Reading the steps").waitFor();
  await tab.unroute(/\/api\/turns\/[^/]+\/events/);
  await tab.getByText("Reading the steps").waitFor({ state: "detached" });
  await tab.locator(".markdown", { hasText: "one two" }).waitFor();
});

test("[U4] [U13] a server that is killed in the middle of an answer and started again: the turn has failed, with its text so far", async (t) => {
  const world = await pageWorld(t);
  const started = await startedProgram(t, { env: { APTOVE_OFFLINE_DELAY_MS: "40" } });
  const tab = await world.anonymousTab("/");
  await tab.goto(started.address);
  await tab.locator(".shell").waitFor();
  await askInPage(tab, "how is a user greeted?");
  await tab.locator(".markdown", { hasText: "built-in" }).waitFor();
  await started.kill();
  await tab.getByText(/^As of .*reconnecting/).waitFor();
  await started.again();
  await tab.getByText("runner_lost").first().waitFor();
  await tab.locator(".markdown", { hasText: "built-in" }).waitFor();
});

const hostile = [
  "<img src=x onerror=\"document.title='owned'\"> <script>document.title='owned'</script>",
  "[bad](javascript:document.title='owned') [data](data:text/html,x) ![image](https://evil.example/x.png)",
  "<a href=\"javascript:document.title='owned'\">x</a> <style>body{display:none}</style> <iframe src=/></iframe>",
  "| a | b |\n|---|---|\n| <b onclick=alert(1)>c</b> | `</code><script>` |",
  "```html\n<script>document.title='owned'</script>\n```",
  "**never closed",
].join("\n\n");

test("[U1] [U4] [U13] hostile Markdown and names stay text: nothing runs, and the policy had nothing to refuse", async (t) => {
  const world = await pageWorld(t, { script: () => hostile });
  const requested: string[] = [];
  const tab = await world.tab();
  tab.on("request", (request) => void requested.push(request.url()));
  await askInPage(tab, `<img src=x onerror=alert(1)> \u202egnp.exe`);
  await tab.getByText("never closed").waitFor();
  assert.equal(await tab.locator(".markdown img, .markdown script, .markdown iframe, .markdown style").count(), 0);
  assert.equal(await tab.locator(".markdown a").count(), 0);
  assert.notEqual(await tab.title(), "owned");
  assert.ok(await tab.getByText("<iframe src=/>").first().isVisible());
  await tab.getByRole("heading", { name: /⟨U\+202e⟩gnp\.exe/ }).waitFor();
  assert.deepEqual(
    requested.filter((one) => !one.startsWith(world.url)),
    [],
  );
  assert.deepEqual(tab.faults, []);
});

test("[U4] [V4] a running turn is steered and stopped from the page", async (t) => {
  const held = Promise.withResolvers<void>();
  const world = await pageWorld(t, {
    script: (_call, n) => (n === 1 ? [{ says: ["begun ", held.promise, "."] }] : "After it."),
  });
  const tab = await world.tab();
  await askInPage(tab, "go");
  await tab.getByText("begun").waitFor();
  await tab.getByLabel("Instruction").fill("be brief");
  await tab.getByRole("button", { name: "Send now" }).click();
  held.resolve();
  await tab.getByText("be brief").waitFor();
  await tab.getByText("After it.").waitFor();
  assert.deepEqual(tab.faults, []);
});

test("[U4] [S5] a head that has moved is shown, and the instruction is not lost", async (t) => {
  const world = await pageWorld(t, { script: (_call, n) => `answer ${n}` });
  const first = await world.engine.turns.run(world.owner, { instruction: "one" });
  await first.finished;
  const tab = await world.tab(`/s/${first.sessionId}`);
  await tab.getByText("answer 1").waitFor();
  // The page must not learn of it by itself before it sends.
  await tab.route("**/api/sessions?*", (route) => route.abort());
  const second = await world.engine.turns.run(world.owner, { instruction: "two", sessionId: first.sessionId });
  await second.finished;
  await askInPage(tab, "three");
  await tab.getByText(/went on elsewhere/).waitFor();
  await tab.getByText("answer 2").waitFor();
  assert.equal(await tab.getByLabel("Instruction").inputValue(), "three");
  await tab.getByRole("button", { name: "Run" }).click();
  await tab.getByText("answer 3").waitFor();
  assert.equal(await tab.getByLabel("Instruction").inputValue(), "");
});

test("[U3] [U4] [U13] two tabs show the same turn, and the list finds it by its words", async (t) => {
  const held = Promise.withResolvers<void>();
  const world = await pageWorld(t, { script: () => [{ says: ["one ", held.promise, "two unmistakable"] }] });
  const tab = await world.tab();
  await askInPage(tab, "go");
  await tab.locator(".markdown", { hasText: "one" }).waitFor();
  const other = await tab.context().newPage();
  await other.goto(tab.url());
  await other.locator(".markdown", { hasText: "one" }).waitFor();
  await other.locator(".side .mark.run").waitFor();
  held.resolve();
  for (const each of [tab, other]) await each.getByText("two unmistakable").waitFor();
  await other.getByRole("searchbox").fill("unmistakable");
  await other.getByText("1 found").waitFor();
  await other.locator(".hit-match").first().click();
  await other.getByRole("complementary", { name: "Inspector" }).waitFor();
});

test("[U5] [U7] a turn is forked, run again, compared and made the head; the tree shows the branches", async (t) => {
  const world = await pageWorld(t, { script: (_call, n) => `answer ${n}` });
  const first = await world.engine.turns.run(world.owner, { instruction: "one" });
  await first.finished;
  const second = await world.engine.turns.run(world.owner, { instruction: "two", sessionId: first.sessionId });
  await second.finished;
  const tab = await world.tab(`/s/${first.sessionId}`);
  const act = async (turn: number, name: string): Promise<void> => {
    await tab.getByRole("button", { name: `Actions of turn ${turn}` }).click();
    await tab.getByRole("menuitem", { name }).click();
  };
  await tab.getByText("answer 2").waitFor();
  await act(2, "Run again beside it");
  await tab.getByText("answer 3").waitFor();
  const branches = tab.getByRole("group", { name: "Branch 2 of 2" });
  await branches.getByRole("button", { name: "Previous branch" }).click();
  await tab.getByText("answer 2").waitFor();
  await act(2, "Mark for a comparison");
  await act(2, "Make it the head");
  await tab.getByText("answer 2").waitFor();
  assert.equal((await world.engine.sessions.get(world.owner, first.sessionId)).headTurnId, second.turnId);
  await tab.getByRole("group", { name: "Branch 1 of 2" }).getByRole("button", { name: "Next branch" }).click();
  await tab.getByText("answer 3").waitFor();
  await act(3, "Compare with the marked turn");
  await tab.getByRole("heading", { name: "Comparison" }).waitFor();
  await tab.getByText("answer 2").first().waitFor();
  await tab.goBack();
  await tab.getByRole("link", { name: "Tree" }).click();
  await tab.getByRole("treeitem").first().waitFor();
  assert.equal(await tab.getByRole("treeitem").count(), 3);
  await tab.getByRole("treeitem").filter({ hasText: "one" }).click();
  await tab.getByRole("tree").getByRole("button", { name: "Actions of turn 1" }).click();
  await tab.getByRole("menuitem", { name: "Fork here" }).click();
  await tab.getByText(/^What you ask now begins a fork at turn 1/).waitFor();
  assert.deepEqual(tab.faults, []);
});

test("[M6] [U4] a turn is pinned and unpinned from its menu, and says that it is", async (t) => {
  const world = await pageWorld(t, {});
  const { sessionId, finished } = await world.engine.turns.run(world.owner, { instruction: "one" });
  await finished;
  const tab = await world.tab(`/s/${sessionId}`);
  const act = async (name: RegExp): Promise<void> => {
    await tab.getByRole("button", { name: "Actions of turn 1" }).click();
    await tab.getByRole("menuitem", { name }).click();
  };
  await tab.getByText("answer 1").waitFor();
  await act(/^Pin it/);
  await tab.getByText("pinned", { exact: true }).waitFor();
  const [pin] = await world.engine.sessions.pins.list(world.owner, sessionId);
  assert.equal(pin?.text, "one\n\nanswer 1");
  await act(/^Unpin it/);
  await tab.getByText("pinned", { exact: true }).waitFor({ state: "detached" });
  assert.deepEqual(await world.engine.sessions.pins.list(world.owner, sessionId), []);
  assert.deepEqual(tab.faults, []);
});

test("[U5] [U12] a turn gets a name at the keyboard, the tree shows it, and a fork has it", async (t) => {
  const world = await pageWorld(t, {});
  const { sessionId, finished } = await world.engine.turns.run(world.owner, { instruction: "one" });
  const { id } = await finished;
  const tab = await world.tab(`/s/${sessionId}`);
  await tab.getByText("answer 1").waitFor();
  await tab.keyboard.press("F2");
  const field = tab.getByRole("textbox", { name: "Name of the turn" });
  await field.fill("a good start");
  await field.press("Enter");
  await tab.locator(".turn .turn-name", { hasText: "a good start" }).waitFor();
  await tab.getByRole("link", { name: "Tree" }).click();
  await tab.getByRole("treeitem").filter({ hasText: "a good start" }).waitFor();
  const fork = await world.engine.sessions.create(world.owner, { forkOf: id });
  assert.deepEqual(
    fork.turnNames.map(({ name }) => name),
    ["a good start"],
  );
  await tab.goto(`${world.url}/s/${fork.id}`);
  await tab.locator(".turn .turn-name", { hasText: "a good start" }).waitFor();
  await tab.keyboard.press(".");
  await tab.getByRole("menuitem", { name: /^Change its name/ }).click();
  await field.fill("");
  await field.press("Enter");
  await tab.locator(".turn-name").waitFor({ state: "detached" });
  assert.equal(
    (await world.engine.sessions.turnNames.list(world.owner, sessionId)).length,
    1,
    "the origin keeps its own",
  );
  assert.deepEqual(tab.faults, []);
});

test("[U4] [U13] a turn is shown also if the turns were read before it began and the session after it ended", async (t) => {
  const world = await pageWorld(t, { script: (_call, n) => `answer ${n}` });
  const first = await world.engine.turns.run(world.owner, { instruction: "one" });
  await first.finished;
  const tab = await world.tab("/costs");
  await tab.route(/\/api\/sessions\?/, (route) => route.abort());
  const areRead = Promise.withResolvers<void>();
  const hasEnded = Promise.withResolvers<void>();
  await tab.route(/\/api\/sessions\/[^/?]+\/turns/, async (route) => {
    const response = await route.fetch();
    areRead.resolve();
    await hasEnded.promise;
    await route.fulfill({ response });
  });
  await tab.route(/\/api\/sessions\/[^/?]+$/, async (route) => {
    await hasEnded.promise;
    await route.continue();
  });
  await tab.getByRole("link", { name: /^one 1 turn/ }).click();
  await areRead.promise;
  const second = await world.engine.turns.run(world.owner, { instruction: "two", sessionId: first.sessionId });
  await second.finished;
  hasEnded.resolve();
  await tab.getByText("answer 2").waitFor();
});

test("[U4] [U5] [U6] [U7] [U9] [T4] an interrupted turn says so in every view, and tokens that are not known are not 0", async (t) => {
  const held = Promise.withResolvers<void>();
  const world = await pageWorld(t, { script: () => [{ says: ["begun ", held.promise, "."] }] });
  const tab = await world.tab();
  await askInPage(tab, "go");
  await tab.getByText("begun").waitFor();
  await tab.getByRole("button", { name: "Stop" }).click();
  held.resolve();
  const facts = tab.locator(".turn footer .turn-facts");
  await facts.getByText("interrupted").waitFor();
  await facts.getByText("tokens unknown").waitFor();
  await tab
    .locator(".thread-head")
    .getByText(/1 turn · tokens unknown/)
    .waitFor();
  await tab.locator(".row", { hasText: "interrupted" }).waitFor();
  await tab.getByRole("link", { name: "What it saw" }).click();
  await tab
    .locator(".inspector")
    .getByText(/tokens unknown · interrupted$/)
    .waitFor();
  const turn = new URL(tab.url()).pathname.split("/").at(-1);
  await tab.getByRole("link", { name: "Tree" }).click();
  await tab.getByRole("treeitem").getByText("interrupted").waitFor();
  await tab.goto(`${world.url}/compare/${turn}/${turn}`);
  await tab
    .getByText(/ · interrupted · .*tokens unknown/)
    .first()
    .waitFor();
  await tab.goto(`${world.url}/costs`);
  await tab.locator(".totals").getByText("tokens unknown").waitFor();
  assert.equal(await tab.locator(".sums").first().getByRole("cell", { name: "unknown", exact: true }).count(), 2);
  assert.deepEqual(tab.faults, []);
});

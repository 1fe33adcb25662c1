/** Approvals in the page (U8): the exact change, on a phone, answered here or elsewhere. */
import assert from "node:assert/strict";
import { after, test, type TestContext } from "node:test";
import type { Locator } from "playwright-core";
import { newId } from "../../src/domain/ids.ts";
import { permittingWorkspaces } from "../permitting-workspaces.ts";
import { toolWorld } from "../tool-world.ts";
import { axeFaults, closeBrowser, pageWorld, type Tab } from "./page-world.ts";

after(closeBrowser);

const phone = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };
const edit = { path: "discount.ts", find: "total > 100", replace: "total >= 100" };

test("[U8] [U13] a parked turn shows the exact change on a phone; allowing it writes the file, and the turn goes on", async (t) => {
  const { tools, put, get } = await toolWorld(t);
  await put("discount.ts", "if (total > 100) {\n  discount();\n}\n");
  const script = (_call: unknown, n: number) => (n === 1 ? [{ calls: "edit", with: edit }] : "It is changed.");
  const world = await pageWorld(t, { tools, script });
  const tab = await world.tab("/approvals", phone);
  await tab.getByText("Nothing waits for you").waitFor();
  const turn = await world.engine.turns.run(world.owner, { instruction: "change it", mode: "edit" });
  await turn.finished;
  const card = tab.getByRole("region", { name: /waits for you/ });
  await card.locator("tr.removed", { hasText: "if (total > 100) {" }).waitFor();
  await card.locator("tr.added", { hasText: "if (total >= 100) {" }).waitFor();
  // What stays around the change tells where it is.
  await card.locator("tr.same", { hasText: "discount();" }).getByText("discount();").waitFor();
  assert.match(await tab.title(), /^\(1\)/);
  await card.getByRole("button", { name: "Allow once" }).click();
  await tab.getByText("Nothing waits for you").waitFor();
  const answer = await tab.context().newPage();
  await answer.goto(`${world.url}/s/${turn.sessionId}`);
  await answer.getByText("It is changed.").waitFor();
  assert.match(await get("discount.ts"), /total >= 100/);
  const { headTurnId } = await world.engine.sessions.get(world.owner, turn.sessionId);
  assert.notEqual(headTurnId, turn.turnId);
  assert.deepEqual(tab.faults, []);
});

test("[U8] the name of a call that has no view of its own is shown without invisible characters", async (t) => {
  const { tools } = await toolWorld(t);
  const world = await pageWorld(t, { tools, script: () => [{ calls: "run", with: { command: "echo" } }] });
  await (
    await world.engine.turns.run(world.owner, { instruction: "go", mode: "edit" })
  ).finished;
  const tab = await world.tab();
  await tab.route("**/api/approvals", async (route) => {
    const response = await route.fetch();
    const { approvals } = (await response.json()) as { approvals: object[] };
    const renamed = approvals.map((call) => ({ ...call, name: "re\u202edael", view: null }));
    await route.fulfill({ response, json: { approvals: renamed } });
  });
  await tab.goto(`${world.url}/approvals`);
  await tab.getByRole("heading", { name: "The model wants to use re⟨U+202e⟩dael" }).waitFor();
  // The page asks again from time to time, also while the server ends.
  await tab.unrouteAll({ behavior: "wait" });
});

test("[U8] [V5] the question of a running turn is denied with a reason, which the model receives", async (t) => {
  const { tools } = await toolWorld(t);
  const script = (_call: unknown, n: number) =>
    n === 1 ? [{ calls: "run", with: { command: "echo one;          rm -rf /" } }] : "Then not.";
  const world = await pageWorld(t, { tools, script });
  const tab = await world.tab("/approvals", phone);
  const turn = await world.engine.turns.run(world.owner, {
    instruction: "go",
    mode: "edit",
    askApproval: async () => null,
  });
  const card = tab.getByRole("region", { name: /waits for you/ });
  await card.getByText("·×10").first().waitFor();
  await card.getByPlaceholder("No, because …").fill("far too dangerous");
  await card.getByRole("button", { name: "No", exact: true }).click();
  await tab.getByText("Nothing waits for you").waitFor();
  await turn.finished;
  assert.ok(JSON.stringify(world.provider.exchanges.at(-1)?.request).includes("far too dangerous"));
});

test("[U8] [U13] an answer that does not reach the server is no answer: the question is still there and can be answered", async (t) => {
  const { tab, card } = await waitingCall(t, "echo x");
  await tab.route("**/agent/execute", (route) => route.abort());
  await card.getByRole("button", { name: "Allow once" }).click();
  await card.getByRole("alert").getByText("The server does not answer.").waitFor();
  await tab.unroute("**/agent/execute");
  await card.getByRole("button", { name: "Allow once" }).click();
  await tab.getByText("Nothing waits for you").waitFor();
});

test("[U8] a question that was answered elsewhere disappears without an error", async (t) => {
  const { tools } = await toolWorld(t);
  const script = (_call: unknown, n: number) => (n === 1 ? [{ calls: "run", with: { command: "echo x" } }] : "Done.");
  const world = await pageWorld(t, { tools, script });
  const tab = await world.tab("/approvals", phone);
  const { turnId } = await world.engine.turns.run(world.owner, {
    instruction: "go",
    mode: "edit",
    askApproval: async () => null,
  });
  await tab.getByRole("region", { name: /waits for you/ }).waitFor();
  const [question = assert.fail("no question")] = await world.engine.turns.questions(world.owner, turnId);
  await world.engine.turns.answerQuestion(world.owner, { turnId, callId: question.callId, approved: true });
  await tab.getByText("Nothing waits for you").waitFor();
  assert.equal(await tab.getByRole("alert").count(), 0);
});

test("[U8] [V5] [U13] what a chat at the desk asks about is shown with its change on a phone, and the answer reaches the chat", async (t) => {
  const script = () => [{ calls: "write", callId: "c1", with: { path: "src/a.ts" } }];
  const world = await pageWorld(t, { script });
  const tab = await world.tab("/approvals", phone);
  const tools = [{ name: "write", parameters: { type: "object" }, effect: "write" as const }];
  const turn = await world.engine.turns.run(world.owner, { instruction: "change it", mode: "edit", tools });
  await turn.finished;
  const diff = { type: "diff" as const, path: "/home/ada/shop/src/a.ts", oldText: "one\n", newText: "two\n" };
  const view = { title: "Write src/a.ts", kind: "edit" as const, locations: [], content: [diff], permission: null };
  const question = { turnId: turn.turnId, callId: "c1", askerId: newId(), view };
  assert.equal(await world.engine.turns.askQuestion(world.owner, question), null);
  const card = tab.getByRole("region", { name: /waits for you/ });
  await card.locator("tr.removed", { hasText: "one" }).waitFor();
  await card.locator("tr.added", { hasText: "two" }).waitFor();
  await card.getByRole("button", { name: "Allow once" }).click();
  await tab.getByText("Nothing waits for you").waitFor();
  assert.deepEqual(await world.engine.turns.askQuestion(world.owner, question), { approved: true });
  assert.deepEqual(tab.faults, []);
});

test("[U8] [P4] [U13] a call is allowed permanently with the words of what that allows, and the same call is not asked again", async (t) => {
  const { tools } = await toolWorld(t);
  const kept = await permittingWorkspaces();
  const script = (_call: unknown, n: number) =>
    n % 2 === 1 ? [{ calls: "run", with: { command: "npm test" } }] : "Done.";
  const world = await pageWorld(t, { tools, script, workspaces: kept.workspaces });
  kept.settle(world.deps);
  const request = { instruction: "go", mode: "edit", workspaceId: "default" };
  const tab = await world.tab("/approvals", phone);
  await tab.getByText("Nothing waits for you").waitFor();
  await (
    await world.engine.turns.run(world.owner, request)
  ).finished;
  const card = tab.getByRole("region", { name: /waits for you/ });
  await card.getByText('"Always" allows: npm test, in this workspace.').waitFor();
  assert.deepEqual(await axeFaults(tab), []);
  await card.getByRole("button", { name: "Always this, here" }).click();
  await tab.getByText("Nothing waits for you").waitFor();
  assert.equal((await kept.keys()).length, 1);
  assert.equal((await (await world.engine.turns.run(world.owner, request)).finished).status, "completed");
  assert.deepEqual(tab.faults, []);
});

test("[U8] [P4] [U13] where a call cannot be allowed permanently, the page says why", async (t) => {
  const { card } = await waitingCall(t, "npm test");
  await card.getByText("This session has no workspace that could keep a permanent permission.").waitFor();
  assert.equal(await card.getByRole("button", { name: /Always/ }).count(), 0);
});

test("[U8] [U10] [F11] [U13] a turn that waits for a budget says which one, what is spent, and what allowing does", async (t) => {
  const world = await pageWorld(t, { script: () => "the answer" });
  const budget = { scope: "person", period: "total", unit: "tokens", limit: 10, onLimit: "wait" } as const;
  const { id } = await world.engine.people.budgets.set(world.owner, budget);
  const tab = await world.tab("/approvals", phone);
  const turn = await world.engine.turns.run(world.owner, { instruction: "a question" });
  await turn.finished;
  const card = tab.getByRole("region", { name: /waits for you/ });
  await card.getByRole("heading", { name: "The next call of the model could pass a budget" }).waitFor();
  await card
    .getByText(new RegExp(`budget ${id.slice(-8)} .for the person who asked, in total. has 10 tokens left`))
    .waitFor();
  await card.getByText('"Allow once" makes this one call and counts it in the budget').waitFor();
  assert.doesNotMatch(await card.innerText(), /pass_budget|model wants|Each call like this/);
  assert.equal(await card.getByPlaceholder("No, because …").count(), 0, "the model would not receive it");
  assert.deepEqual(await axeFaults(tab), []);
  await card.getByRole("button", { name: "Allow once" }).click();
  await tab.getByText("Nothing waits for you").waitFor();
  assert.deepEqual(tab.faults, []);
});

/** The card of a command that waits for the person on a phone, and that no workspace could remember. */
async function waitingCall(t: TestContext, command: string): Promise<{ tab: Tab; card: Locator }> {
  const { tools } = await toolWorld(t);
  const script = (_call: unknown, n: number) => (n === 1 ? [{ calls: "run", with: { command } }] : "Done.");
  const world = await pageWorld(t, { tools, script });
  const tab = await world.tab("/approvals", phone);
  await (
    await world.engine.turns.run(world.owner, { instruction: "go", mode: "edit" })
  ).finished;
  return { tab, card: tab.getByRole("region", { name: /waits for you/ }) };
}

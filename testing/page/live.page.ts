/** The live state of the page (U3, U4, U8): one stream of news, bad proxies, no network, and what happens when something waits. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { limits } from "../../src/domain/limits.ts";
import { toolWorld } from "../tool-world.ts";
import { askInPage, closeBrowser, pageWorld, type Tab } from "./page-world.ts";
import { unfitProxy } from "./unfit-proxies.ts";

after(closeBrowser);

test("[U3] [U13] the page learns of a change by the stream, and does not ask again and again", async (t) => {
  const world = await pageWorld(t);
  const lists: string[] = [];
  const tab = await world.tab();
  await tab.getByText("There are no sessions yet.").waitFor();
  // The first news say to read everything.
  await tab.waitForTimeout(1_000);
  tab.on("request", (request) => void (request.url().includes("/api/sessions?limit=50") && lists.push(request.url())));
  await tab.waitForTimeout(4_000);
  assert.deepEqual(lists, [], "nothing changed, so nothing is asked");
  const { id } = await world.engine.sessions.create(world.owner, { name: "made elsewhere" });
  await tab.locator(".row", { hasText: "made elsewhere" }).waitFor({ timeout: 1_500 });
  await world.engine.sessions.update(world.owner, id, { name: "renamed elsewhere" });
  await tab.locator(".row", { hasText: "renamed elsewhere" }).waitFor({ timeout: 1_500 });
  await world.engine.tree.remove(world.owner, id);
  await tab.getByText("There are no sessions yet.").waitFor({ timeout: 1_500 });
  assert.deepEqual(tab.faults, []);
});

test("[U3] [U4] [U13] an open conversation that is older than the newest sessions is shown as it is now", async (t) => {
  let now = Date.now() - 1_000_000;
  const world = await pageWorld(t, { now: () => (now += 1) });
  const { engine, owner } = world;
  const { id } = await engine.sessions.create(owner, { name: "very old" });
  for (let at = 0; at < limits.changesSessionsMax; at++) await engine.sessions.create(owner, { name: `newer ${at}` });
  const tab = await world.tab();
  const followed = tab.waitForRequest((request) => request.url().includes(`/api/events?sessionId=${id}`));
  await tab.goto(`${world.url}/s/${id}`);
  await tab.getByRole("heading", { name: "very old" }).waitFor();
  await followed;
  await engine.sessions.update(owner, id, { name: "renamed elsewhere" });
  await tab.getByRole("heading", { name: "renamed elsewhere" }).waitFor({ timeout: 3_000 });
  assert.deepEqual(tab.faults, []);
});

test("[U3] [U4] [V2] [U13] behind a proxy that holds streams back, the page asks instead, and a running answer comes in pieces", async (t) => {
  const held = Promise.withResolvers<void>();
  const world = await pageWorld(t, { script: () => [{ says: ["first half", held.promise, ", second half"] }] });
  const proxy = await unfitProxy(t, world.url, "buffers");
  const { code } = await world.engine.keys.browsers.code(world.owner);
  const tab = await world.anonymousTab("/");
  await tab.goto(`${proxy.url}/#code=${code}`);
  await tab.locator(".shell").waitFor();
  await askInPage(tab, "go");
  await tab.locator(".markdown", { hasText: "first half" }).waitFor({ timeout: 20_000 });
  assert.equal(await tab.getByText(/^As of .*reconnecting/).count(), 0);
  held.resolve();
  await tab.locator(".markdown", { hasText: "first half, second half" }).waitFor();
  await world.engine.sessions.create(world.owner, { name: "made elsewhere" });
  await tab.locator(".row", { hasText: "made elsewhere" }).waitFor();
  assert.ok(proxy.asked.some((path) => path.includes("until=now")));
  assert.deepEqual(tab.faults, []);
});

test("[U3] [U4] [V2] [U13] a proxy that cuts connections loses nothing, doubles nothing, and the page never says that it is offline", async (t) => {
  const gates = Array.from({ length: 3 }, () => Promise.withResolvers<void>());
  const says = ["zero", ...gates.flatMap(({ promise }, at) => [promise, ` and ${at + 1}`])];
  const world = await pageWorld(t, { script: () => [{ says }] });
  const proxy = await unfitProxy(t, world.url, "cuts");
  const { code } = await world.engine.keys.browsers.code(world.owner);
  const tab = await world.anonymousTab("/");
  await tab.goto(`${proxy.url}/#code=${code}`);
  await tab.locator(".shell").waitFor();
  await tab.evaluate(`new MutationObserver(() => {
    if (document.body.textContent.includes("reconnecting")) document.documentElement.dataset.flashed = "yes";
  }).observe(document.body, { childList: true, subtree: true, characterData: true })`);
  await askInPage(tab, "go");
  let text = "zero";
  await tab.locator(".markdown", { hasText: text }).waitFor();
  for (const [at, gate] of gates.entries()) {
    // Those that are open now are streams: every other answer has ended.
    await tab.waitForTimeout(500);
    assert.ok(proxy.cut() >= 1);
    gate.resolve();
    text += ` and ${at + 1}`;
    await tab.getByText(text, { exact: true }).waitFor();
  }
  await world.engine.sessions.create(world.owner, { name: "made elsewhere" });
  await tab.locator(".row", { hasText: "made elsewhere" }).waitFor();
  assert.equal(await tab.evaluate("document.documentElement.dataset.flashed"), undefined);
});

test("[U4] [U13] without network in mid-answer the page keeps what it has and says as of when; back online the answer goes on, and nothing comes twice", async (t) => {
  const held = Promise.withResolvers<void>();
  const world = await pageWorld(t, { script: () => [{ says: ["one ", held.promise, "two"] }] });
  const tab = await world.tab();
  await askInPage(tab, "go");
  await tab.locator(".markdown", { hasText: "one" }).waitFor();
  await tab.getByLabel("Instruction").fill("half a thought");
  await tab.context().setOffline(true);
  const notice = tab.getByText(/^As of \d{1,2}:\d\d.*; reconnecting/);
  await notice.waitFor();
  assert.ok(await tab.locator(".markdown", { hasText: "one" }).isVisible());
  assert.equal(await tab.getByLabel("Instruction").inputValue(), "half a thought");
  held.resolve();
  await tab.waitForTimeout(500);
  await tab.context().setOffline(false);
  await notice.waitFor({ state: "detached" });
  await tab.getByText("one two", { exact: true }).waitFor();
  assert.equal(await tab.locator(".markdown").count(), 1);
  assert.equal(await tab.getByLabel("Instruction").inputValue(), "half a thought");
  assert.deepEqual(tab.faults, []);
});

test("[U4] [U13] an answer to a request from before the network was lost does not say that the server is there", async (t) => {
  const world = await pageWorld(t);
  const tab = await world.tab();
  await tab.getByText("There are no sessions yet.").waitFor();
  await tab.waitForTimeout(1_000);
  const asked = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  await tab.route(
    (url) => url.pathname === "/api/sessions",
    async (route) => {
      const response = await route.fetch();
      asked.resolve();
      await release.promise;
      await route.fulfill({ response });
    },
    { times: 1 },
  );
  await world.engine.sessions.create(world.owner, { name: "made elsewhere" });
  await asked.promise;
  await tab.context().setOffline(true);
  const notice = tab.getByText(/^As of \d{1,2}:\d\d.*; reconnecting/);
  await notice.waitFor();
  release.resolve();
  await tab.waitForTimeout(500);
  assert.ok(await notice.isVisible());
  await tab.context().setOffline(false);
  await notice.waitFor({ state: "detached" });
});

test("[U4] [U13] a server on the same machine needs no network: once it answers, the page does not say that it reconnects", async (t) => {
  const world = await pageWorld(t);
  const tab = await world.tab();
  await tab.getByText("There are no sessions yet.").waitFor();
  await tab.waitForTimeout(1_000);
  await tab.evaluate('dispatchEvent(new Event("offline"))');
  const notice = tab.getByText(/^As of .*reconnecting/);
  await notice.waitFor();
  await notice.waitFor({ state: "detached", timeout: 3_000 });
});

const noticed = `
  window.badges = []; window.notices = [];
  navigator.setAppBadge = async (count) => void window.badges.push(count);
  navigator.clearAppBadge = async () => void window.badges.push(0);
  window.Notification = class extends EventTarget {
    static permission = "granted";
    constructor(title, { body, tag }) { super(); window.notices.push({ title, body, tag }); }
  };
  Object.defineProperty(document, "hidden", { get: () => window.isAway === true });
`;

/** The policy of the page lets no text become a script, so the page itself cannot wait for it. */
async function until(tab: Tab, expression: string, value: unknown): Promise<void> {
  for (let tries = 0; (await tab.evaluate(expression)) !== value; tries++) {
    assert.ok(tries < 100, `${expression} is not ${String(value)}`);
    await tab.waitForTimeout(50);
  }
}

test("[U8] [U13] when a turn waits, the title, the badge, the count and a notification of the system say so, and when it was answered they stop", async (t) => {
  const { tools } = await toolWorld(t);
  const script = (_call: unknown, n: number) => (n === 1 ? [{ calls: "run", with: { command: "echo x" } }] : "Done.");
  const world = await pageWorld(t, { tools, script });
  const tab = await world.anonymousTab("/");
  await tab.addInitScript(noticed);
  const { code } = await world.engine.keys.browsers.code(world.owner);
  await tab.goto(`${world.url}/?code#code=${code}`);
  await tab.locator(".shell").waitFor();
  await tab.getByText("There are no sessions yet.").waitFor();
  await tab.evaluate("window.isAway = true");
  const turn = await world.engine.turns.run(world.owner, {
    instruction: "go",
    mode: "edit",
    askApproval: async () => null,
  });
  await until(tab, "document.title", "(1) aptove");
  assert.equal(await tab.locator(".place .count").textContent(), "1");
  assert.deepEqual(await tab.evaluate("window.badges.at(-1)"), 1);
  await until(tab, "window.notices.length", 1);
  const [notice] = (await tab.evaluate("window.notices")) as { title: string; body: string }[];
  assert.equal(notice?.title, "go waits for you");
  assert.equal(notice?.body, "Run echo x");
  const [question = assert.fail("no question")] = await world.engine.turns.questions(world.owner, turn.turnId);
  await world.engine.turns.answerQuestion(world.owner, {
    turnId: turn.turnId,
    callId: question.callId,
    approved: true,
  });
  await until(tab, "document.title", "aptove");
  assert.equal(await tab.locator(".place .count").count(), 0);
  assert.equal(await tab.evaluate("window.badges.at(-1)"), 0);
  assert.deepEqual(tab.faults, []);
});

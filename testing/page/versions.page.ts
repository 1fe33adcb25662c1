/** A page and a server that are a version apart, and clocks that are not the same (U1, U3, U4). */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { askInPage, closeBrowser, pageWorld, type Tab } from "./page-world.ts";

after(closeBrowser);

/** Changes the JSON of every answer of the API, as a server of a later version could. */
async function fromLater(tab: Tab, change: (value: Record<string, unknown>, path: string) => void): Promise<void> {
  const changed = (value: unknown, path: string): void => {
    if (Array.isArray(value)) for (const one of value) changed(one, path);
    else if (typeof value === "object" && value !== null) {
      for (const one of Object.values(value)) changed(one, path);
      change(value as Record<string, unknown>, path);
    }
  };
  await tab.route("**/api/**", async (route) => {
    const path = new URL(route.request().url()).pathname;
    if (path.endsWith("/events")) return await route.continue();
    const response = await route.fetch();
    if (!response.headers()["content-type"]?.includes("application/json")) return await route.fulfill({ response });
    const json: unknown = await response.json();
    changed(json, path);
    await route.fulfill({ response, json });
  });
}

test("[U4] [U13] that the server has another version is shown once; a reload loads its page and keeps what was typed", async (t) => {
  const world = await pageWorld(t);
  const tab = await world.tab();
  await tab.getByLabel("Instruction").fill("not sent yet");
  let version = "test";
  await tab.route("**/readyz", async (route) => await route.fulfill({ json: { status: "ready", version } }));
  await tab.route("**/api/events", (route) => route.abort());
  version = "test-later";
  await world.stopListening();
  await world.listenAgain();
  const notice = tab.getByText("The server has a new version.");
  await notice.waitFor({ timeout: 40_000 });
  assert.equal(await notice.count(), 1);
  assert.equal(await tab.getByLabel("Instruction").inputValue(), "not sent yet");
  await tab.getByRole("button", { name: "Reload" }).click();
  await notice.waitFor({ state: "detached" });
  assert.equal(await tab.getByLabel("Instruction").inputValue(), "not sent yet");
});

test("[U3] [U4] [U13] fields, kinds, states and events that the page does not know do not break it", async (t) => {
  const held = Promise.withResolvers<void>();
  const world = await pageWorld(t, { script: () => [{ says: ["one ", held.promise, "two"] }] });
  const tab = await world.anonymousTab("/");
  await fromLater(tab, (value) => {
    value["fieldOfLater"] = { deep: [1] };
    if (value["lastTurnStatus"] === "completed") value["lastTurnStatus"] = "dreaming";
    if (value["kind"] === "agent") value["modeOfLater"] = "x";
  });
  await tab.route("**/api/turns/*/events*", async (route) => {
    const response = await route.fetch();
    const later = [
      { type: "HOLOGRAM_SHOWN", shape: "cube" },
      { type: "CUSTOM", name: "aptove.later", value: {} },
      { type: "CUSTOM", name: "aptove.tool_call_view", value: { callId: "none", view: { kind: "later" } } },
    ];
    const [first = "", ...rest] = (await response.text()).split("\n\n");
    const unknown = later.map((event) => `${first.split("\n")[0]}\ndata: ${JSON.stringify(event)}`);
    await route.fulfill({ response, body: [first, ...unknown, ...rest].join("\n\n") });
  });
  await tab.route("**/api/events", async (route) => {
    const news = ["read_anew", "session_dreamt"].map(
      (type) => `data: ${JSON.stringify({ type, at: "x", version: "test", heartbeatMs: 1 })}`,
    );
    await route.fulfill({ contentType: "text/event-stream", body: `${news.join("\n\n")}\n\n` });
  });
  const { code } = await world.engine.keys.browsers.code(world.owner);
  await tab.goto(`${world.url}/?later#code=${code}`);
  await tab.locator(".shell").waitFor();
  await askInPage(tab, "go");
  held.resolve();
  await tab.getByText("one two", { exact: true }).waitFor();
  await tab.locator(".row", { hasText: "go" }).waitFor();
  await tab.locator(".row .mark.run").waitFor({ state: "detached" });
  assert.deepEqual(tab.faults, []);
});

test("[U1] [U4] [U13] a part of the page that an upgrade took away leads to the same words, and to no dead view", async (t) => {
  const world = await pageWorld(t);
  const tab = await world.tab();
  const late: string[] = [];
  await tab.route("**/assets/*.js", async (route) => {
    late.push(route.request().url());
    await route.fulfill({ status: 404, contentType: "application/problem+json", body: "{}" });
  });
  // The document of the later version names other files.
  await tab.route(`${world.url}/`, async (route) => {
    await route.fulfill({ contentType: "text/html", body: '<script src="/assets/later.js"></script>' });
  });
  await tab.getByLabel("Instruction").fill("not sent yet");
  await tab.getByRole("link", { name: "Costs" }).click();
  await tab.getByText(/does not have this part of the page any more/).waitFor();
  await tab.getByText("The server has a new version.").waitFor();
  assert.ok(late.length > 0);
  await tab.unroute("**/assets/*.js");
  await tab.unroute(`${world.url}/`);
  await tab.getByRole("main").getByRole("button", { name: "Reload" }).click();
  await tab
    .getByRole("region", { name: "By model" })
    .or(tab.getByText(/Nothing|no turn/i))
    .first()
    .waitFor();
  await tab.getByRole("link", { name: "Sessions", exact: true }).click();
  assert.equal(await tab.getByLabel("Instruction").inputValue(), "not sent yet");
});

test("[U1] [U13] a part of the page that cannot be loaded because the server is away can be tried again", async (t) => {
  const world = await pageWorld(t);
  const tab = await world.tab();
  await tab.route("**/assets/*.js", (route) => route.abort());
  await tab.getByRole("link", { name: "Costs" }).click();
  await tab.getByText("This part of the page could not be loaded.").waitFor();
  assert.equal(await tab.getByText("The server has a new version").count(), 0);
});

for (const [name, aheadMs] of [
  ["behind", -3_600_000],
  ["ahead of", 3_600_000],
] as const) {
  test(`[U3] [U13] a browser whose clock is an hour ${name} the server's shows the server's times`, async (t) => {
    const world = await pageWorld(t);
    const turn = await world.engine.turns.run(world.owner, { instruction: "just now" });
    await turn.finished;
    const tab = await world.anonymousTab("/");
    await tab.clock.setFixedTime(Date.now() + aheadMs);
    const { code } = await world.engine.keys.browsers.code(world.owner);
    await tab.goto(`${world.url}/?clock#code=${code}`);
    const row = tab.locator(".row", { hasText: "just now" });
    await row.getByText("now", { exact: true }).waitFor();
    await world.stopListening();
    const shown = await tab.getByText(/^As of .*reconnecting/).textContent();
    const times = [0, 60_000].map((agoMs) =>
      new Date(Date.now() - agoMs).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" }),
    );
    assert.ok(
      times.some((time) => shown?.includes(time)),
      `${shown}, and not ${times.join(" or ")}`,
    );
  });
}

test("[U3] [U13] what another server with a clock that is an hour ahead stored is shown as now, and not in the future", async (t) => {
  const world = await pageWorld(t, { now: () => Date.now() + 3_600_000 });
  const turn = await world.engine.turns.run(world.owner, { instruction: "from the future" });
  await turn.finished;
  const tab = await world.tab();
  const row = tab.locator(".row", { hasText: "from the future" });
  await row.getByText("now", { exact: true }).waitFor();
});

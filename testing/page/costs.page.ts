/** What the week has cost (U9): by day, model, person and session, with the dearest one, budgets, and a CSV. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, test } from "node:test";
import { closeBrowser } from "./page-world.ts";
import { reasonsWorld } from "./reasons-world.ts";

after(closeBrowser);

const dayMs = 86_400_000;

test("[U9] [U13] the costs of a week: which session was the dearest, a click on a day filters the tables, budgets, and the CSV", async (t) => {
  let now = Date.now() - dayMs;
  const usage = (input: number) => ({ input, output: 10, cached: input * 0.7, reasoning: 0, total: input + 10 });
  const world = await reasonsWorld(
    t,
    ({ model }, n) =>
      model === "unknown-1"
        ? "no price"
        : [{ says: "done" }, { stops: "stop", usage: usage(n === 1 ? 100_000 : 1_000) }],
    { now: () => now },
  );
  const yesterday = new Date(now).toISOString().slice(0, 10);
  await world.run("the dear one");
  now += dayMs;
  await world.run("the cheap one", { model: "claude-opus-5" });
  await world.run("unknown price", { model: "unknown-1" });
  const { people } = world.engine;
  await people.budgets.set(world.owner, { scope: "org", period: "day", unit: "usd", limit: 2_000_000_000 });
  const tab = await world.tab("/costs");
  const table = (name: string) => tab.getByRole("region", { name });
  const sessions = table("By session, the dearest first");
  await sessions.getByRole("row", { name: /^the dear one/ }).waitFor();
  await tab.getByText(/^The dearest session: the dear one, \$0\.\d+/).waitFor();
  await sessions.getByRole("row", { name: /^unknown price .* price not known/ }).waitFor();
  await table("By model")
    .getByRole("row", { name: /^claude-opus-5 1 1.000 70.% 10 / })
    .waitFor();
  await table("Budgets")
    .getByText(/of \$2\.00 used/)
    .waitFor();
  // Yesterday has the highest bar, beside today's.
  await tab.locator(`.bars-day[title^="${yesterday}"]`).click();
  await sessions.getByRole("row", { name: /^the cheap one/ }).waitFor({ state: "detached" });
  assert.equal(await sessions.getByRole("row").count(), 2, "the head and one session");
  const saved = tab.waitForEvent("download");
  await tab.getByRole("button", { name: "Save as CSV" }).click();
  const file = await (await saved).path();
  const lines = (await readFile(file, "utf8")).trim().split("\r\n");
  assert.equal(lines.length, 2);
  assert.ok(lines[1]?.startsWith(`${yesterday},the dear one,owner,claude-sonnet-5,1,100000,70000,10,`));
  await tab.getByRole("button", { name: new RegExp(`Only ${yesterday}`) }).click();
  await sessions.getByRole("row", { name: /^the cheap one/ }).waitFor();
  // The select does the same at the keyboard.
  await tab.getByLabel("Day").selectOption(yesterday);
  await sessions.getByRole("row", { name: /^the cheap one/ }).waitFor({ state: "detached" });
  await sessions.getByRole("link", { name: "the dear one" }).click();
  await tab.getByRole("heading", { name: "the dear one" }).waitFor();
  assert.deepEqual(tab.faults, []);
});

test("[U9] [U12] the tables of costs are not wider than a phone, for 90 days and long names too", async (t) => {
  const world = await reasonsWorld(t);
  const { sessionId } = await world.run("one");
  await world.engine.sessions.update(world.owner, sessionId, { name: "an_unpronounceably_long_name_".repeat(4) });
  const tab = await world.tab("/costs", { viewport: { width: 320, height: 640 } });
  await tab.getByRole("button", { name: "90 days" }).click();
  await tab.locator(".bars-day").nth(89).waitFor();
  const wide = await tab.evaluate(
    "[...document.querySelectorAll('.view *')].filter((one) => one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).overflowX !== 'visible').map((one) => one.className)",
  );
  assert.deepEqual(wide, []);
  assert.equal(await tab.evaluate("document.documentElement.scrollWidth"), 320);
  assert.ok(await tab.getByRole("cell", { name: "1" }).first().isVisible());
});

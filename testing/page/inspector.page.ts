/** What a turn saw (U6), and another run of it with something else (U5). */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { closeBrowser, type Tab } from "./page-world.ts";
import { reasonsWorld } from "./reasons-world.ts";

after(closeBrowser);

async function openTab(tab: Tab, name: string): Promise<void> {
  await tab.getByRole("tab", { name }).click();
}

test("[U6] [U12] the bar of the window is one stop of the keyboard, names its parts, and opens the largest pieces of one", async (t) => {
  const world = await reasonsWorld(t);
  const { sessionId, turnId } = await world.run("How is the discount computed?");
  const tab = await world.tab(`/s/${sessionId}/t/${turnId}`);
  const bar = tab.getByRole("toolbar", { name: "Parts of the window" });
  await bar.waitFor();
  assert.equal(await bar.locator("[tabindex='0']").count(), 1);
  await bar.getByRole("button").first().focus();
  const words = tab.locator(".window-words");
  await words.getByText(/^boot prompt: .* tokens/).waitFor();
  await tab.keyboard.press("End");
  await words.getByText(/^this message: /).waitFor();
  await tab.keyboard.press("ArrowLeft");
  await words.getByText(/^code found: /).waitFor();
  await tab.keyboard.press("Enter");
  const piece = tab.locator(".pieces summary").first();
  await piece.getByText("src/discount.ts:1-4").waitFor();
  await piece.click();
  await tab.locator(".pieces .output", { hasText: "return total * 0.9" }).waitFor();
  await tab.getByRole("textbox", { name: "Instruction" }).focus();
  await words.getByText(/of 200.000 tokens/).waitFor();
  assert.deepEqual(tab.faults, []);
});

test("[U5] [U6] what was left out is sent anyway by a run beside, with another model; what was sent opens to its code", async (t) => {
  const world = await reasonsWorld(t);
  const first = await world.run("How is the discount computed?", world.large);
  const tab = await world.tab(`/s/${first.sessionId}/t/${first.turnId}`);
  const sent = tab.locator(".sent details", { hasText: "src/discount.ts" });
  await sent.click();
  await sent.getByText("return total * 0.9").waitFor();
  const left = tab.locator(".left-out li", { hasText: "data/big.json" });
  await left.getByText("larger than 100 KB").waitFor();
  await left.getByRole("button", { name: /^Send it anyway/ }).click();
  const dialog = tab.getByRole("dialog", { name: "Run turn 1 again" });
  await dialog.getByText("The new one becomes the head.").waitFor();
  await dialog.getByLabel("Model").selectOption("anthropic/claude-opus-5");
  await dialog.getByText(/^About .* tokens; \$/).waitFor();
  await dialog.getByRole("button", { name: "Run again" }).click();
  await dialog.waitFor({ state: "detached" });
  await tab.getByText("answer 2").waitFor();
  const { headTurnId } = await world.engine.sessions.get(world.owner, first.sessionId);
  const { turn } = await world.engine.turns.read(world.owner, headTurnId ?? "");
  assert.deepEqual([turn.rerunOf, turn.model], [first.turnId, "claude-opus-5"]);
  assert.deepEqual(
    turn.manifest.chunks.filter(({ wasSent }) => wasSent).map(({ path }) => path),
    ["data/big.json"],
  );
  // The same with the file itself, which is attached and split.
  await tab.goto(`${world.url}/s/${first.sessionId}/t/${first.turnId}`);
  await tab.getByRole("button", { name: /^Send it anyway/ }).click();
  await dialog.getByRole("radio", { name: /^The file from this device/ }).check();
  assert.ok(await dialog.getByRole("button", { name: "Run again" }).isDisabled(), "there is no file yet");
  const buffer = Buffer.from("a line about the discount\n".repeat(5_000));
  await dialog.locator("input[type=file]").setInputFiles({ name: "big.json", mimeType: "text/plain", buffer });
  await dialog.getByRole("button", { name: "Run again" }).click();
  await tab.getByText("answer 3").waitFor();
  assert.deepEqual(tab.faults, []);
});

test("[U6] [D3] the exact request marks what is new since the request before, and is raw by a switch; the response is there too", async (t) => {
  const world = await reasonsWorld(t);
  const { sessionId } = await world.run("first words");
  const { turnId } = await world.run("second words", { sessionId });
  const tab = await world.tab(`/s/${sessionId}/t/${turnId}`, { permissions: ["clipboard-read", "clipboard-write"] });
  await openTab(tab, "Request");
  const panel = tab.getByRole("tabpanel");
  await panel.getByText("digest holds").waitFor();
  const fresh = panel.locator(".exact-parts .new");
  await fresh.first().waitFor();
  assert.equal(await fresh.count(), 2, "the answer and the new message");
  await fresh.nth(1).locator("summary").click();
  await fresh.nth(1).getByText("second words").first().waitFor();
  const exact = await world.engine.turns.read(world.owner, turnId);
  const bytes = Buffer.from(await exact.request(1)).toString();
  await panel.getByRole("button", { name: "Copy the exact bytes" }).click();
  await panel.getByText("Copied").waitFor();
  assert.equal(await tab.evaluate("navigator.clipboard.readText()"), bytes);
  await panel.getByLabel("Raw").check();
  assert.equal(await panel.locator("pre.exact").textContent(), bytes);
  await panel.getByLabel("Raw").uncheck();
  await panel.getByLabel("Side").selectOption("response");
  await panel.locator("pre.exact, .exact-parts").first().waitFor();
  await openTab(tab, "Steps");
  await panel.getByRole("button", { name: "Time" }).click();
  await panel.getByText(/^1 step in/).waitFor();
  assert.deepEqual(tab.faults, []);
});

test("[U6] a failed turn, a price and a window that are not known, and a request of 5 MB are shown", async (t) => {
  const world = await reasonsWorld(t, (_call, n) =>
    n === 1 ? [{ says: "half" }, { fails: "provider_rejected", message: "no more" }] : "done",
  );
  const failed = await world.run("fails", { model: "unknown-1" });
  const tab = await world.tab(`/s/${failed.sessionId}/t/${failed.turnId}`);
  const inspector = tab.getByRole("complementary", { name: "Inspector" });
  await inspector.getByText("no more").waitFor();
  const group = tab.getByRole("group", { name: "This turn failed" });
  for (const place of [inspector, group])
    await place.getByText("What to do: check the model and its settings: aptove config show").waitFor();
  await inspector.getByText(/the window of this model is not known; the price of this model is not known/).waitFor();
  await openTab(tab, "Steps");
  await inspector.getByText("price not known").waitFor();
  await openTab(tab, "Request");
  await inspector.getByText("Step 1, failed").waitFor({ state: "attached" });
  await inspector.getByText("digest holds").waitFor();
  const tool = { name: "look", description: "words ".repeat(870_000), parameters: { type: "object" } };
  const large = await world.run("large", { tools: [tool] });
  await tab.goto(`${world.url}/s/${large.sessionId}/t/${large.turnId}`);
  await openTab(tab, "Request");
  await inspector.getByText(/^5\.\d MB$/).waitFor();
  await inspector.getByLabel("Raw").check();
  await inspector.getByText(/more characters; save it to see all/).waitFor();
  const shown = (await inspector.locator("pre.exact").textContent()) ?? "";
  assert.ok(shown.length > 100_000 && shown.length < 210_000, "the page does not hold 5 MB");
  assert.deepEqual(tab.faults, []);
});

test("[U6] [U13] a turn that is looked into while it runs is shown with its steps when it has ended", async (t) => {
  const held = Promise.withResolvers<void>();
  const world = await reasonsWorld(t, () => [{ says: ["one ", held.promise, "two"] }]);
  const { sessionId, turnId, finished } = await world.engine.turns.run(world.owner, { instruction: "go" });
  const tab = await world.tab(`/s/${sessionId}/t/${turnId}`);
  const inspector = tab.getByRole("complementary", { name: "Inspector" });
  await inspector.getByText("pending", { exact: true }).waitFor();
  held.resolve();
  await finished;
  await inspector.getByText(/^1 step · /).waitFor();
  assert.deepEqual(tab.faults, []);
});

/** The page under a thumb (U12): what stands below the field, at the widths of phones. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { closeBrowser, settled, type Tab } from "./page-world.ts";
import { reasonsWorld } from "./reasons-world.ts";

after(closeBrowser);

const widths = [320, 360, 390, 414] as const;

/** Returns the pairs of controls in the composer that lie on each other, and the controls that are cut off or too small for a thumb. */
function badControls(tab: Tab): Promise<string[]> {
  return tab.evaluate(`(() => {
    const controls = [...document.querySelectorAll(".composer :is(button, select, summary, textarea, label.button)")];
    const named = controls.filter((one) => one.checkVisibility({ contentVisibilityAuto: true })).map((one) => ({
      name: one.title || one.textContent.trim() || one.id,
      box: one.getBoundingClientRect(),
    }));
    const bad = named
      .filter(({ box }) => box.left < 0 || box.right > innerWidth || box.width < 32 || box.height < 32)
      .map(({ name, box }) => name + " is at " + [box.left, box.right, box.width, box.height].map(Math.round));
    for (const [at, one] of named.entries())
      for (const other of named.slice(at + 1))
        if (
          one.box.left < other.box.right - 1 && other.box.left < one.box.right - 1 &&
          one.box.top < other.box.bottom - 1 && other.box.top < one.box.bottom - 1
        ) bad.push(one.name + " lies on " + other.name);
    return bad;
  })()`) as Promise<string[]>;
}

async function atAllWidths(tab: Tab, buttons: readonly string[]): Promise<void> {
  const composer = tab.getByRole("form", { name: "Write to the model" });
  for (const name of buttons) await composer.getByRole("button", { name, exact: true }).waitFor();
  for (const width of widths) {
    await tab.setViewportSize({ width, height: 740 });
    await settled(tab);
    assert.deepEqual(await badControls(tab), [], `${width} px`);
  }
  await tab.getByTitle("Effort, context and scope").click();
  for (const width of widths) {
    await tab.setViewportSize({ width, height: 740 });
    const cut = (await badControls(tab)).filter((one) => !one.includes("lies on"));
    assert.deepEqual(cut, [], `what is opened, at ${width} px`);
  }
  await tab.getByTitle("Effort, context and scope").click();
}

test("[U4] [U12] [U13] on a phone no control of the composer lies on another one, idle and while a turn runs", async (t) => {
  const held = Promise.withResolvers<void>();
  const world = await reasonsWorld(t, () => [{ says: ["begun ", held.promise, "."] }]);
  const phone = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };
  const tab = await world.tab("/?new", phone);
  await tab.getByTitle("Model").waitFor();
  await atAllWidths(tab, ["Run"]);
  await tab.getByLabel("Instruction").fill("go");
  await tab.getByRole("button", { name: "Run", exact: true }).click();
  await tab.getByText("begun").waitFor();
  assert.equal(await tab.evaluate("document.activeElement.id"), "", "the keys of the phone do not come up again");
  await atAllWidths(tab, ["Send now", "Queue", "Stop"]);
  held.resolve();
  await atAllWidths(tab, ["Run"]);
  assert.deepEqual(tab.faults, []);
});

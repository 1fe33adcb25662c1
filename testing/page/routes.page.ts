/** Every route of the page: axe finds nothing in light and dark, nothing is wider than a narrow phone, and each state is there (U9 to U13). */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { readFile } from "node:fs/promises";
import { managedWorkspaces } from "../managed-workspaces.ts";
import { axeFaults, closeBrowser, pageWorld, settled, type PageWorld } from "./page-world.ts";

after(closeBrowser);

const answer =
  "# Title\n\nSome **text** with `code` and a [link](https://example.org).\n\n```ts\nconst a = 1;\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n";

async function filledWorld(t: Parameters<typeof pageWorld>[0]): Promise<PageWorld & { paths: string[] }> {
  const managed = managedWorkspaces(() => world.deps);
  const world: PageWorld = await pageWorld(t, {
    workspaces: managed.parts,
    script: (_call, n) => (n === 3 ? [{ says: "half" }, { fails: "provider_rejected", message: "no more" }] : answer),
  });
  const { engine, owner } = world;
  const first = await engine.turns.run(owner, { instruction: "one" });
  await first.finished;
  const second = await engine.turns.run(owner, { instruction: "two", sessionId: first.sessionId });
  await second.finished;
  const failed = await engine.turns.run(owner, { instruction: "three", sessionId: first.sessionId });
  await failed.finished;
  await engine.sessions.create(owner, {
    forkOf: first.turnId,
    name: "A fork with an unpronounceably_long_name_".repeat(3),
  });
  await engine.devices.claim({ code: (await engine.devices.pair(owner)).code, name: "phone" });
  const workspace = await managed.workspaces.create({
    name: "A workspace with an unpronounceably_long_name_".repeat(3),
  });
  await managed.permissions.allow(workspace.id, `run ${"an_unpronounceably_long_command ".repeat(5)}`);
  await managed.parts.memory?.add(workspace.id, { text: "We deploy on Fridays.", at: 0, source: null });
  const thread = `/s/${first.sessionId}`;
  const paths = [
    "/",
    thread,
    `${thread}/t/${second.turnId}`,
    `${thread}/t/${failed.turnId}`,
    `${thread}/t/tree`,
    `/compare/${first.turnId}/${second.turnId}`,
    "/several",
    "/map",
    "/approvals",
    "/costs",
    ...["devices", "keys", "people", "workspaces", "contexts", "indexes", "server", "audit"].map(
      (part) => `/admin/${part}`,
    ),
    `/admin/workspaces/${workspace.id}`,
    "/admin/contexts/conversation/default",
    "/admin/contexts/conversation/team?from=1&to=2",
  ];
  for (const bootPrompt of ["Be brief.\nBe kind.", "Be brief.\nBe exact."]) {
    const expected = bootPrompt.endsWith("exact.") ? { expected: 1 } : {};
    await engine.contexts.put(owner, {
      kind: "conversation",
      id: "team",
      entry: { boot_prompt: bootPrompt },
      ...expected,
    });
  }
  return { ...world, paths };
}

for (const colorScheme of ["light", "dark"] as const) {
  test(`[U12] [U13] axe finds nothing on any route, ${colorScheme}`, async (t) => {
    const world = await filledWorld(t);
    const found: Record<string, string[]> = {};
    const out = await world.anonymousTab("/", { colorScheme });
    await out.getByLabel("API key").waitFor();
    found["sign-in"] = await axeFaults(out);
    const tab = await world.tab("/", { colorScheme });
    for (const path of world.paths) {
      await tab.goto(world.url + path);
      await settled(tab);
      found[path] = await axeFaults(tab);
    }
    assert.deepEqual(Object.fromEntries(Object.entries(found).filter(([, faults]) => faults.length > 0)), {});
    assert.deepEqual(tab.faults, []);
  });
}

test("[U12] [U13] no route is wider than 320 px, and axe finds nothing there", async (t) => {
  const world = await filledWorld(t);
  const tab = await world.tab("/", { viewport: { width: 320, height: 640 } });
  const wrong: string[] = [];
  for (const path of world.paths) {
    await tab.goto(world.url + path);
    await settled(tab);
    const width = Number(await tab.evaluate("document.documentElement.scrollWidth"));
    if (width > 320) wrong.push(`${path}: ${width} px`);
    wrong.push(...(await axeFaults(tab)).map((fault) => `${path}: ${fault}`));
  }
  assert.deepEqual(wrong, []);
});

test("[U10] [U12] on a narrow phone each cell of the administration is a readable line with its name, and no button is cut off", async (t) => {
  const world = await filledWorld(t);
  const tab = await world.tab("/", { viewport: { width: 320, height: 640 } });
  for (const path of world.paths.filter((one) => one.startsWith("/admin"))) {
    await tab.goto(world.url + path);
    await settled(tab);
    const outside = await tab.evaluate(`[...document.querySelectorAll("td, td *, main button")]
      .map((one) => [one.textContent, one.getBoundingClientRect()])
      .filter(([, { left, right, width }]) => width > 0 && (left < 0 || right > innerWidth))
      .map(([text]) => text)`);
    assert.deepEqual(outside, [], path);
  }
  await tab.goto(`${world.url}/admin/keys`);
  await tab.getByRole("cell", { name: "valid" }).waitFor();
  const label = await tab.evaluate(`getComputedStyle(document.querySelector("td:nth-child(3)"), "::before").content`);
  assert.equal(label, '"Made"');
});

test("[U9] [U13] costs show the sums by model, person and session, and are saved as CSV", async (t) => {
  const world = await filledWorld(t);
  const tab = await world.tab("/costs");
  await tab.getByRole("region", { name: "By model" }).getByText("scripted").waitFor();
  await tab.getByText("3 turns").first().waitFor();
  const saved = tab.waitForEvent("download");
  await tab.getByRole("button", { name: "Save as CSV" }).click();
  const file = await (await saved).path();
  const [head, ...rows] = (await readFile(file, "utf8")).trim().split("\r\n");
  assert.equal(head, "day,session,user,model,turns,input,cached,output,usd");
  assert.equal(rows.length, 1);
  assert.match(rows[0] ?? "", /,one,owner,scripted-1,3,/);
});

test("[U10] [U13] an admin makes a key, adds a person, edits a context and reads who did it", async (t) => {
  const world = await filledWorld(t);
  const tab = await world.tab("/admin/keys");
  await tab.getByPlaceholder("Name of the key").fill("for the test");
  await tab.getByRole("button", { name: "Make a key" }).click();
  const secret = await tab.locator(".notice code").textContent();
  assert.notEqual(await world.engine.keys.authenticate(secret ?? ""), null);
  await tab.getByRole("link", { name: "People" }).click();
  await tab.getByPlaceholder("Name", { exact: true }).fill("Grace");
  await tab.getByRole("button", { name: "Add a person" }).click();
  await tab.getByRole("cell", { name: "Grace" }).waitFor();
  await tab.goto(`${world.url}/admin/contexts/conversation/default`);
  const field = tab.getByRole("textbox", { name: /^From the configuration/ });
  await field.fill((await field.inputValue()).replace("Be careful.", "Be brief."));
  await tab.getByRole("button", { name: "Save a new version" }).click();
  await tab.getByRole("button", { name: "What changed" }).click();
  await tab.getByRole("region", { name: "Comparison" }).getByText("Be brief.").waitFor();
  await tab.getByRole("link", { name: "Audit" }).click();
  for (const action of ["key.create", "user.create", "context.change", "browser.sign_in"]) {
    await tab.getByRole("cell", { name: action }).first().waitFor();
  }
  assert.deepEqual(tab.faults, []);
});

test("[U4] [U6] [U13] what does not exist says so, and a damaged turn shows what can still be read", async (t) => {
  const world = await filledWorld(t);
  const tab = await world.tab("/s/01999999-0000-7000-8000-000000000000");
  const missing = tab.getByRole("alert").filter({ hasText: "you may not see it" });
  assert.equal(await missing.getByText(/./).first().innerText(), "This does not exist, or you may not see it.");
  assert.equal(await tab.getByText(/not exist/).count(), 1);
  await missing.getByRole("link", { name: "Go to the sessions" }).click();
  await tab.getByText("What should the model do?").waitFor();
  await tab.goto(`${world.url}/nothing/here`);
  assert.equal(tab.url().includes("nothing"), true);
  const turn = await world.engine.turns.run(world.owner, { instruction: "damage me" });
  const finished = await turn.finished;
  await world.deps.blobs.delete(finished.blobs.opening);
  await tab.goto(`${world.url}/s/${turn.sessionId}/t/${turn.turnId}`);
  const inspector = tab.getByRole("complementary", { name: "Inspector" });
  await inspector.getByText(/cannot be read/).waitFor();
  await inspector.getByText("Where it came from").waitFor();
});

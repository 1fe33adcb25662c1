/** Workspaces in the administration: their list, `session.md` to read and correct, permissions and memory (U10, W1, W5, W6, P4, M3). */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { managedWorkspaces, type ManagedForTest } from "../managed-workspaces.ts";
import { currentTranscriptName } from "../../src/workspace/transcript-store.ts";
import { addUser } from "../people.ts";
import { axeFaults, closeBrowser, pageWorld, type PageWorld } from "./page-world.ts";

after(closeBrowser);

interface World extends PageWorld, ManagedForTest {
  /** The workspace "shop", with a conversation of one turn. */
  id: string;
  /** Changes session.md as an editor does. */
  edit(text: string): Promise<void>;
  file(): Promise<string>;
}

async function world(t: Parameters<typeof pageWorld>[0]): Promise<World> {
  const managed = managedWorkspaces(() => page.deps);
  const page: PageWorld = await pageWorld(t, { workspaces: managed.parts, script: () => "Understood." });
  const { id } = await managed.workspaces.create({ name: "shop" });
  const turn = await page.engine.turns.run(page.owner, { instruction: "We write this in Go.", workspaceId: id });
  await turn.finished;
  // This waits until the turn is in the file.
  await page.engine.workspaceSessions.workspaces.get(page.owner, id);
  const { transcripts } = managed;
  return {
    ...page,
    ...managed,
    id,
    edit: async (text) => void (await transcripts.write(id, currentTranscriptName, { content: Buffer.from(text) })),
    file: async () => Buffer.from((await transcripts.read(id, currentTranscriptName))?.content ?? "").toString(),
  };
}

const field = /^The next session of this workspace begins/;

test("[U10] [U12] [W1] [W6] with the keyboard alone a workspace is made, opened and deleted", async (t) => {
  const { tab: open, workspaces, bindings, id } = await world(t);
  await bindings.bind("Ada's phone", id);
  const tab = await open("/admin/workspaces");
  await tab.getByRole("row", { name: /shop.*1 device.*open/ }).waitFor();
  const reach = async (name: string): Promise<void> => {
    for (let presses = 0; presses < 80; presses += 1) {
      const label = await tab.evaluate(
        `document.activeElement.getAttribute("placeholder") ?? document.activeElement.textContent`,
      );
      if (label === name) return;
      await tab.keyboard.press("Tab");
    }
    assert.fail(`Tab never reaches ${name}`);
  };
  await reach("Name of the workspace");
  await tab.keyboard.type("made by keyboard");
  await tab.keyboard.press("Enter");
  await tab.getByRole("heading", { name: "made by keyboard" }).waitFor();
  assert.equal((await workspaces.list()).length, 2);
  await tab.getByText("Its sessions stay. It was last used a moment ago.").waitFor();
  await reach("Delete");
  await tab.keyboard.press("Enter");
  await tab.keyboard.press("Enter");
  await tab.waitForURL(/\/admin\/workspaces$/);
  await tab.getByRole("link", { name: "shop" }).waitFor();
  assert.deepEqual(
    (await workspaces.list()).map(({ name }) => name),
    ["shop"],
  );
  assert.deepEqual(tab.faults, []);
});

test("[U10] [W6] a workspace that was used since it was shown is not deleted, and the page says so", async (t) => {
  const { tab: open, workspaces, id, clock } = await world(t);
  const tab = await open(`/admin/workspaces/${id}`);
  const button = tab.getByRole("button", { name: "Delete" });
  await button.click();
  clock.now += 120_000;
  await workspaces.touch(id);
  await button.click();
  await tab
    .getByRole("alert")
    .getByText(/after you looked at it.*workspace_busy/)
    .waitFor();
  assert.equal((await workspaces.list()).length, 1);
});

test("[U10] [W4] [W5] session.md is read and corrected, and the next session begins with it", async (t) => {
  const { tab: open, id, engine, owner, file } = await world(t);
  const tab = await open(`/admin/workspaces/${id}`);
  const text = tab.getByLabel(field);
  assert.match(await text.inputValue(), /## User\n\nWe write this in Go\.\n\n## Assistant\n\nUnderstood\.\n$/);
  const save = tab.getByRole("button", { name: "Save" });
  assert.equal(await save.isDisabled(), true);
  await text.fill((await text.inputValue()).replace("in Go", "in Rust"));
  await save.click();
  await tab.getByText("Saved. The next session begins with it.").waitFor();
  await tab.getByText("edited").waitFor();
  assert.match(await file(), /We write this in Rust\./);
  const { session } = await engine.workspaceSessions.begin(owner, { workspaceId: id });
  const history = JSON.stringify(await engine.turns.history(owner, session.originTurnId ?? ""));
  assert.match(history, /in Rust/);
  assert.doesNotMatch(history, /in Go/);
  assert.deepEqual(tab.faults, []);
});

test("[U10] [W5] a file that changed meanwhile is shown beside the correction, and nothing of either is lost", async (t) => {
  const { tab: open, id, edit, file } = await world(t);
  const tab = await open(`/admin/workspaces/${id}`);
  const text = tab.getByLabel(field);
  const mine = "## User\n\nWe write this in Rust.\n";
  await text.fill(mine);
  await edit("## User\n\nWe write this in C.\n");
  await tab.getByRole("button", { name: "Save" }).click();
  const conflict = tab.getByRole("alert");
  await conflict.getByText(/was changed since you read it/).waitFor();
  await conflict.locator("tr.removed", { hasText: "in C." }).waitFor();
  await conflict.locator("tr.added", { hasText: "in Rust." }).waitFor();
  assert.equal(await file(), "## User\n\nWe write this in C.\n");
  assert.deepEqual(await axeFaults(tab), []);
  await tab.reload();
  await conflict.getByText(/was changed since you read it/).waitFor();
  assert.equal(await text.inputValue(), mine);
  const overwrite = conflict.getByRole("button", { name: "Save mine over it" });
  await overwrite.click();
  await overwrite.click();
  await tab.getByText("Saved.").waitFor();
  assert.equal(await file(), mine);
  await text.fill("## User\n\nmine again\n");
  await edit("## User\n\nfrom the disk\n");
  await tab.getByRole("button", { name: "Save" }).click();
  const take = tab.getByRole("button", { name: "Take the file's text" });
  await take.click();
  await take.click();
  assert.equal(await text.inputValue(), "## User\n\nfrom the disk\n");
  assert.deepEqual(tab.faults, []);
});

test("[U10] [W5] a text that cannot be parsed is refused with its line, and stays in the editor", async (t) => {
  const { tab: open, id, file, edit } = await world(t);
  const before = await file();
  const tab = await open(`/admin/workspaces/${id}`);
  const text = tab.getByLabel(field);
  const wrong = "\nDear diary\n\n## User\n\nhi\n";
  await text.fill(wrong);
  await tab.getByRole("button", { name: "Save" }).click();
  await tab
    .getByRole("alert")
    .getByText(/line 2 is before the first "## User".*Your text is still below/)
    .waitFor();
  const selected = await tab.evaluate(
    `((one) => one.value.slice(one.selectionStart, one.selectionEnd))(document.activeElement)`,
  );
  assert.equal(selected, "Dear diary");
  assert.equal(await text.inputValue(), wrong);
  assert.equal(await file(), before);
  await tab.reload();
  assert.equal(await text.inputValue(), wrong);
  await edit("no heading\n");
  const other = await open(`/admin/workspaces/${id}`);
  await other.getByText(/No session can begin with the file as it is: line 1/).waitFor();
  assert.equal(await other.getByLabel(field).inputValue(), "no heading\n");
});

test("[U10] [P4] what the tools may do without asking is listed, and taken back", async (t) => {
  const { tab: open, id, permissions } = await world(t);
  await permissions.allow(id, 'run npm test in "/srv/shop"');
  await permissions.allow(id, "edit files in /srv/shop");
  const tab = await open(`/admin/workspaces/${id}`);
  const ask = tab.getByRole("row", { name: /run npm test in "\/srv\/shop"/ }).getByRole("button");
  await ask.click();
  await ask.click();
  await tab.getByRole("cell", { name: /npm test/ }).waitFor({ state: "detached" });
  assert.deepEqual(
    (await permissions.list(id)).map(({ key }) => key),
    ["edit files in /srv/shop"],
  );
});

test("[U10] [M3] a fact is added, corrected and forgotten, and the turns that were given it are named", async (t) => {
  const { tab: open, id, engine, owner, parts } = await world(t);
  const tab = await open(`/admin/workspaces/${id}`);
  const memory = tab.getByRole("region", { name: "Memory" });
  await memory.getByText("It remembers nothing.").waitFor();
  await memory.getByLabel(/^A fact/).fill("We deploy on Fridays.");
  await memory.getByRole("button", { name: "Remember it" }).click();
  await memory.getByText("We deploy on Fridays.").waitFor();
  await memory.getByRole("button", { name: "Correct" }).click();
  await memory.getByLabel("The fact", { exact: true }).fill("We deploy on Mondays.");
  await memory.getByRole("button", { name: "Save" }).click();
  await memory.getByText("We deploy on Mondays.").waitFor();
  const turn = await engine.turns.run(owner, { instruction: "when?", workspaceId: id });
  await turn.finished;
  const forget = memory.getByRole("button", { name: "Forget" });
  await forget.click();
  await forget.click();
  await memory.getByText("Forgotten: no later request has it. These turns keep it").waitFor();
  await memory.getByRole("link", { name: /^turn 1 of session/ }).waitFor();
  assert.deepEqual((await parts.memory?.read(id))?.facts, []);
  assert.deepEqual(tab.faults, []);
});

test("[U10] [H4] [P3] who does not run the server sees no workspace, and a device sees its own", async (t) => {
  const { tabOf, anonymousTab, url, id, engine, owner, deps, workspaces, bindings } = await world(t);
  const other = await workspaces.create({ name: "other" });
  const { id: userId, orgId, role } = await addUser(deps.records, { orgId: owner.orgId, role: "member" });
  const member = await tabOf({ orgId, userId, role }, "/admin/workspaces");
  await member.getByText(/^There is no workspace yet that you may use\./).waitFor();
  assert.equal(await member.getByRole("button", { name: "Make a workspace" }).count(), 0);
  await member.getByRole("link", { name: "Pair a device" }).click();
  await member.getByRole("button", { name: "Add a phone or another browser" }).waitFor();
  await member.goto(`${url}/admin/workspaces/${id}`);
  await member.getByText(/workspace_unknown/).waitFor();
  const { code } = await engine.devices.pair(owner, { workspaceId: id });
  const phone = await anonymousTab(`/pair#${code}`, { viewport: { width: 320, height: 640 } });
  await phone.getByRole("button", { name: "Pair" }).click();
  await phone.locator(".shell").waitFor();
  await phone.goto(`${url}/admin/workspaces`);
  await phone.getByRole("link", { name: "shop" }).click();
  await phone.getByLabel(field).waitFor();
  assert.equal(await phone.getByRole("button", { name: "Delete" }).count(), 0);
  const [device = assert.fail("no device")] = await engine.devices.list(owner);
  // The phone is bound since it was paired. An editor is bound by an id that it made itself.
  const editor = randomUUID();
  await bindings.bind(editor, id);
  const desk = await tabOf(owner, `/admin/workspaces/${id}`);
  await desk.locator(".device-name").getByText(device.name).waitFor();
  await desk
    .locator(".device-name")
    .getByText(`…${editor.slice(-8)}`)
    .waitFor();
  assert.equal(await desk.getByText(device.deviceId.slice(-8)).count(), 0, "no id where there is a name");
  await phone.goto(`${url}/admin/workspaces/${other.id}`);
  await phone.getByText(/workspace_unknown/).waitFor();
});

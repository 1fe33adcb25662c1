/** Administration in the page (U10): indexes with progress, what the server finds about itself, contexts and their versions, audit. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { after, test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { localOrgId } from "../../src/domain/caller.ts";
import { AptoveError } from "../../src/domain/errors.ts";
import type { Inspection } from "../../src/engine/dependencies.ts";
import { openWorkingCopy } from "../../src/retrieval/current-files.ts";
import { indexedRepository } from "../indexed-repository.ts";
import { addUser } from "../people.ts";
import { axeFaults, closeBrowser, pageWorld, type PageWorldOptions } from "./page-world.ts";

after(closeBrowser);

const halfway = fileURLToPath(new URL("../children/index-halfway.ts", import.meta.url));

async function adminWorld(t: TestContext, options: PageWorldOptions = {}) {
  const indexed = await indexedRepository(t, { orgId: localOrgId });
  const retrievers = new Map([["local", indexed.retriever]]);
  const world = await pageWorld(t, { retrievers, workingCopy: openWorkingCopy, ...options });
  return { ...indexed, ...world };
}

test("[U10] [U13] an admin makes a key, watches an index being built, reads what the server finds, edits and compares a context, and sees who did what", async (t) => {
  const bucket = Promise.withResolvers<void>();
  const inspections: Inspection[] = [
    { name: "records", look: async () => ({ state: "ok", detail: "SQLite 3" }) },
    {
      name: "blobs",
      look: async () => {
        await bucket.promise;
        throw new AptoveError("storage_failed", "the bucket does not answer");
      },
    },
  ];
  const world = await adminWorld(t, { inspections: async () => inspections });
  const { engine, owner, repository, hold } = world;
  const shared = await engine.turns.run(owner, { instruction: "share me", repo: "sample" });
  await shared.finished;
  await engine.sharing.change(owner, shared.sessionId, { isPublic: true });

  const tab = await world.tab("/admin/keys");
  await tab.getByPlaceholder("Name of the key").fill("for the build");
  await tab.getByRole("button", { name: "Make a key" }).click();
  const secret = (await tab.locator(".notice code").textContent()) ?? "";
  assert.equal((await engine.keys.authenticate(secret))?.userId, owner.userId);

  await tab.getByRole("link", { name: "Indexes" }).click();
  const card = tab.getByRole("region", { name: "sample" });
  await card.getByText("1 file, 1 chunk").waitFor();
  repository.write({ "b.ts": "export function farewell() {}\n", "one.bin": Uint8Array.of(0, 1, 0) });
  const held = hold();
  await card.getByRole("button", { name: "Index again" }).click();
  await held.reached;
  const bar = card.getByRole("progressbar", { name: "Indexing sample" });
  await card.getByText(/^Reads what changed: \d of 3 files, 0 chunks written/).waitFor();
  assert.equal(await bar.getAttribute("max"), "3");
  assert.deepEqual(await axeFaults(tab), []);
  held.go();
  await card.getByText("2 files, 2 chunks").waitFor();
  await bar.waitFor({ state: "detached" });
  await card.getByText("1 file skipped").click();
  await card.getByText("binary: 1 file").click();
  await card.getByText("one.bin").waitFor();

  await tab.getByRole("link", { name: "Server" }).click();
  const checks = tab.getByRole("region", { name: "Checks" });
  await checks.getByRole("listitem").filter({ hasText: "SQLite 3" }).getByText("works").waitFor();
  // A store that does not answer delays only its own line.
  await checks.getByRole("listitem").filter({ hasText: "blobs" }).getByText("is checked").waitFor();
  bucket.resolve();
  await checks.getByText("the bucket does not answer").waitFor();
  await checks.getByText(/^What to do: correct what the message names, or check the disk/).waitFor();
  await checks.getByText("1 of 3 parts failed.").waitFor();
  inspections[1] = { name: "blobs", look: async () => ({ state: "ok", detail: "in the data folder" }) };
  await checks.getByRole("button", { name: "Run again" }).click();
  await checks.getByText("Every part works.").waitFor();

  await tab.getByRole("link", { name: "Contexts" }).click();
  await tab.getByRole("link", { name: "default" }).last().click();
  const field = tab.getByRole("textbox");
  for (const [from, to, version] of [
    ["Be careful.", "Be brief.\\nBe kind.", "Version 1"],
    ["Be kind.", "Be exact.", "Version 2"],
  ] as const) {
    await field.fill((await field.inputValue()).replace(from, to));
    await tab.getByRole("button", { name: "Save a new version" }).click();
    await tab.getByText(version).first().waitFor();
  }
  await tab.getByRole("button", { name: "What changed" }).first().click();
  const comparison = tab.getByRole("region", { name: "Comparison" });
  await comparison.locator("tr.removed", { hasText: "Be kind." }).waitFor();
  await comparison.locator("tr.added", { hasText: "Be exact." }).waitFor();
  assert.match(tab.url(), /from=1&to=2$/);
  await tab.getByRole("button", { name: "Go back to version 1" }).click();
  await tab.getByRole("button", { name: /Go back to version 1: are you sure/ }).click();
  await tab.getByText("Version 3").first().waitFor();
  const { content } = await engine.contexts.get(owner, { kind: "conversation", id: "default" });
  assert.ok(content !== null && "bootPrompt" in content);
  assert.equal(content.bootPrompt, "Be brief.\nBe kind.");

  await tab.getByRole("link", { name: "Audit" }).click();
  for (const action of ["key.create", "index.start", "context.change"])
    await tab.getByRole("cell", { name: action }).first().waitFor();
  await tab.getByLabel("Action").selectOption("session.share");
  await tab.getByRole("cell", { name: "key.create" }).first().waitFor({ state: "detached" });
  await tab.getByRole("link", { name: `session ${shared.sessionId.slice(-8)}` }).click();
  await tab.getByRole("heading", { name: "share me" }).waitFor();
  assert.deepEqual(tab.faults, []);
});

test("[U10] [U13] a run is stopped, and an index whose folder is deleted is refused with the reason", async (t) => {
  const { repository, hold, ...world } = await adminWorld(t);
  const tab = await world.tab("/admin/indexes");
  const card = tab.getByRole("region", { name: "sample" });
  repository.write({ "b.ts": "export function farewell() {}\n" });
  const held = hold();
  await card.getByRole("button", { name: "Index again" }).click();
  await held.reached;
  await card.getByRole("button", { name: "Stop" }).click();
  await card.getByText(/an admin stopped the run; the former index is unchanged/).waitFor();
  await card.getByText("1 file, 1 chunk").waitFor();
  held.go();
  repository.remove();
  await card.getByRole("button", { name: "Index again" }).click();
  await tab
    .getByRole("alert")
    .getByText(/is gone or no longer a repository/)
    .waitFor();
  await card.getByText("1 file, 1 chunk").waitFor();
  assert.deepEqual(tab.faults, []);
});

test("[U10] [U13] the run of another program is shown with its process, cannot be stopped here, and is seen to end", async (t) => {
  const { repository, folder, ...world } = await adminWorld(t);
  repository.write({ "b.md": "A lighthouse.\n" });
  const child = spawn(process.execPath, [halfway, folder, repository.root, "sample", localOrgId], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.after(() => child.kill("SIGKILL"));
  await once(child.stdout, "data");
  const tab = await world.tab("/admin/indexes");
  const card = tab.getByRole("region", { name: "sample" });
  await card.getByText(`by another program (process ${child.pid})`).waitFor();
  assert.equal(await card.getByRole("button").count(), 0);
  child.kill("SIGKILL");
  await card.getByText(`the process ${child.pid} ended before the run was complete`).waitFor();
  await card.getByRole("button", { name: "Index again" }).waitFor();
  assert.deepEqual(tab.faults, []);
});

test("[U10] [U13] [H4] a member sees the indexes and neither starts a run nor reads what the server finds", async (t) => {
  const { engine, deps, url, owner, anonymousTab } = await adminWorld(t);
  const member = await addUser(deps.records, { orgId: owner.orgId, role: "member" });
  const caller = { orgId: owner.orgId, userId: member.id, role: "member" as const };
  const { code } = await engine.keys.browsers.code(caller);
  const tab = await anonymousTab(`/#code=${code}`);
  await tab.locator(".shell").waitFor();
  await tab.goto(`${url}/admin/indexes`);
  await tab.getByRole("region", { name: "sample" }).getByText("1 file, 1 chunk").waitFor();
  assert.equal(await tab.getByRole("button", { name: "Index again" }).count(), 0);
  await tab.goto(`${url}/admin/server`);
  await tab.getByText("can run turns").waitFor();
  assert.equal(await tab.getByRole("region", { name: "Checks" }).count(), 0);
});

test("[U10] [G1] [U13] a context that another admin changed meanwhile shows both, and nothing that was typed is lost", async (t) => {
  const { engine, owner, ...world } = await adminWorld(t);
  const tab = await world.tab();
  const refused: string[] = [];
  tab.on("response", (response) => void (response.ok() || refused.push(response.url())));
  await tab.goto(`${world.url}/admin/contexts/conversation/default`);
  const field = tab.getByRole("textbox");
  await field.fill((await field.inputValue()).replace("Be careful.", "Be mine."));
  assert.deepEqual(refused, [], "a context without versions is no fault");
  await engine.contexts.put(owner, { kind: "conversation", id: "default", entry: { boot_prompt: "Be theirs." } });
  await tab.getByRole("button", { name: "Save a new version" }).click();
  const conflict = tab.getByRole("region", { name: "Conflict" });
  await conflict.getByText(/^Version 1 was saved meanwhile, by owner\./).waitFor();
  await conflict.getByText("Be theirs.").waitFor();
  await conflict.getByText("Be mine.").waitFor();
  assert.match(await field.inputValue(), /Be mine\./);
  assert.deepEqual(await axeFaults(tab), []);
  await tab.getByRole("button", { name: "Save a new version" }).click();
  await conflict.waitFor({ state: "detached" });
  await tab.getByText("Version 2").first().waitFor();
  const { content } = await engine.contexts.get(owner, { kind: "conversation", id: "default" });
  assert.ok(content !== null && "bootPrompt" in content && content.bootPrompt === "Be mine.");
  // What is no JSON is named, and stays.
  await field.fill("{ nothing");
  await tab.getByRole("button", { name: "Save a new version" }).click();
  await tab
    .getByRole("alert")
    .getByText(/This is not JSON, so nothing was saved/)
    .waitFor();
  assert.equal(await field.inputValue(), "{ nothing");
  assert.deepEqual(tab.faults, []);
});

test("[U10] [G1] [U13] a context that was saved never shows its former text again, and what is typed meanwhile is based on it", async (t) => {
  const { engine, owner, ...world } = await adminWorld(t);
  const tab = await world.tab();
  await tab.goto(`${world.url}/admin/contexts/conversation/default`);
  const field = tab.getByRole("textbox");
  const save = tab.getByRole("button", { name: "Save a new version" });
  await field.fill((await field.inputValue()).replace("Be careful.", "Be brief."));
  const [asked, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await tab.route("**/api/contexts/conversation/default/versions*", async (route) => {
    asked.resolve();
    await held.promise;
    await route.continue();
  });
  await save.click();
  await asked.promise;
  assert.equal(await save.isDisabled(), true);
  assert.match(await field.inputValue(), /Be brief\./);
  await field.fill((await field.inputValue()).replace("Be brief.", "Be exact."));
  held.resolve();
  await tab.getByText("Version 1").first().waitFor();
  await save.click();
  await tab.getByText("Version 2").first().waitFor();
  assert.equal(await tab.getByRole("region", { name: "Conflict" }).count(), 0);
  const { content } = await engine.contexts.get(owner, { kind: "conversation", id: "default" });
  assert.ok(content !== null && "bootPrompt" in content && content.bootPrompt === "Be exact.");
  assert.deepEqual(tab.faults, []);
});

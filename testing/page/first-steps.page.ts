/** The first steps of a person in the page: sign-in, a first question, what the model was given (U2, U4, U6). */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { askInPage, axeFaults, closeBrowser, pageWorld } from "./page-world.ts";
import type { BrowserIdentities, IdentityProvider } from "../../src/identity/identity-provider.ts";
import { openIdProvider } from "../../src/identity/oidc/oidc.ts";
import { openIdOptions, openIdServer } from "../openid-provider.ts";
import { startedProgram } from "./started-program.ts";

after(closeBrowser);

test("[U2] [U4] [U6] [U13] npm start's address signs in; a first question about the code is answered, with what was given", async (t) => {
  const started = await startedProgram(t);
  const world = await pageWorld(t);
  const tab = await world.anonymousTab("/");
  await tab.goto(started.address);
  await tab.locator(".shell").waitFor();
  assert.ok(!tab.url().includes("code="), "the code is not left in the address");
  await askInPage(tab, "how is a user greeted?");
  await tab.getByText("built-in offline model").first().waitFor();
  await tab.getByRole("link", { name: "What it saw" }).click();
  const inspector = tab.getByRole("complementary", { name: "Inspector" });
  await inspector.getByText("src/greet.ts").first().waitFor();
  await inspector.locator("summary", { hasText: "src/greet.ts" }).first().click();
  await inspector.getByText("export function greet").waitFor();
  await tab.goto(started.address);
  await tab.locator(".shell").waitFor();
  assert.deepEqual(tab.faults, []);
});

test("[U2] [U13] a key signs in; a wrong one says why; signing out ends it; 401 leads to the sign-in", async (t) => {
  const world = await pageWorld(t);
  const tab = await world.anonymousTab("/costs");
  await tab.getByLabel("API key").fill("aptove_wrong");
  await tab.getByRole("button", { name: "Sign in" }).click();
  await tab.getByText("sign_in_refused").waitFor();
  await tab.getByLabel("API key").fill(world.key);
  await tab.getByRole("button", { name: "Sign in" }).click();
  await tab.getByRole("heading", { name: "Costs" }).waitFor();
  const { keys } = await world.engine.keys.list(world.owner);
  const browser = keys.find(({ name }) => name === "Chrome on Linux") ?? assert.fail("the browser is not listed");
  await world.engine.keys.revoke(world.owner, browser.id);
  await tab.getByText("Your sign-in has ended.").waitFor();
  await tab.getByLabel("API key").waitFor();
  assert.deepEqual(tab.faults, []);
});

test("[U2] [U13] an OpenID provider signs in, and the page opens where the person was; a used answer signs in no one", async (t) => {
  const identities: { browsers?: BrowserIdentities } & IdentityProvider = { identify: async () => null };
  const world = await pageWorld(t, { identities });
  const { issuer } = await openIdServer(t, {
    redirectUris: [`${world.url}/signed-in`],
    accounts: { grace: { name: "Grace" } },
  });
  identities.browsers = openIdProvider({ ...openIdOptions, issuer }).browsers ?? assert.fail();
  const tab = await world.anonymousTab("/costs");
  await tab.getByRole("button", { name: "Sign in with 127.0.0.1" }).click();
  await tab.locator("input[name=login]").fill("grace");
  await tab.locator("input[name=password]").fill("x");
  await tab.locator("button[type=submit]").click();
  const answer = tab.waitForURL(/signed-in/, { waitUntil: "commit" });
  await tab.getByRole("button", { name: "Continue" }).click();
  await answer;
  await tab.getByRole("heading", { name: "Costs" }).waitFor();
  assert.equal(new URL(tab.url()).search, "", "the code is not left in the address");
  await tab.goto(`${world.url}/signed-in?code=used&state=x`);
  await tab.locator(".shell").waitFor();
  assert.deepEqual(tab.faults, []);
});

test("[U2] [P3] [U13] /pair makes the browser a device, which is revoked while it is open", async (t) => {
  const world = await pageWorld(t);
  const { code } = await world.engine.devices.pair(world.owner);
  const tab = await world.anonymousTab(`/pair#${code}`, { viewport: { width: 360, height: 740 } });
  await tab.getByLabel("Name in the list of devices").fill("my phone");
  await tab.getByRole("button", { name: "Pair this browser" }).click();
  await tab.locator(".shell").waitFor();
  const [device] = await world.engine.devices.list(world.owner);
  assert.equal(device?.name, "my phone");
  await world.engine.devices.revoke(world.owner, device.id);
  await tab.getByText("Your sign-in has ended.").waitFor();
  assert.deepEqual(tab.faults, []);
});

test("[U12] [U13] the first question works with the keyboard alone", async (t) => {
  const world = await pageWorld(t, { script: () => "An answer." });
  const tab = await world.anonymousTab("/");
  await tab.getByLabel("API key").focus();
  await tab.keyboard.type(world.key);
  await tab.keyboard.press("Enter");
  await tab.locator(".shell").waitFor();
  await tab.getByLabel("Instruction").waitFor();
  await tab.keyboard.type("hello");
  await tab.keyboard.press("Enter");
  await tab.getByText("An answer.").waitFor();
  await tab.keyboard.press("Escape");
  await tab.locator("body").press("Enter");
  await tab.getByRole("complementary", { name: "Inspector" }).waitFor();
  await tab.keyboard.press("Escape");
  await tab.getByRole("complementary", { name: "Inspector" }).waitFor({ state: "detached" });
  await tab.keyboard.press("/");
  assert.equal(await tab.evaluate("document.activeElement.id"), "composer");
  await tab.keyboard.press("Escape");
  await tab.keyboard.press("Control+k");
  await tab.keyboard.type("waiting");
  await tab.keyboard.press("Enter");
  await tab.getByRole("heading", { name: "Waiting for you" }).waitFor();
  assert.deepEqual(tab.faults, []);
});

test("[U4] [U12] [U13] behind an @ the indexed files are offered, and the keyboard picks one", async (t) => {
  const started = await startedProgram(t);
  const world = await pageWorld(t);
  const tab = await world.anonymousTab("/");
  await tab.goto(started.address);
  const field = tab.getByLabel("Instruction");
  const offered = tab.getByRole("listbox", { name: "Files" }).getByRole("option");
  await field.fill("what does @gree");
  await offered.filter({ hasText: "src/greet.ts" }).waitFor();
  assert.deepEqual(await axeFaults(tab), []);
  await field.press("Tab");
  assert.equal(await field.inputValue(), "what does @src/greet.ts ");
  await field.press("End");
  await field.pressSequentially("do, and @");
  await offered.nth(1).waitFor();
  await field.press("ArrowDown");
  await field.press("Escape");
  assert.equal(await offered.count(), 0);
  assert.match(await field.inputValue(), /do, and @$/);
  await field.fill("an address: ada@example.org");
  assert.equal(await offered.count(), 0);
  assert.deepEqual(tab.faults, []);
});

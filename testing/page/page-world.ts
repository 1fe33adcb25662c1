/** A server with the built page and a scripted model, and tabs of a real browser that report every fault of the page. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import type { Browser, BrowserContextOptions, Page, Request } from "playwright-core";
import { httpDoor, type HttpDoorOptions } from "../../src/doors/http/door.ts";
import { listen } from "../../src/doors/http/listen.ts";
import { findPage } from "../../src/doors/http/page/find-page.ts";
import type { Caller } from "../../src/domain/caller.ts";
import { addUser } from "../people.ts";
import { testEngine, type TestEngine, type TestEngineOptions } from "../engine.ts";
import { findChromium, openChromium, type OpenedChromium } from "./chromium.ts";

export interface PageWorld extends TestEngine {
  url: string;
  /** The owner of the data, with whom `tab` signs in. */
  owner: Caller;
  key: string;
  /** Opens a tab that is signed in, at this address of the page. */
  tab(at?: string, options?: BrowserContextOptions): Promise<Tab>;
  /** Opens a tab in which this caller is signed in. */
  tabOf(caller: Caller, at?: string, options?: BrowserContextOptions): Promise<Tab>;
  /** A tab that is not signed in. */
  anonymousTab(at: string, options?: BrowserContextOptions): Promise<Tab>;
  /** Stops listening, and listens again at the same port. */
  stopListening(): Promise<void>;
  listenAgain(): Promise<void>;
}

export interface Tab extends Page {
  /** What the page reported: errors of scripts, and everything that the policy refused. */
  faults: string[];
}

const root = fileURLToPath(new URL("../..", import.meta.url));
const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

let opened: Promise<OpenedChromium> | null = null;

/** Opens the browser once for all tests of a file. `closeBrowser` belongs into its `after`. */
async function sharedBrowser(): Promise<Browser> {
  opened ??= openChromium(findChromium() ?? assert.fail("there is no Chromium"));
  return (await opened).browser;
}

export async function closeBrowser(): Promise<void> {
  const closing = opened;
  opened = null;
  await (await closing)?.close();
}

export type PageWorldOptions = TestEngineOptions & { door?: Partial<HttpDoorOptions> };

export async function pageWorld(
  t: TestContext,
  { door: ofDoor, ...options }: PageWorldOptions = {},
): Promise<PageWorld> {
  const tested = await testEngine(t, options);
  const { engine, deps } = tested;
  const owner = await engine.keys.owner();
  const { secret } = await engine.keys.create(owner, { name: "test" });
  const page = findPage(root) ?? assert.fail("the page is not built");
  const door = httpDoor({ engine, report: () => undefined, page, heartbeatMs: 1_000, ...ofDoor });
  let server = await listen(door, { host: "127.0.0.1", port: 0 });
  const { url, port } = server;
  t.after(() => server.close());
  await addUser(deps.records, { orgId: owner.orgId, role: "member" });
  const anonymousTab = (at: string, more: BrowserContextOptions = {}): Promise<Tab> => openTab(t, url + at, more);
  const tabOf = async (caller: Caller, at = "/", more: BrowserContextOptions = {}): Promise<Tab> => {
    const { code } = await engine.keys.browsers.code(caller);
    const tab = await anonymousTab(`/#code=${code}`, more);
    await tab.locator(".shell").waitFor();
    if (at !== "/") await tab.goto(url + at);
    await tab.locator(".shell").waitFor();
    return tab;
  };
  return {
    ...tested,
    url,
    owner,
    key: secret,
    anonymousTab,
    tab: (at, more) => tabOf(owner, at, more),
    tabOf,
    stopListening: () => server.close(),
    listenAgain: async () => void (server = await listen(door, { host: "127.0.0.1", port })),
  };
}

async function openTab(t: TestContext, url: string, options: BrowserContextOptions): Promise<Tab> {
  const context = await (await sharedBrowser()).newContext({ viewport: { width: 1440, height: 900 }, ...options });
  t.after(() => context.close());
  const faults: string[] = [];
  const tab = Object.assign(await context.newPage(), { faults });
  tab.setDefaultTimeout(10_000);
  tab.on("pageerror", (error) => void faults.push(error.message));
  tab.on("console", (message) => {
    // A refused request is in the console too; the page shows it to the person.
    if (message.type() === "error" && !/Failed to load resource/.test(message.text())) faults.push(message.text());
  });
  noteRequests(tab);
  await tab.goto(url);
  return tab;
}

/** The requests of each tab that have no answer yet. A stream of events stays open, so it does not count. */
const unanswered = new WeakMap<Page, Set<Request>>();

function noteRequests(tab: Page): void {
  const open = new Set<Request>();
  unanswered.set(tab, open);
  tab.on("request", (request) => void (/\/events(?:\?|$)/.test(request.url()) || open.add(request)));
  tab.on("requestfinished", (request) => void open.delete(request));
  tab.on("requestfailed", (request) => void open.delete(request));
}

/** Resolves when everything that the view asks for is there and drawn: for some frames nothing is open and nothing loads. */
export async function settled(tab: Page): Promise<void> {
  const open = unanswered.get(tab) ?? new Set();
  for (let calm = 0; calm < 8; calm += 1) {
    await tab.evaluate("new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))");
    if (open.size > 0 || (await tab.locator(".loading").count()) > 0) calm = 0;
  }
}

/** Returns what axe finds in the page as it is. */
export async function axeFaults(tab: Page): Promise<string[]> {
  const found = await tab.evaluate(`(async () => {
    const module = { exports: {} };
    ${axeSource}
    const axe = module.exports.run ? module.exports : window.axe;
    const { violations } = await axe.run(document, { resultTypes: ["violations"] });
    return violations.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => id + ": " + html.slice(0, 200) + " " + failureSummary));
  })()`);
  return found as string[];
}

/** Asks in the composer and waits until the conversation is there. */
export async function askInPage(tab: Page, text: string): Promise<void> {
  await tab.getByLabel("Instruction").fill(text);
  await tab.getByLabel("Instruction").press("Enter");
}

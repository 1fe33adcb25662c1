/**
 * Makes a data folder with every kind of thing in it, for the release of this version, as `testing/fixtures/data-<version>/`:
 * the folder as the program leaves it, and a manifest of all that must be read from it. Frozen with the release, it is opened by
 * every later build (testing/data-folders.test.ts). `npm run fixture:data`.
 */
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { ActiveFile } from "../src/domain/active-file.ts";
import { builtInModes } from "../src/domain/context.ts";
import { sha256 } from "../src/domain/ids.ts";
import { folderKey } from "../src/domain/session.ts";
import {
  createAptove,
  type Aptove,
  type Caller,
  type Engine,
  type FinishedTurn,
  type Tool,
  type TurnRequest,
} from "../src/index.ts";
import { limits } from "../src/domain/limits.ts";
import { scriptedProvider, type Script } from "../src/testing.ts";
import { aptoveVersion } from "../src/version.ts";
import { inventoryOf } from "../testing/data-inventory.ts";
import { readOptions, wrongUse } from "./read-options.ts";

const workspaceId = "550e8400-e29b-41d4-a716-446655440000";
const repo = "team/shop";
const searched = ["lighthouse", "Größe", "summary", "nothing has this text"];

const usage = `npm run fixture:data -- [--replace]

Makes testing/fixtures/data-<version>/. With --replace, it replaces the folder of a version that was not released yet.`;
const { values } = readOptions(usage, { options: { replace: { type: "boolean" } } });
const target = fileURLToPath(new URL(`../testing/fixtures/data-${aptoveVersion()}/`, import.meta.url));
if (existsSync(target) && values.replace !== true)
  wrongUse(
    `${target} exists. It is never made again once its version was released; before that, --replace makes it anew.`,
  );
const work = mkdtempSync(join(tmpdir(), "aptove-data-"));

async function make(): Promise<void> {
  const dataDir = join(work, "data");
  const aptove = await open(dataDir);
  await fill(aptove);
  await closed(aptove);
  // Read by a process that knows nothing of how it was made.
  const again = await open(dataDir);
  const inventory = await inventoryOf(again, searched);
  await closed(again);
  rmSync(target, { recursive: true, force: true });
  cpSync(dataDir, join(target, "folder"), { recursive: true, filter: (path) => basename(path) !== "locks" });
  writeFileSync(join(target, "manifest.json"), `${JSON.stringify(inventory)}\n`);
  console.log(`${target}: ${inventory.sessions.length} sessions`);
}

/** Times begin with the day of the release's data, and go on by a second with each look at the clock. */
function clock(): () => number {
  let now = Date.UTC(2026, 10, 23, 8);
  return () => (now += 1_000);
}

async function open(dataDir: string): Promise<Aptove> {
  return await createAptove({
    dataDir,
    env: {},
    now: clock(),
    providers: [{ ...scriptedProvider({ script, remembers: true }), takes: () => ["image/png"] }],
    agentContexts: [{ id: "default", name: "Default", provider: "scripted", index: "local" }],
    conversationContexts: [
      {
        ...{ id: "default", name: "Default", bootPrompt: "You help with the shop.", model: null, history: null },
        ...{ retrieval: "optional", toolResend: "always", tools: [], modes: [...builtInModes], settings: {} },
        subagents: true,
      },
    ],
    tools: [notes, note],
    report: (message, error) => console.error(message, error ?? ""),
  });
}

async function closed({ engine, telemetry }: Aptove): Promise<void> {
  await engine.close();
  await telemetry.close();
}

/** What the person asked last, without the header of the message. */
function askedIn(call: Parameters<Script>[0]): string {
  const last = call.items.findLast((item) => item.type === "user");
  return last?.type === "user" ? ((last.parts[0] ?? "").split("[INSTRUCTION]\n")[1] ?? "") : "";
}

const neverEnding = new Promise<void>(() => {});

/** A model that does what the instruction names. */
const script: Script = (call, n) => {
  if (call.prompt?.startsWith("You condense") === true)
    return "A summary: they talked about the lighthouse in the shop.";
  const asked = askedIn(call);
  if (call.items.at(-1)?.type === "tool_result") return `The tools are done (${n}).`;
  if (asked.startsWith("Fail")) return [{ says: "I begin, and" }, { fails: "provider_unavailable" }];
  if (asked.startsWith("Refuse")) return [{ fails: "provider_rejected" }];
  if (asked.startsWith("Wait")) return [{ says: ["I begin ", neverEnding] }];
  if (asked.startsWith("Read"))
    return [{ thinks: "It is in the notes." }, { says: "I look." }, { calls: "read_notes" }];
  if (asked.startsWith("Write")) return [{ calls: "write_note", with: { text: "Größe: 42" } }];
  if (asked.startsWith("Pick")) return [{ calls: "pick_colour", with: { of: "the lighthouse" } }];
  if (asked.startsWith("Delegate"))
    return [{ calls: "spawn_subagent", with: { instruction: "Count the lamps.", name: "Counter" } }];
  if (asked.startsWith("Too long") && !JSON.stringify(call.items).includes("[SUMMARY"))
    return [{ fails: "context_window_exceeded" }];
  return `Answer ${n} to: ${asked.slice(0, 80)}. Die Größe des Leuchtturms: 42 m.`;
};

const notes: Tool = {
  definition: { name: "read_notes", description: "Reads the notes.", parameters: { type: "object" }, effect: "read" },
  needsApproval: () => false,
  // Longer than what the model gets, so that the whole output is kept with the turn.
  run: async () => ({ output: "a line of notes\n".repeat(limits.toolResultCharactersMax / 15), isError: false }),
};

const note: Tool = {
  definition: { name: "write_note", description: "Writes a note.", parameters: { type: "object" }, effect: "write" },
  needsApproval: () => true,
  run: async () => ({
    output: "written",
    isError: false,
    content: [{ type: "diff", path: "notes.md", oldText: null, newText: "Größe: 42\n" }],
  }),
};

const colourTool = { name: "pick_colour", description: "Asks the person.", parameters: { type: "object" } };

/** Runs turns of one caller to their ends. */
function asker(engine: Engine, caller: Caller) {
  return async (instruction: string, more: Partial<TurnRequest> = {}): Promise<FinishedTurn> =>
    await (
      await engine.turns.run(caller, { instruction, ...more })
    ).finished;
}

async function fill(aptove: Aptove): Promise<void> {
  const { engine } = aptove;
  const owner = await engine.keys.owner();
  const member = await addPeople(engine, owner);
  await addWorkspace(aptove);
  await indexShop(engine, owner);
  const main = await addMainSession(engine, owner);
  await addToolSessions(engine, owner);
  await addLongSession(engine, owner);
  await addSubagents(engine, owner);
  await addContexts(engine, owner);
  await addWorkspaceSessions(engine, owner);
  await addMarkedSessions(engine, owner, main);
  await addShared(engine, { owner, member });
  await addImported(engine, owner);
}

async function addPeople(engine: Engine, owner: Caller): Promise<Caller> {
  const ada = await engine.people.addUser(owner, { name: "Ada", email: "ada@example.org", role: "member" });
  await engine.people.addUser(owner, { name: "Rita", role: "reader", externalId: "rita-1" });
  const gone = await engine.people.addUser(owner, { name: "Gone" });
  await engine.people.changeUser(owner, gone.id, { disabled: true });
  const org = await engine.operator.createOrg("partner");
  await engine.operator.suspendOrg(org.id, true);
  const { secret } = await engine.keys.create(owner, { name: "laptop", userId: ada.id });
  const { key } = await engine.keys.create(owner, { name: "lost" });
  await engine.keys.revoke(owner, key.id);
  const { code } = await engine.devices.pair(owner);
  await engine.devices.claim({ code, name: "phone", deviceId: "a11ce000-0000-4000-8000-000000000001" });
  const caller = await engine.keys.authenticate(secret);
  if (caller === null) throw new Error("the key of Ada is not taken");
  return caller;
}

async function addWorkspace(aptove: Aptove): Promise<void> {
  const { store, bindings, permissions } = await aptove.workspaces();
  await store.create({ id: workspaceId, name: "Shop", at: Date.UTC(2026, 10, 23, 8) });
  await bindings.bind("device-1", workspaceId);
  await permissions.allow(workspaceId, "run npm test");
}

async function indexShop(engine: Engine, owner: Caller): Promise<void> {
  const root = join(work, "shop");
  mkdirSync(root);
  writeFileSync(join(root, "lighthouse.md"), "# The lighthouse\n\nIt stands in the shop and has one lamp.\n");
  writeFileSync(join(root, "shop.ts"), "export function openShop(): string {\n  return 'open';\n}\n");
  const date = "2026-11-23T08:00:00Z";
  const env = { ...process.env, GIT_AUTHOR_DATE: date, GIT_COMMITTER_DATE: date, GIT_CONFIG_GLOBAL: "/dev/null" };
  const who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false"];
  for (const args of [
    ["init", "-q"],
    ["add", "."],
    ["commit", "-qm", "The shop"],
  ]) {
    execFileSync("git", [...who, ...args], { cwd: root, env });
  }
  await engine.indexes.index(owner, { repo, root });
}

function activeFile(path: string, content: string, isTouched: boolean): ActiveFile {
  return { path, content: Buffer.from(content), sha256: sha256(content), isTouched };
}

/** Chunks, active files, parts, forks, reruns, a moved head, ends of every kind. Gives a turn of it. */
async function addMainSession(engine: Engine, owner: Caller): Promise<FinishedTurn> {
  const ask = asker(engine, owner);
  const first = await ask("Where is the lighthouse?", {
    ...{ workspaceId, repo, idempotencyKey: "first", mode: "ask", language: "markdown" },
    settings: { temperature: 0.2, maxOutputTokens: 500, reasoningEffort: "low" },
    activeFiles: [
      activeFile("shop.ts", "export function openShop() {}\n", true),
      activeFile("untouched.ts", "export {};\n", false),
    ],
    session: {
      labels: ["shop", "Größe"],
      metadata: { [folderKey]: "/projects/shop", n: 1 },
      description: "For the fixture.",
    },
  });
  const { sessionId } = first;
  const image = Buffer.from(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABpfZFQAAAAABJRU5ErkJggg==",
    "base64",
  );
  const second = await ask("What is in the picture?", {
    sessionId,
    repo,
    input: [
      { type: "binary", content: image, mediaType: "image/png", name: "lamp.png", mode: "inline" },
      {
        type: "file",
        path: "docs/long.txt",
        content: Buffer.from("a long document\n".repeat(50)),
        mediaType: "text/plain",
      },
    ],
  });
  await ask("", { rerun: { turnId: second.id }, sessionId });
  await ask("Fail now", { sessionId });
  await ask("Refuse now", { sessionId });
  const waiting = await engine.turns.run(owner, { sessionId, instruction: "Wait for me" });
  for await (const { event } of waiting.events()) if (event.type === "text_delta") break;
  await engine.turns.interrupt(owner, { turnId: waiting.turnId });
  await waiting.finished;
  const head = (await engine.sessions.get(owner, sessionId)).headTurnId;
  await engine.tree.moveHead(owner, { sessionId, from: head, to: second.id });
  await ask("And from here?", {
    sessionId,
    repo,
    activeFiles: [activeFile("shop.ts", "", true)],
  });
  await ask("On another branch", { fork: { turnId: first.id } });
  return second;
}

async function addToolSessions(engine: Engine, owner: Caller): Promise<void> {
  const ask = asker(engine, owner);
  const read = await ask("Read the notes");
  const write = await ask("Write a note", { sessionId: read.sessionId, mode: "edit" });
  if (write.status !== "awaiting_tool_results") throw new Error(`the note is ${JSON.stringify(write)}`);
  const allowed = write.deferredCalls.map(({ callId }) => ({ callId, approved: true }));
  await ask("", { sessionId: read.sessionId, toolResults: allowed });
  const pick = await ask("Pick a colour", { tools: [colourTool] });
  if (pick.status !== "awaiting_tool_results") throw new Error(`the colour is ${pick.status}`);
  const given = pick.deferredCalls.map(({ callId }) => ({ callId, output: "red", isError: false }));
  await ask("", { sessionId: pick.sessionId, tools: [colourTool], toolResults: given });
  // One that still waits.
  await ask("Pick another colour", { tools: [colourTool] });
}

/** A history that the model's window cannot hold is summarised. */
async function addLongSession(engine: Engine, owner: Caller): Promise<void> {
  const ask = asker(engine, owner);
  const first = await ask("Tell me about the lighthouse");
  for (let n = 2; n <= 5; n += 1) await ask(`More of it, ${n} ${"word ".repeat(80)}`, { sessionId: first.sessionId });
  await ask("Too long for the window", { sessionId: first.sessionId });
  await ask("After the summary", { sessionId: first.sessionId });
}

async function addSubagents(engine: Engine, owner: Caller): Promise<void> {
  const ask = asker(engine, owner);
  const { sessionId } = await ask("Delegate the counting");
  await untilRested(engine, owner, sessionId);
  await ask("", { sessionId, fire: true });
  // A message that waits.
  await ask("Delegate it again", { sessionId });
  await untilRested(engine, owner, sessionId);
}

async function untilRested(engine: Engine, owner: Caller, sessionId: string): Promise<void> {
  for (let wait = 0; wait < 200; wait += 1) {
    const { messages, runningTurnIds } = await engine.sessions.mailbox(owner, sessionId, { waiting: true });
    if (messages.length > 0 && runningTurnIds.length === 0) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error("the subagent did not end");
}

async function addContexts(engine: Engine, owner: Caller): Promise<void> {
  const review = { kind: "conversation", id: "review" } as const;
  await engine.contexts.put(owner, { ...review, entry: { boot_prompt: "Find faults." } });
  await asker(engine, owner)("Review it", { conversationContextId: "review" });
  await engine.contexts.put(owner, { ...review, entry: { boot_prompt: "Praise." }, expected: 1 });
  const old = { kind: "conversation", id: "old" } as const;
  await engine.contexts.put(owner, { ...old, entry: { boot_prompt: "Old." } });
  await engine.contexts.retire(owner, { ...old, expected: 1 });
}

/** A session that continues its workspace's conversation, and one that begins with a text of a person. */
async function addWorkspaceSessions(engine: Engine, owner: Caller): Promise<void> {
  const ask = asker(engine, owner);
  const { session } = await engine.workspaceSessions.begin(owner, { workspaceId });
  await ask("Go on in the workspace", { sessionId: session.id });
  const messages = [
    { role: "user", text: "What did we say?" },
    { role: "assistant", text: "## User\nNothing." },
  ] as const;
  const imported = await engine.workspaceSessions.import(owner, { workspaceId, messages });
  await ask("Go on from the text", { sessionId: imported.id });
}

async function addMarkedSessions(engine: Engine, owner: Caller, { id: turnId }: FinishedTurn): Promise<void> {
  const ask = asker(engine, owner);
  const archived = await ask("To be archived", { fork: { turnId } });
  await engine.tree.archive(owner, archived.sessionId);
  const removed = await ask("To be removed");
  await engine.tree.remove(owner, removed.sessionId);
  const purged = await ask("To be purged");
  await ask("Rests on the purged one", { fork: { turnId: purged.id } });
  await engine.tree.remove(owner, purged.sessionId);
  await engine.tree.purge(owner, purged.sessionId);
}

async function addShared(engine: Engine, { owner, member }: { owner: Caller; member: Caller }): Promise<void> {
  const { sessionId } = await asker(engine, member)("A session of Ada");
  await engine.sharing.change(member, sessionId, { isPublic: true, invite: [owner.userId] });
  await asker(engine, owner)("The owner joins in", { sessionId });
}

/** A session of another data folder, taken over by its export. */
async function addImported(engine: Engine, owner: Caller): Promise<void> {
  const other = await open(join(work, "other"));
  const there = await other.engine.keys.owner();
  const turn = await asker(other.engine, there)("Asked in another folder");
  await asker(other.engine, there)("And more", { sessionId: turn.sessionId });
  await engine.transfer.import(owner, other.engine.transfer.export(there, { sessionId: turn.sessionId }));
  await closed(other);
}

try {
  await make();
} finally {
  rmSync(work, { recursive: true, force: true });
}

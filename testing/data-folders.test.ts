/**
 * Every build opens the data folder of every release (B2). Each is a folder that the release left, with a manifest of what must
 * be read from it, made by `npm run fixture:data` and never changed since.
 */
import assert from "node:assert/strict";
import { cpSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { createAptove, type Aptove, type FinishedTurn, type Session } from "../src/index.ts";
import { scriptedProvider } from "../src/testing.ts";
import { inventoryOf, type DataInventory } from "./data-inventory.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const fixtures = fileURLToPath(new URL("fixtures/", import.meta.url));
const releases = readdirSync(fixtures).filter((name) => name.startsWith("data-"));

function manifestOf(release: string): DataInventory {
  return JSON.parse(readFileSync(join(fixtures, release, "manifest.json"), "utf8")) as DataInventory;
}

/** Copies the folder, for it is frozen, and opens the copy. */
async function copyOf(context: TestContext, release: string): Promise<() => Promise<Aptove>> {
  const dataDir = join(await temporaryFolder(context), "data");
  cpSync(join(fixtures, release, "folder"), dataDir, { recursive: true });
  // An hour after the folder was made: years later its audit log would be too old to be kept.
  const later =
    Math.max(...manifestOf(release).sessions.map(({ session }) => (session as Session).updatedAt)) + 3_600_000;
  const since = performance.now();
  return async () => {
    const aptove = await createAptove({
      dataDir,
      env: {},
      now: () => Math.round(later + performance.now() - since),
      providers: [scriptedProvider({ script: () => "This is new." })],
      agentContexts: [{ id: "default", name: "Default", provider: "scripted", index: "local" }],
      report: (message, error) => assert.fail(`${message}: ${String(error)}`),
    });
    context.after(() => aptove.engine.close());
    return aptove;
  };
}

/** Reads all that the manifest names. A later build may read more of each thing, never less and nothing else. */
async function readsAll(aptove: Aptove, manifest: DataInventory): Promise<void> {
  const searched = manifest.searches.map(({ text }) => text);
  const inventory = JSON.parse(JSON.stringify(await inventoryOf(aptove, searched))) as DataInventory;
  assert.partialDeepStrictEqual(inventory, manifest);
  assert.deepEqual(inventory.listed, manifest.listed);
}

test("[B2] there is a data folder of a release, and it has every kind of thing", () => {
  assert.ok(releases.length > 0);
  for (const release of releases) {
    const text = readFileSync(join(fixtures, release, "manifest.json"), "utf8");
    const kinds = [
      ...[
        '"status":"completed"',
        '"status":"failed"',
        '"status":"awaiting_tool_results"',
        '"stopReason":"interrupted"',
      ],
      ...[
        '"kind":"async_subagent"',
        '"kind":"subagent_result"',
        '"wasSent":true',
        '"wasSentToLLM":true',
        '"rerunOf":"',
      ],
      ...['"originTurnId":"', '"isPublic":true', '"archivedAt":1', '"type":"binary"', '"version":2', '"index":3'],
      ...['"revokedAt":1', '"disabledAt":1', '"suspendedAt":1', '"session.md"', '"device-1"', '"run npm test"'],
      '"code":"context_window_exceeded"',
    ];
    for (const kind of kinds) assert.ok(text.includes(kind), `${release} has no ${kind}`);
    assert.ok(manifestOf(release).removed.length > 0);
  }
});

for (const release of releases) {
  suite(`the data folder of ${release.replace("data-", "")}`, () => {
    test("[B2] [D3] is read to its end: every list, row, text, request and response is what it was", async (context) => {
      const open = await copyOf(context, release);
      await readsAll(await open(), manifestOf(release));
    });

    test("[B2] [D2] every session of it verifies", async (context) => {
      const { engine } = await (await copyOf(context, release))();
      const owner = await engine.keys.owner();
      for (const id of manifestOf(release).listed) {
        assert.equal((await engine.explain.verify(owner, id)).fault, null, id);
      }
    });

    test("[B2] [T6] each of its sessions that takes turns is continued, and all of it is read again", async (context) => {
      const manifest = manifestOf(release);
      const open = await copyOf(context, release);
      const first = await open();
      const turns = await continueAll(first, manifest);
      assert.ok(turns.length > 5);
      await first.engine.close();

      const second = await open();
      const owner = await second.engine.keys.owner();
      for (const { id, sessionId, sequence } of turns) {
        const reader = await second.engine.turns.read(owner, id);
        assert.equal(await reader.answer(), "This is new.");
        assert.ok(sequence > 1);
        assert.equal((await second.engine.explain.verify(owner, sessionId)).fault, null);
      }
      for (const { turns: before } of manifest.sessions as { turns: { turn: { id: string } }[] }[]) {
        for (const { turn } of before)
          assert.partialDeepStrictEqual(await second.engine.turns.get(owner, turn.id), turn);
      }
    });

    test("[B2] [Q2] its index is found, and searched", async (context) => {
      const manifest = manifestOf(release);
      const { engine } = await (await copyOf(context, release))();
      const owner = await engine.keys.owner();
      const [{ repo = "" } = {}] = manifest.indexes as { repo: string }[];
      const turn = await (await engine.turns.run(owner, { instruction: "Where is the lighthouse?", repo })).finished;
      assert.ok(turn.manifest.chunks.some(({ path, wasSent }) => path === "lighthouse.md" && wasSent));
    });

    test("[B2] [S6] [S7] what was removed is restored, and what no list shows is found", async (context) => {
      const manifest = manifestOf(release);
      const { engine } = await (await copyOf(context, release))();
      const owner = await engine.keys.owner();
      for (const id of manifest.removed) {
        const { lastSequence } = await engine.tree.restore(owner, id);
        assert.equal((await engine.turns.list(owner, id, {})).length, lastSequence);
      }
      const place = {
        ...{ folder: "/projects/store", name: "team/store", isRepository: true, hasFolder: () => false },
        workspaceState: () => Promise.resolve("exists" as const),
      };
      const [detached] = await engine.sessions.attachments.find(owner, place);
      assert.deepEqual([detached?.causes, detached?.folder], [["folder_moved"], "/projects/shop"]);
    });
  });
}

async function continueAll({ engine }: Aptove, { listed }: DataInventory): Promise<FinishedTurn[]> {
  const owner = await engine.keys.owner();
  const turns: FinishedTurn[] = [];
  for (const sessionId of listed) {
    const session = await engine.sessions.get(owner, sessionId);
    if (session.archivedAt !== null) continue;
    const turn = await (await engine.turns.run(owner, { instruction: "And now?", sessionId })).finished;
    assert.equal(turn.status, "completed", JSON.stringify(turn));
    assert.equal(turn.parentId, session.headTurnId ?? session.originTurnId);
    turns.push(turn);
  }
  return turns;
}

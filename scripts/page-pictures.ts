/**
 * `npm run pictures [-- folder]`: makes the pictures of docs/page.md from the page itself, with a scripted model and a small example. With a
 * folder, every view at three widths, in light and dark, is put there to look at.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { sha256 } from "../src/domain/ids.ts";
import { AptoveError } from "../src/domain/errors.ts";
import type { Inspection } from "../src/engine/dependencies.ts";
import type { Retriever } from "../src/retrieval/retriever.ts";
import { scriptedProvider, type ScriptedAnswer } from "../src/providers/scripted/scripted.ts";
import { managedWorkspaces, type ManagedForTest } from "../testing/managed-workspaces.ts";
import { currentTranscriptName } from "../src/workspace/transcript-store.ts";
import { readOptions } from "./read-options.ts";
import { closeBrowser, pageWorld, settled, type PageWorld } from "../testing/page/page-world.ts";
import { toolWorld } from "../testing/tool-world.ts";

const discount = [
  "/** Returns the price after the discount. */",
  "export function discounted(total: number): number {",
  "  // From 100 on there are ten percent.",
  "  if (total > 100) {",
  "    return roundCents(total * 0.9);",
  "  }",
  "  return total;",
  "}",
  "",
];

const answers: readonly ScriptedAnswer[] = [
  [
    { thinks: "The question is about src/discount.ts." },
    {
      says: [
        "The discount is computed in `src/discount.ts`. Above **100** the price is multiplied by 0.9 and rounded to cents:\n\n",
        "```ts\nif (total > 100) {\n  return roundCents(total * 0.9);\n}\n```\n\n",
        '- `roundCents` rounds half to even, as `docs/prices.md` demands.\n- Exactly 100 gives no discount, although the comment says "from 100 on".\n',
      ],
    },
    {
      stops: "stop",
      usage: { input: 41_200, output: 210, cached: 29_100, reasoning: 40, total: 41_410, costUsd: 0.0142 },
    },
  ],
  [
    { says: "The shop has two rules: the discount, and free delivery from 50. Both are in `src/cart.ts`.\n" },
    {
      stops: "stop",
      usage: { input: 41_900, output: 60, cached: 41_000, reasoning: 0, total: 41_960, costUsd: 0.0051 },
    },
  ],
  [
    {
      says: "The rules of the shop:\n\n| rule | from | where |\n|---|---|---|\n| discount | over 100 | `src/discount.ts` |\n| free delivery | 50 | `src/cart.ts` |\n",
    },
    {
      stops: "stop",
      usage: { input: 41_900, output: 72, cached: 41_000, reasoning: 0, total: 41_972, costUsd: 0.0052 },
    },
  ],
  [
    { says: "I change the comparison, so that 100 itself counts.\n" },
    { calls: "edit", with: { path: "src/discount.ts", find: "total > 100", replace: "total >= 100" } },
    {
      stops: "tool_calls",
      usage: { input: 42_300, output: 95, cached: 41_800, reasoning: 0, total: 42_395, costUsd: 0.0049 },
    },
  ],
];

const places = [
  ["src/discount.ts", 1, 8, discount.join("\n")],
  [
    "src/cart.ts",
    12,
    58,
    "export function deliveryPrice(total: number): number {\n  return total >= 50 ? 0 : 4.9;\n}\n".repeat(4),
  ],
  ["docs/prices.md", 1, 30, "# Prices\n\nPrices are rounded half to even.\n".repeat(6)],
  [
    "src/round.ts",
    3,
    21,
    "export function roundCents(value: number): number {\n  return Math.round(value * 100) / 100;\n}\n".repeat(2),
  ],
] as const;

const retriever: Retriever = {
  search: async ({ repo }) =>
    places.map(([path, startLine, endLine, text], at) => ({
      id: path,
      repo,
      path,
      startLine,
      endLine,
      language: path.endsWith(".md") ? "markdown" : "typescript",
      symbol: null,
      text,
      hash: sha256(text),
      commit: null,
      score: 1 / (at + 1),
    })),
  index: () => Promise.reject(new Error("the example is not indexed")),
  list: async () => [
    {
      repo: "shop",
      root: "",
      commit: "3f1c9a7e",
      files: 38,
      chunks: 164,
      embedding: { model: "lexical", dimension: 256 },
      indexedAt: Date.now(),
    },
  ],
  runs: async () => [
    {
      repo: "shop",
      running: {
        phase: "chunking",
        ...{ filesDone: 21, filesTotal: 38, bytesDone: 61_440, chunksWritten: 97 },
        ...{ startedAt: Date.now() - 4_000, pid: 4_711, isHere: true, isRefresh: false },
      },
      done: {
        endedAt: Date.now() - 7_200_000,
        isRefresh: true,
        commit: "3f1c9a7e",
        ...{ filesTotal: 38, filesChanged: 3, filesRemoved: 1, chunksTotal: 164, chunksWritten: 12 },
        ...{ bytesRead: 18_432, durationMs: 240 },
        skipped: [
          { reason: "binary", count: 6, paths: ["assets/logo.ico"] },
          { reason: "lock_file", count: 1, paths: ["package-lock.json"] },
        ],
      },
      failed: null,
    },
  ],
  close: async () => {},
};

const inspections: readonly Inspection[] = [
  { name: "data folder", look: async () => ({ state: "ok", detail: "~/.local/share/aptove" }) },
  { name: "provider anthropic", look: async () => ({ state: "ok", detail: "answers and accepts the key" }) },
  { name: "records", look: async () => ({ state: "ok", detail: "SQLite 3.54.1, data of version 6" }) },
  { name: "blobs", look: async () => Promise.reject(new AptoveError("storage_failed", "s3://shop answers with 503")) },
  {
    name: "indexes",
    look: async () => ({
      ...{ state: "note", detail: "shop: 38 files, 164 chunks, lexical; made at another commit" },
      fix: "bring it up to date: aptove index",
    }),
  },
];

interface Example extends PageWorld {
  session: string;
  first: string;
  second: string;
  again: string;
  workspace: string;
}

/** Two workspaces; the first has a conversation, a device, permissions and a fact. Returns its id. */
async function fillWorkspaces(managed: ManagedForTest): Promise<string> {
  const { workspaces, bindings, permissions, transcripts, parts } = managed;
  await workspaces.create({ name: "release notes" });
  const { id } = await workspaces.create({ name: "shop" });
  await workspaces.resolve(null);
  await bindings.bind("phone-of-ada", id);
  await permissions.allow(id, "edit files in /srv/shop");
  await permissions.allow(id, 'run npm test -- --test-name-pattern="prices are rounded" in "/srv/shop"');
  const conversation =
    "## User\n\nWe write this in Go, without dependencies.\n\n## Assistant\n\nUnderstood. Prices are whole cents.\n";
  await transcripts.write(id, currentTranscriptName, { content: Buffer.from(conversation) });
  const fact = "Prices are rounded half to even, as docs/prices.md demands.";
  await parts.memory?.add(id, { text: fact, at: Date.now(), source: null });
  return id;
}

async function makeExample(t: TestContext): Promise<Example> {
  const { tools, put } = await toolWorld(t);
  await put("src/discount.ts", discount.join("\n"));
  const scripted = scriptedProvider({
    name: "anthropic",
    model: "claude-sonnet-5",
    script: (_call, n) => answers[n - 1] ?? "Done.",
  });
  const provider = Object.assign(scripted, { contextTokens: () => 200_000 });
  const managed = managedWorkspaces(() => world.deps);
  const world: PageWorld = await pageWorld(t, {
    ...{ provider, tools, inspections: async () => inspections, retrievers: new Map([["local", retriever]]) },
    workspaces: managed.parts,
  });
  const { engine, owner } = world;
  const workspace = await fillWorkspaces(managed);
  const run = async (instruction: string, more: object = {}): Promise<{ sessionId: string; turnId: string }> => {
    const turn = await engine.turns.run(owner, { instruction, repo: "shop", ...more });
    await turn.finished;
    return turn;
  };
  const first = await run("How is the discount computed?", {
    activeFiles: [
      { path: "assets/catalogue.json", content: Buffer.alloc(140_000, "{}"), sha256: null, isTouched: true },
    ],
  });
  const { sessionId } = first;
  const second = await run("Which other rules are there?", { sessionId });
  const again = await run("", { rerun: { turnId: second.turnId } });
  await engine.sessions.update(owner, sessionId, { name: "Where prices are rounded" });
  await engine.sessions.create(owner, { forkOf: first.turnId, name: "The same with taxes" });
  const careful = "You work on the shop.\nPrices are rounded half to even.\nAsk before you change a price.";
  const id = { kind: "conversation" as const, id: "shop" };
  await engine.contexts.put(owner, { ...id, entry: { boot_prompt: careful, retrieval: "optional" } });
  const brief = careful.replace("Ask before", "Show the change before");
  await engine.contexts.put(owner, { ...id, entry: { boot_prompt: brief, model: "claude-opus-5" }, expected: 1 });
  for (const [name, of] of [
    ["Release notes of 2.4", "Write the release notes."],
    ["Retry of the payment queue", "Why does the payment queue retry?"],
  ] as const) {
    const other = await engine.sessions.create(owner, { name, repo: "shop" });
    if (of.startsWith("Write")) await engine.sessions.update(owner, other.id, { labels: ["release"] });
  }
  return { ...world, workspace, session: sessionId, first: first.turnId, second: second.turnId, again: again.turnId };
}

type Size = readonly [width: number, height: number];

const sizes: readonly Size[] = [
  [360, 740],
  [768, 1024],
  [1440, 900],
];

async function main(t: TestContext, folder: string | undefined): Promise<void> {
  const example = await makeExample(t);
  const thread = `/s/${example.session}`;
  const waits = async (): Promise<void> => {
    const turn = await example.engine.turns.run(example.owner, {
      instruction: "Change > to >=",
      sessionId: example.session,
      mode: "edit",
      repo: "shop",
    });
    await turn.finished;
  };
  const shoot = async (
    path: string,
    { size, dark = false, file }: { size: Size; dark?: boolean; file: string },
  ): Promise<void> => {
    const [width, height] = size;
    const tab = await example.tab(path, { viewport: { width, height }, colorScheme: dark ? "dark" : "light" });
    await settled(tab);
    await tab.screenshot({ path: file });
    await tab.context().close();
  };
  if (folder !== undefined) {
    mkdirSync(folder, { recursive: true });
    const paths = [
      "/",
      thread,
      `${thread}/t/${example.again}`,
      `${thread}/t/tree`,
      `/compare/${example.second}/${example.again}`,
      "/several",
      "/map",
      "/costs",
      ...["devices", "keys", "people", "workspaces", "contexts", "indexes", "server", "audit"].map(
        (part) => `/admin/${part}`,
      ),
      `/admin/workspaces/${example.workspace}`,
      "/admin/contexts/conversation/shop?from=1&to=2",
    ];
    await waits();
    for (const [at, path] of [...paths, "/approvals"].entries())
      for (const size of sizes)
        for (const dark of [false, true])
          await shoot(path, { size, dark, file: join(folder, `${at}-${size[0]}-${dark ? "dark" : "light"}.png`) });
    return;
  }
  const pictures = fileURLToPath(new URL("../docs/pictures", import.meta.url));
  mkdirSync(pictures, { recursive: true });
  const [phone, , desktop] = sizes as [Size, Size, Size];
  await shoot(`${thread}/t/${example.first}`, { size: desktop, file: join(pictures, "page.png") });
  await shoot(`${thread}/t/tree`, { size: desktop, dark: true, file: join(pictures, "tree.png") });
  await shoot(`/compare/${example.second}/${example.again}`, {
    size: [1100, 700],
    file: join(pictures, "compare.png"),
  });
  await shoot("/admin/indexes", { size: [1100, 520], file: join(pictures, "indexes.png") });
  await shoot("/costs", { size: [1100, 700], file: join(pictures, "costs.png") });
  await waits();
  await shoot("/approvals", { size: phone, file: join(pictures, "approval.png") });
}

const usage =
  "npm run pictures -- [folder]\n\nMakes the pictures of docs/page.md. With a folder, it puts every view there, at three widths, in light and dark.";
const { positionals } = readOptions(usage, { allowPositionals: true });
const closers: (() => unknown)[] = [];
// What the tests' world needs of a test: a place for what ends it.
const context = { after: (close: () => unknown) => void closers.unshift(close) } as unknown as TestContext;
try {
  await main(context, positionals[0]);
} finally {
  for (const close of closers) await close();
  await closeBrowser();
}

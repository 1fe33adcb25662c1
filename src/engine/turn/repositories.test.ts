/** Sessions about several repositories (M7), on real indexes. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { alice, all, testEngine, type TestEngineOptions } from "../../../testing/engine.ts";
import { rejectionOf } from "../../../testing/refusals.ts";
import type { ActiveFile } from "../../domain/active-file.ts";
import type { FinishedTurn } from "../../domain/turn.ts";
import { lexicalEmbedder } from "../../retrieval/lexical-embedding.ts";
import { openLocalRetriever } from "../../retrieval/local/local-retriever.ts";
import { sampleRepository, type SampleRepository } from "../../retrieval/sample-repository.ts";
import { openWorkingCopy } from "../../retrieval/current-files.ts";
import { surroundingsOf } from "../../working-copy/surroundings.ts";

const question = "where are invoices sent to customers?";
const api = { "src/invoices.ts": "/** Sends invoices to customers by mail. */\nexport function sendInvoices() {}\n" };
const web = {
  "src/invoices.ts": "/** Shows customers which invoices were sent. */\nexport function InvoicesPage() {}\n",
  "AGENTS.md": "Write components as functions.\n",
};

interface World extends Awaited<ReturnType<typeof testEngine>> {
  folders: Record<"api" | "web", SampleRepository>;
  index(repo: "api" | "web", orgId?: string): Promise<unknown>;
  /** The text of the last request. */
  sent(): string;
}

async function world(t: TestContext, options: TestEngineOptions = {}): Promise<World> {
  const folders = { api: sampleRepository(api), web: sampleRepository(web) };
  const folder = mkdtempSync(join(tmpdir(), "aptove-repositories-"));
  const retriever = await openLocalRetriever({ folder, embedder: lexicalEmbedder() });
  t.after(async () => {
    await retriever.close();
    for (const each of Object.values(folders)) each.remove();
    rmSync(folder, { recursive: true });
  });
  const engine = await testEngine(t, {
    retrievers: new Map([["local", retriever]]),
    workingCopy: openWorkingCopy,
    surroundings: surroundingsOf,
    ...options,
  });
  const index = async (repo: "api" | "web", orgId = alice.orgId): Promise<unknown> =>
    await retriever.index({ root: folders[repo].root, orgId, repo });
  await index("api");
  await index("web");
  const sent = (): string => {
    const call = engine.provider.exchanges.at(-1)?.call;
    return `${call?.prompt}\n${(call?.items ?? []).flatMap((item) => (item.type === "user" ? item.parts : [])).join("\n")}`;
  };
  return { ...engine, folders, index, sent };
}

function paths({ manifest }: FinishedTurn): string[] {
  return manifest.chunks.map(({ path }) => path).toSorted();
}

function codes({ warnings }: FinishedTurn): string[] {
  return warnings.map(({ code }) => code);
}

function active(path: string, text: string): ActiveFile {
  return { path, content: Buffer.from(text), sha256: null, isTouched: true };
}

const both = { repo: "api", otherRepos: [{ repo: "web" }] };
const sources = ["api:src/invoices.ts", "web:AGENTS.md", "web:src/invoices.ts"];

test("[M7] a session about two repositories searches both with one budget, and names the repository of each path", async (t) => {
  const { ask, sent, engine } = await world(t);
  const turn = await ask(question, both);
  assert.deepEqual(paths(turn), sources);
  assert.deepEqual([turn.repo, codes(turn)], ["api", []]);
  const text = sent();
  assert.match(text, /This session is about 2 repositories, in this order: `api`, `web`\./);
  assert.match(text, /Path: api:src\/invoices\.ts\n/);
  assert.match(text, /Path: web:src\/invoices\.ts\n/);
  const session = await engine.sessions.get(alice, turn.sessionId);
  assert.deepEqual([session.repo, session.otherRepos], ["api", ["web"]]);
});

test("[M7] a session about one repository names no repository in its paths and in its prompt", async (t) => {
  const { ask, sent } = await world(t);
  const turn = await ask(question, { repo: "api" });
  assert.deepEqual(paths(turn), ["src/invoices.ts"]);
  assert.doesNotMatch(sent(), /REPOSITORIES|api:/);
});

test("[M7] later turns, forks, reruns and new sessions on top have the same repositories, and no chunk is sent twice", async (t) => {
  const { ask, engine } = await world(t);
  const first = await ask(question, both);
  const { sessionId } = first;
  const follows = [
    await ask(question, { sessionId }),
    await ask(question, { fork: { turnId: first.id } }),
    await ask(question, { sessionId: (await engine.sessions.create(alice, { forkOf: first.id })).id }),
  ];
  for (const turn of follows) {
    assert.deepEqual(
      turn.manifest.chunks.map(({ path, notSentBecause }) => [path, notSentBecause]),
      first.manifest.chunks.map(({ path }) => [path, "already_sent"]),
    );
    const session = await engine.sessions.get(alice, turn.sessionId);
    assert.deepEqual([session.repo, session.otherRepos], ["api", ["web"]]);
  }
  const again = await ask("", { rerun: { turnId: first.id, asFork: true } });
  assert.deepEqual(paths(again), paths(first));
  assert.equal(again.manifest.promptHash, first.manifest.promptHash);
});

test("[M7] paths of a request without a name are of its repository, and versions are compared in each working copy", async (t) => {
  const { ask, folders, sent } = await world(t);
  const edited = "/** Shows customers which invoices were sent, newest first. */\nexport function InvoicesPage() {}\n";
  folders.web.write({ "src/invoices.ts": edited });
  const fromWeb = { repo: "web", workingCopy: folders.web.root };
  const first = await ask(question, {
    ...both,
    workingCopy: folders.api.root,
    activeFiles: [active("web:src/invoices.ts", edited), active("src/main.ts", "main();\n")],
  });
  const { sessionId } = first;
  assert.deepEqual(
    first.manifest.activeFiles.map(({ path }) => path),
    ["web:src/invoices.ts", "api:src/main.ts"],
  );
  const second = await ask(question, { sessionId, ...fromWeb, activeFiles: [active("src/invoices.ts", edited)] });
  assert.deepEqual(
    second.manifest.activeFiles.map(({ path, wasSentToLLM }) => [path, wasSentToLLM]),
    [["web:src/invoices.ts", false]],
  );
  folders.web.write({ "src/invoices.ts": null });
  const third = await ask("go on", { sessionId, workingCopy: folders.api.root });
  assert.deepEqual(third.manifest.skippedFiles.map(({ path, reason }) => [path, reason]).toSorted(), [
    ["web:src/invoices.ts", "deleted"],
  ]);
  assert.match(sent(), /web:src\/invoices\.ts/);
});

test("[M7] [M1] [M2] rules and the place name their repositories", async (t) => {
  const { ask, folders, sent, engine } = await world(t);
  const turn = await ask(question, { ...both, workingCopy: folders.api.root });
  assert.deepEqual(
    turn.manifest.rules?.files.map(({ path }) => path),
    ["web:AGENTS.md"],
  );
  const text = sent();
  assert.match(text, /A file counts for what is in its own repository.*\n\n=== RULES 1 ===\nPath: web:AGENTS\.md\n/s);
  assert.match(text, /Repository: api\nOther repositories: web\nFolder: \. \(the top\)\n/);
  assert.equal((await engine.explain.verify(alice, turn.sessionId)).fault, null);
});

test("[M7] [M1] rules of a repository about which nothing is known are not gone", async (t) => {
  const { ask, sent } = await world(t);
  const rules = [
    { path: "web:AGENTS.md", text: "Be brief.\n" },
    { path: "AGENTS.md", text: "Be kind.\n" },
  ];
  const elsewhere = { workingCopy: null, otherRepos: [{ repo: "web", workingCopy: null }] };
  const { sessionId } = await ask(question, { ...both, ...elsewhere, rules });
  const later = await ask("go on", { sessionId, ...elsewhere, rules: rules.slice(1) });
  assert.deepEqual(later.manifest.rules?.changed, undefined);
  await ask("go on", { sessionId, ...elsewhere, rules: [] });
  assert.match(sent(), /The rules of api:AGENTS\.md no longer count/);
  assert.doesNotMatch(sent(), /web:AGENTS\.md no longer/);
});

test("[M7] [Q3] a path of a search scope with a name is of that repository alone", async (t) => {
  const { ask } = await world(t);
  const { sessionId, ...first } = await ask(question, { ...both, pathPrefixes: ["web:src"] });
  assert.deepEqual(paths(first as FinishedTurn), ["web:src/invoices.ts"]);
  assert.deepEqual(paths(await ask(question, { sessionId, pathPrefixes: ["src"] })), [
    "api:src/invoices.ts",
    "web:src/invoices.ts",
  ]);
  assert.deepEqual(
    paths(await ask("which components are written as functions?", { sessionId, pathPrefixes: ["lib"] })),
    [],
  );
});

test("[M7] a repository that has no index, or whose folder is gone, is a warning, and the others are searched", async (t) => {
  const { ask, folders } = await world(t);
  const { sessionId } = await ask(question, both);
  folders.web.remove();
  const second = await ask("which page shows sent invoices?", { sessionId });
  assert.deepEqual(codes(second), ["index_behind"]);
  assert.match(second.warnings[0]?.message ?? "", /the folder of web is gone/);
  assert.deepEqual(paths(second), sources);
  const third = await ask(question, { repo: "api", otherRepos: [{ repo: "gone" }, { repo: "web" }] });
  assert.deepEqual(codes(third).toSorted(), ["index_behind", "index_missing"]);
  assert.match(third.warnings.find(({ code }) => code === "index_missing")?.message ?? "", /the code of gone/);
  assert.deepEqual(paths(third), sources);
  const fourth = await ask(question, { sessionId: third.sessionId });
  assert.deepEqual(codes(fourth), [], "both are named once");
});

test("[M7] [A1] a subagent searches the repositories of its session, and has the rules of its spawner", async (t) => {
  const { ask, deps, folders } = await world(t, {
    conversation: { subagents: true },
    script: (_call, n) => (n === 1 ? [{ calls: "spawn_subagent", with: { instruction: question } }] : "ok"),
  });
  const { sessionId, manifest } = await ask("look around", { ...both, workingCopy: folders.api.root });
  const [turn] = await deps.records.subagents.listTurns(sessionId, { limit: 1 });
  assert.deepEqual(turn?.manifest.chunks.map(({ path }) => path).toSorted(), sources);
  assert.equal(turn?.manifest.rules?.hash, manifest.rules?.hash);
});

test("[M7] [H4] an index of another org is as missing as one that does not exist", async (t) => {
  const { ask, start, index } = await world(t);
  await index("web", "another org");
  const warningOf = async (repo: string): Promise<string> => {
    const turn = await ask(question, { repo: "api", otherRepos: [{ repo }] });
    return turn.warnings.map(({ message }) => message.replaceAll(repo, "…")).join();
  };
  assert.equal(await warningOf("secret"), await warningOf("nothing"));
  const none = await rejectionOf(start(question, { repo: "one", otherRepos: [{ repo: "two" }] }));
  assert.deepEqual([none.code, none.detail.startsWith("one is not indexed")], ["index_missing", true]);
});

test("[M7] repositories are chosen when a session begins, and must have names that paths can begin with", async (t) => {
  const { start, ask, engine } = await world(t);
  const { sessionId } = await ask(question, both);
  const one = await ask(question, { repo: "api" });
  const refusals: [Parameters<typeof ask>[1], RegExp][] = [
    [{ sessionId, repo: "lib" }, /about api, web, and not about lib/],
    [{ sessionId, otherRepos: [{ repo: "lib" }] }, /not about lib/],
    [{ sessionId: one.sessionId, otherRepos: [{ repo: "web" }] }, /about api, and not about web/],
    [{ otherRepos: [{ repo: "web" }] }, /needs a repo/],
    [{ repo: "api", otherRepos: [{ repo: "api" }] }, /"api" is given twice/],
    [{ repo: "api", otherRepos: [{ repo: "api:v2" }] }, /could be mixed up/],
    [{ repo: "api", otherRepos: [{ repo: "a\nb" }] }, /has a character/],
    [{ repo: "api", otherRepos: [{ repo: " " }] }, /is empty/],
    [{ repo: "api", otherRepos: [{ repo: "x" }] }, /one letter/],
    [{ repo: "api", otherRepos: Array.from({ length: 16 }, (_, at) => ({ repo: `r${at}` })) }, /more than the 16/],
  ];
  for (const [request, words] of refusals) {
    const error = await rejectionOf(start(question, request));
    assert.deepEqual([error.code, words.test(error.detail)], ["request_invalid", true], error.detail);
  }
  const twice = { repo: "api", otherRepos: ["api"] };
  assert.equal((await rejectionOf(engine.sessions.create(alice, twice))).code, "request_invalid");
});

test("[M7] [X5] hostile paths with a name are refused as others are, and a rename does not leave its repository", async (t) => {
  const { start, ask } = await world(t);
  for (const path of ["web:../secret", "web:/etc/passwd", "web:", "../web:a.ts"]) {
    const error = await rejectionOf(start(question, { ...both, activeFiles: [active(path, "x")] }));
    assert.equal(error.code, "active_file_invalid", path);
  }
  const gone = (path: string, renamedTo: string): ActiveFile[] => [
    { path, content: null, sha256: null, isTouched: true, isDeleted: true, renamedTo },
  ];
  const error = await rejectionOf(start(question, { ...both, activeFiles: gone("web:a.ts", "api:b.ts") }));
  assert.match(error.detail, /is in another repository/);
  const turn = await ask(question, { ...both, activeFiles: gone("web:a.ts", "b.ts") });
  assert.deepEqual(
    turn.manifest.skippedFiles.map(({ path }) => path),
    ["web:a.ts"],
  );
});

test("[M7] [O1] an export carries the repositories, and an import continues with them", async (t) => {
  const here = await world(t);
  const { sessionId } = await here.ask(question, both);
  const lines = await all(here.engine.transfer.export(alice, { sessionId }));
  const there = await world(t);
  const source = (async function* () {
    for (const line of lines) yield line;
  })();
  await there.engine.transfer.import(alice, source);
  const turn = await there.ask(question, { sessionId });
  assert.deepEqual(paths(turn), sources);
  assert.deepEqual((await there.engine.sessions.get(alice, sessionId)).otherRepos, ["web"]);
});

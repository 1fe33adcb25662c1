import assert from "node:assert/strict";
import { test } from "node:test";
import { rejectionOf } from "../../../../../testing/refusals.ts";
import { testEngine } from "../../../../../testing/engine.ts";
import type { ActiveFile } from "../../../../domain/active-file.ts";
import { AptoveError } from "../../../../domain/errors.ts";
import { sha256 } from "../../../../domain/ids.ts";
import type { FinishedTurn } from "../../../../domain/turn.ts";
import {
  repositoriesOf,
  type IndexInfo,
  type RetrievalQuery,
  type RetrievedChunk,
  type Retriever,
} from "../../../../retrieval/retriever.ts";

function file(path: string, content: string | Uint8Array | null, hash: string | null = null): ActiveFile {
  return { path, content: typeof content === "string" ? Buffer.from(content) : content, sha256: hash, isTouched: true };
}

/** A retriever that finds what a test tells it to. */
function finding(
  find: (query: RetrievalQuery) => RetrievedChunk[] | Promise<RetrievedChunk[]>,
  indexes: IndexInfo[] = [],
): Map<string, Retriever> {
  const retriever: Retriever = {
    search: async (query) => await find(query),
    index: () => assert.fail("nothing is indexed here"),
    list: async () => indexes,
    close: async () => {},
  };
  return new Map([["local", retriever]]);
}

function chunk(path: string, text: string): RetrievedChunk {
  const hash = sha256(text);
  return {
    id: `${path}:${hash.slice(0, 8)}`,
    repo: "r",
    path,
    startLine: 1,
    endLine: 3,
    language: "typescript",
    symbol: null,
    text,
    hash,
    commit: null,
    score: 1,
  };
}

test("[M4] [Q3] no search sends what is in the folder of a skill that is offered, also in a session about several repositories", async (t) => {
  const skill = { path: ".agents/skills/release/SKILL.md", text: "---\ndescription: d\n---\n" };
  const paths = [".agents/skills/release/SKILL.md", ".agents/skills/release/x.md", ".agents/skills/releases.md"];
  const retrievers = finding((query) =>
    repositoriesOf(query).flatMap(({ repo }) =>
      paths.map((path) => ({ ...chunk(path, `${repo} ${path}`), id: `${repo} ${path}`, repo })),
    ),
  );
  const { ask } = await testEngine(t, { retrievers });
  const pathsOf = ({ manifest }: FinishedTurn): string[] => manifest.chunks.map(({ path }) => path);
  const [kept, left] = [".agents/skills/releases.md", ".agents/skills/release/x.md"];
  assert.deepEqual(pathsOf(await ask("one", { repo: "shop", skills: [skill] })), [kept]);
  assert.equal(pathsOf(await ask("one", { repo: "shop", skills: [] })).length, 3);
  const several = pathsOf(await ask("one", { repo: "shop", otherRepos: [{ repo: "other" }], skills: [skill] }));
  assert.deepEqual([several.includes(`shop:${left}`), several.includes(`other:${left}`)], [false, true]);
});

test("[X3] a file is sent again only if its hash differs from the one last sent", async (t) => {
  const { ask, provider } = await testEngine(t);
  const first = await ask("one", { activeFiles: [file("a.ts", "version 1")] });
  const { sessionId } = first;
  const second = await ask("two", { sessionId, activeFiles: [file("a.ts", "version 1")] });
  const third = await ask("three", { sessionId, activeFiles: [file("a.ts", "version 2")] });
  const sent = [first, second, third].map((turn) => turn.manifest.activeFiles.map((ref) => ref.wasSentToLLM));
  assert.deepEqual(sent, [[true], [false], [true]]);
  const parts = provider.exchanges.map(({ call }) => JSON.stringify(call.items));
  assert.deepEqual(
    parts.map((text) => [text.includes("version 1"), text.includes("version 2")]),
    [
      [true, false],
      [false, false],
      [false, true],
    ],
  );
  assert.equal(first.manifest.activeFiles[0]?.contentHash, sha256("version 1"));
});

test("[X2] a file over 100 KB is listed as skipped and warned of, and not sent", async (t) => {
  const { ask, provider } = await testEngine(t);
  const turn = await ask("one", {
    activeFiles: [file("big.ts", "x".repeat(102_401)), file("fits.ts", "y".repeat(102_400))],
  });
  assert.deepEqual(turn.manifest.skippedFiles, [{ path: "big.ts", reason: "too_large", sizeBytes: 102_401 }]);
  assert.deepEqual(
    turn.warnings.map(({ code }) => code),
    ["active_file_skipped"],
  );
  const text = JSON.stringify(provider.exchanges[0]?.call.items);
  assert.ok(text.includes("yyyy") && !text.includes("xxxx"));
});

test("[X4] a file may come by its hash; one that was never sent is warned of with its path", async (t) => {
  const { ask } = await testEngine(t);
  const first = await ask("one", { activeFiles: [file("a.ts", "known")] });
  const second = await ask("two", {
    sessionId: first.sessionId,
    activeFiles: [file("a.ts", null, sha256("known")), file("b.ts", null, sha256("unknown"))],
  });
  assert.deepEqual(second.manifest.skippedFiles, [{ path: "b.ts", reason: "content_missing", sizeBytes: null }]);
  assert.equal(second.warnings.length, 1);
  assert.ok(second.warnings[0]?.code === "active_file_content_missing" && second.warnings[0].message.includes("b.ts"));
});

test("[X5] paths and bytes that cannot be taken are refused with the path named, and nothing runs", async (t) => {
  const { start, provider } = await testEngine(t);
  const bad = [
    file("../x", "a"),
    file("C:\\x", "a"),
    file("/etc/passwd", "a"),
    file("a\u0000", "a"),
    file("image.png", Uint8Array.of(0x89, 0x50, 0, 1)),
    file("no-content", null, "short"),
    file("lies", "a", sha256("b")),
  ];
  for (const one of bad) {
    const { code, facts } = await rejectionOf(start("x", { activeFiles: [file("fine.ts", "a"), one] }));
    assert.deepEqual([code, facts["path"]], ["active_file_invalid", one.path]);
  }
  assert.equal(provider.exchanges.length, 0);
});

test("[Q3] [Q4] every turn retrieves; a chunk that the model has is listed and not sent again", async (t) => {
  const queries: string[] = [];
  const retrievers = finding(({ text }) => (queries.push(text), [chunk("a.ts", "let a;"), chunk("b.ts", text)]));
  const { ask, provider } = await testEngine(t, { retrievers });
  const first = await ask("one", { repo: "r" });
  const second = await ask("two", { sessionId: first.sessionId });
  assert.deepEqual(queries, ["one", "two"]);
  assert.deepEqual(
    second.manifest.chunks.map(({ path, wasSent, notSentBecause }) => [path, wasSent, notSentBecause]),
    [
      ["a.ts", false, "already_sent"],
      ["b.ts", true, undefined],
    ],
  );
  const text = JSON.stringify(provider.exchanges[1]?.call.items);
  assert.ok(!text.includes("let a;") && text.includes("=== CHUNK 1 ===") && !text.includes("=== CHUNK 2 ==="));
});

test("[X6] chunks of a path that is active in this chain are not sent beside it", async (t) => {
  const retrievers = finding(() => [chunk("a.ts", "old a"), chunk("b.ts", "b")]);
  const { ask } = await testEngine(t, { retrievers });
  const first = await ask("one", { repo: "r", activeFiles: [file("a.ts", "new a")] });
  const reasons = first.manifest.chunks.map(({ path, notSentBecause }) => [path, notSentBecause]);
  assert.deepEqual(reasons, [
    ["a.ts", "active_file"],
    ["b.ts", undefined],
  ]);
  const second = await ask("two", { sessionId: first.sessionId });
  assert.equal(
    second.manifest.chunks[0]?.notSentBecause,
    "active_file",
    "also when the file was sent by an earlier turn",
  );
});

test("[Q5] when retrieval fails the turn fails before the model is called", async (t) => {
  const retrievers = finding(() => Promise.reject(new AptoveError("retrieval_failed", "the index cannot be read")));
  const { ask, provider } = await testEngine(t, { retrievers });
  const turn = await ask("one", { repo: "r" });
  assert.equal(turn.status === "failed" && turn.failures[0].code, "retrieval_failed");
  assert.equal(provider.exchanges.length, 0);
});

test("[Q5] where the context says that retrieval is optional the turn goes on with a warning", async (t) => {
  const retrievers = finding(() => Promise.reject(new AptoveError("retrieval_failed", "the index cannot be read")));
  const { ask } = await testEngine(t, { retrievers, conversation: { retrieval: "optional" } });
  const turn = await ask("one", { repo: "r" });
  assert.equal(turn.status, "completed");
  assert.deepEqual(
    turn.warnings.map(({ code }) => code),
    ["retrieval_failed"],
  );
});

const here = "1".repeat(40);
const there = "2".repeat(40);
const info = { repo: "r", root: "/r", files: 1, chunks: 1, embedding: { model: "m", dimension: 8 }, indexedAt: 0 };

for (const [what, found, indexed, words] of [
  ["of another commit", [there], there, /made at commit 2222222222, .* is at 1111111111.*aptove index/],
  ["of another commit, and nothing is found", [], there, /made at commit 2222222222/],
  ["from before the first commit", [null], null, /made before the first commit/],
  ["of this commit", [here], here, null],
] as const) {
  test(`[Q3] the turn warns where the index is stale: it is ${what}`, async (t) => {
    const asked: string[] = [];
    const retrievers = finding(
      ({ orgId }) => {
        asked.push(orgId);
        return found.map((commit) => ({ ...chunk("a.ts", "let a;"), commit }));
      },
      [{ ...info, commit: indexed }],
    );
    const { ask, caller } = await testEngine(t, { retrievers });
    const { warnings, sessionId } = await ask("one", { repo: "r", commit: here });
    assert.deepEqual(asked, [caller.orgId]);
    assert.deepEqual(
      warnings.map(({ code }) => code),
      words === null ? [] : ["index_stale"],
    );
    if (words !== null) assert.match(warnings[0]?.message ?? "", words);
    const again = [await ask("and", { sessionId, commit: here }), await ask("or", { sessionId, commit: here })];
    assert.deepEqual(
      again.flatMap((turn) => turn.warnings),
      [],
      "a session warns once",
    );
    assert.deepEqual(
      (await ask("two", { repo: "r" })).warnings,
      [],
      "the request did not name the commit of the working copy",
    );
  });
}

test("[Q5] [S1] a new session about a repository without an index is refused, and nothing stays behind", async (t) => {
  const retrievers = finding(() => Promise.reject(new AptoveError("index_missing", "r is not indexed")));
  const { ask, engine, caller } = await testEngine(t, { retrievers });
  await assert.rejects(ask("one", { repo: "r" }), { code: "index_missing" });
  assert.deepEqual((await engine.sessions.list(caller, {})).sessions, []);
});

test("[Q5] a repository without an index fails the turn, or only causes a warning if the door has tools to search", async (t) => {
  const retrievers = finding(() => Promise.reject(new AptoveError("index_missing", "r is not indexed")));
  const { ask } = await testEngine(t, { retrievers });
  const known = await ask("none");
  const failed = await ask("one", { repo: "r", sessionId: known.sessionId });
  assert.equal(failed.status === "failed" && failed.failures[0].code, "index_missing");
  const warned = await ask("one", { repo: "r", ifNotIndexed: "warn" });
  assert.equal(warned.status, "completed");
  assert.deepEqual(warned.warnings, [
    { code: "index_missing", message: "answered without retrieval: r is not indexed" },
  ]);
  const { sessionId } = warned;
  assert.deepEqual((await ask("two", { sessionId, ifNotIndexed: "warn" })).warnings, [], "a session warns once");
});

test("[Q2] an index is brought up to date first; after the time limit, or while another run writes it, the turn says so", async (t) => {
  const copies: string[] = [];
  let refresh: NonNullable<Retriever["refresh"]> = async ({ root }) => (copies.push(root), "current");
  const [[, retriever] = assert.fail()] = finding(() => [chunk("a.ts", "let a;")]);
  const local: Retriever = { ...retriever, refresh: (copy) => refresh(copy) };
  const { ask } = await testEngine(t, {
    retrievers: new Map([["local", local]]),
    deadline: () => AbortSignal.abort(),
    workingCopy: (root) => ({ root, look: async () => ({ hash: sha256("let a;"), text: "let a;" }) }),
  });
  const request = { repo: "r", workingCopy: "/r", commit: here };
  const codes = async (): Promise<string[]> => (await ask("one", request)).warnings.map(({ code }) => code);
  assert.deepEqual(await codes(), ["index_stale"], "it is current, and of another commit than the request names");
  assert.deepEqual(copies, ["/r"]);
  for (const outcome of ["busy", "late", "fails"] as const) {
    refresh = () => {
      if (outcome === "busy") return Promise.resolve("busy");
      return outcome === "late"
        ? new Promise(() => undefined)
        : Promise.reject(new AptoveError("storage_full", "full"));
    };
    assert.deepEqual(await codes(), ["index_behind"], outcome);
  }
});

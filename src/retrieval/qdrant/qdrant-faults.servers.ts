/** What happens to an index in Qdrant if runs die, sleep or meet each other, or if the server fails. */
import assert from "node:assert/strict";
import { suite, test, type TestContext } from "node:test";
import { hasCode } from "../../../testing/refusals.ts";
import { garbage } from "../../../testing/fake-server/deliver.ts";
import { unusedAddress } from "../../../testing/fake-server/other-servers.ts";
import {
  startFakeQdrant,
  type FakeQdrant,
  type FakeQdrantReply,
  type FakeQdrantRequest,
} from "../../../testing/fake-qdrant/fake-qdrant.ts";
import type { Embedder } from "../embedding.ts";
import { lexicalEmbedder } from "../lexical-embedding.ts";
import type { IndexJob, Retriever } from "../retriever.ts";
import { sampleRepository, type SampleRepository } from "../sample-repository.ts";
import { openQdrantRetriever, type QdrantTimes } from "./qdrant-retriever.ts";

const times: QdrantTimes = { requestMs: 5_000, backoffMs: 1, leaseMs: 60, waitMsMax: 5_000 };
const long = `${"tide ".repeat(1_600)}\n`;

interface World {
  fake: FakeQdrant;
  repository(files: Record<string, string>): SampleRepository;
  open(client: string, more?: { times?: Partial<QdrantTimes>; embedder?: Embedder; apiKey?: string }): Retriever;
}

async function world(context: TestContext, options: { apiKey?: string; version?: string } = {}): Promise<World> {
  const fake = await startFakeQdrant(options);
  const opened: Retriever[] = [];
  const repositories: SampleRepository[] = [];
  context.after(async () => {
    await Promise.all(opened.map((retriever) => retriever.close()));
    await fake.close();
    for (const repository of repositories) repository.remove();
    assert.deepEqual(fake.faults, []);
  });
  return {
    fake,
    repository(files) {
      const repository = sampleRepository(files);
      repositories.push(repository);
      return repository;
    },
    open(client, { embedder = lexicalEmbedder(), apiKey = null, ...more } = {}) {
      const retriever = openQdrantRetriever({
        ...{ url: fake.at(client), apiKey, collection: "aptove", embedder },
        times: { ...times, ...more.times },
      });
      opened.push(retriever);
      return retriever;
    },
  };
}

function job({ root }: SampleRepository, more: Partial<IndexJob> = {}): IndexJob {
  return { root, orgId: "org", repo: "sample", ...more };
}

/** Returns everything that searches see in the index, as `path:line word`. */
async function seenBy(retriever: Retriever): Promise<string[]> {
  const found = await retriever.search({ text: "tide lighthouse", orgId: "org", repo: "sample", candidates: 24 });
  return found.map(({ path, startLine, text }) => `${path}:${startLine} ${text.slice(0, 24).trim()}`).toSorted();
}

/** Returns all stored chunks, whether a search may see them or not. */
function chunksIn(fake: FakeQdrant, collection = "aptove-256"): string[] {
  return fake
    .points(collection)
    .map(
      ({ payload }) =>
        `${String(payload["path"])}:${String(payload["start"])} ${String(payload["text"]).slice(0, 24).trim()}`,
    )
    .toSorted();
}

function isWrite({ operation }: FakeQdrantRequest): boolean {
  return /^PUT points|^POST points\/(?:payload|delete)/.test(operation);
}

/** Returns whether the request makes a generation the current one. */
function isCommit({ operation, body }: FakeQdrantRequest): boolean {
  const { current, taken } = (body as { payload?: { current?: number; taken?: number } } | undefined)?.payload ?? {};
  return operation === "PUT points/payload" && current !== undefined && current === taken;
}

const former = {
  "same.md": "A lighthouse.\n",
  "moved.md": `${long}\nA lighthouse moves.\n`,
  "changed.md": "A lighthouse in 1900.\n",
  "removed.md": "A lighthouse removed.\n",
};
const next = {
  ...former,
  "moved.md": `New lighthouse.\n\n${long}\nA lighthouse moves.\n`,
  "changed.md": "A lighthouse in 2000.\n",
  "new.md": "A lighthouse anew.\n",
};

test("[Q2] [B4] a run that is killed, or sleeps and continues, at any of its writes changes nothing that a search finds", async (context) => {
  const { fake, repository, open } = await world(context);
  const there = repository(next);
  there.write({ "removed.md": null });
  // The run that takes over marks chunks that the sleeping run marks too.
  const third = { ...former, "changed.md": "A lighthouse in 2100.\n", "removed.md": "A lighthouse elsewhere.\n" };
  const others = [repository(third), repository(former)];
  const reader = open("reader");
  const steady = open("steady");
  const seen = async (): Promise<string[]> => await seenBy(reader);
  await steady.index(job(there));
  const after = await seen();
  const states: string[][] = [];
  for (const other of others) {
    await steady.index(job(other));
    states.push(await seen());
  }
  let hasRunThrough = false;
  let lastWrite = 0;
  // The first write takes the lease. A run that sleeps before that is only late.
  for (let write = 2; !hasRunThrough; write += 1) {
    const before = states[(write + 1) % 2];
    const taken = { by: others[write % 2] ?? there, gives: states[write % 2] };
    const [asleep, awake] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const client = `sleeper-${write}`;
    let writes = 0;
    // Only the writes of its lease repeat; a sleeping process sends nothing at all.
    let isCommitted = false;
    fake.intercept((request) => {
      // The run that took over cannot delete the chunks that it marked, so the sleeping run's marks meet them.
      if (request.client === "steady") isCommitted ||= isCommit(request);
      if (request.client === "steady" && isCommitted && isWrite(request) && !isCommit(request))
        return { status: 503, body: "" };
      if (request.client !== client) return undefined;
      if (isWrite(request)) writes += 1;
      if (writes < write) return undefined;
      asleep.resolve();
      return { held: awake.promise };
    });
    const sleeper = open(client, { times: { leaseMs: 60_000 } });
    const outcome = Promise.allSettled([sleeper.index(job(there))]);
    await Promise.race([asleep.promise, outcome]);
    hasRunThrough = writes < write;
    lastWrite = writes;
    const at = `write ${write}`;
    const isIn = (await steady.list("org"))[0]?.root === there.root;
    assert.deepEqual(await seen(), isIn ? after : before, `${at}, asleep`);
    await steady.index(job(taken.by));
    assert.deepEqual(await seen(), taken.gives, `${at}, taken over`);
    awake.resolve();
    const [ended] = await outcome;
    assert.equal(ended?.status, isIn ? "fulfilled" : "rejected", at);
    if (ended?.status === "rejected")
      await assert.rejects(Promise.reject(ended.reason), hasCode("retrieval_failed", /took over/));
    assert.deepEqual(await seen(), taken.gives, `${at}, awake again`);
  }
  fake.intercept(() => undefined);
  await steady.index(job(there));
  assert.deepEqual(await seen(), after);
  assert.deepEqual(chunksIn(fake), after, "nothing is left");
  assert.ok(lastWrite >= 7, `${lastWrite}`);
});

test("[Q2] a search during the switch to a new index returns the new one, and never a mixture of both", async (context) => {
  const { fake, repository, open } = await world(context);
  const files = repository(former);
  const [reader, steady] = [open("reader"), open("steady")];
  await steady.index(job(files));
  await seenBy(reader);
  const [asked, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  fake.intercept(({ client, operation }) => {
    if (client !== "reader" || operation !== "POST points/query/batch") return undefined;
    asked.resolve();
    return { held: goOn.promise };
  });
  const searching = seenBy(reader);
  await asked.promise;
  files.write({ ...next, "removed.md": null });
  await steady.index(job(files));
  goOn.resolve();
  assert.deepEqual(await searching, await seenBy(open("other")));
});

test("[B4] two runs at once wait for each other, and a waiting one can be aborted", async (context) => {
  const { fake, repository, open } = await world(context);
  const files = repository(former);
  // The lease is long, so neither takes the other for dead, however slow the machine is.
  const [one, two] = ["one", "two"].map((name) => open(name, { times: { leaseMs: 2_000 } })) as [Retriever, Retriever];
  const both = await Promise.all([one.index(job(files)), two.index(job(files))]);
  assert.deepEqual(both.map(({ chunksWritten }) => chunksWritten > 0).toSorted(), [false, true]);
  const goOn = Promise.withResolvers<void>();
  fake.intercept(({ client, operation }) =>
    client === "one" && operation === "POST points/scroll" ? { held: goOn.promise } : undefined,
  );
  const held = one.index(job(files));
  await fake.request(fake.requests.length + 12);
  const abort = new AbortController();
  const waiting = assert.rejects(two.index(job(files, { signal: abort.signal })), /enough/);
  await assert.rejects(
    open("three", { times: { leaseMs: 60_000, waitMsMax: 1 } }).index(job(files)),
    hasCode("retrieval_failed", /another run is writing the index of sample/),
  );
  abort.abort(new Error("enough"));
  await waiting;
  goOn.resolve();
  assert.equal((await held).filesChanged, 0);
});

test("[Q6] a rebuild with another dimension moves the index, and back; the former chunks are deleted", async (context) => {
  const { fake, repository, open } = await world(context);
  const files = repository(former);
  const steady = open("steady");
  await steady.index(job(files));
  const before = await seenBy(steady);
  const small: Embedder = {
    ...{ model: "small", dimension: 8 },
    embed: (texts) => Promise.resolve(texts.map(({ length }) => Float32Array.of(1, 0, 0, 0, 0, 0, 0, length % 7))),
  };
  const other = open("other", { embedder: small });
  await assert.rejects(seenBy(other), hasCode("index_mismatch", /aptove index --rebuild/));
  await other.index(job(files, { rebuild: true }));
  assert.deepEqual(await seenBy(other), before);
  await assert.rejects(seenBy(steady), hasCode("index_mismatch", /small \(8 dimensions\)/));
  assert.deepEqual([chunksIn(fake), chunksIn(fake, "aptove-8")], [[], before]);
  await steady.index(job(files, { rebuild: true }));
  assert.deepEqual(await seenBy(steady), before);
  assert.deepEqual([chunksIn(fake), chunksIn(fake, "aptove-8")], [before, []]);
});

const passing: Record<string, FakeQdrantReply> = {
  "503": { status: 503, body: { status: { error: "busy" } } },
  "an answer that is lost": { lost: "whole" },
  "an answer that is cut in half": { lost: "half" },
  "a page of a proxy": garbage(),
};

suite("a fault that passes costs nothing but another attempt", () => {
  for (const [what, reply] of Object.entries(passing)) {
    test(`[Q5] [Q2] ${what}`, async (context) => {
      const { fake, repository, open } = await world(context);
      const files = repository(former);
      const steady = open("steady");
      const failed = new Set<string>();
      // The first request of each kind fails, so every kind is repeated, including those that change the manifest.
      fake.intercept(({ operation }) => (failed.has(operation) ? undefined : (failed.add(operation), reply)));
      const summary = await steady.index(job(files));
      assert.equal((await seenBy(steady)).length, summary.chunksTotal);
      assert.equal((await steady.list("org")).length, 1);
      assert.deepEqual(chunksIn(fake), await seenBy(steady));
      assert.ok(failed.size >= 9, [...failed].join(", "));
    });
  }
});

interface Lasting {
  reply: FakeQdrantReply;
  words: RegExp;
  /** The request timeout. It is short where a test waits for it. */
  requestMs?: number;
}

const lasting: Record<string, Lasting> = {
  "503": { reply: { status: 503, body: { status: { error: "out of disk" } } }, words: /503 out of disk/ },
  "no answer": { reply: { silentUntil: new Promise(() => undefined) }, words: /no answer in time/, requestMs: 40 },
  "an answer that is cut in half": { reply: { lost: "half" }, words: /no answer|cannot be read/ },
  "a page of a proxy": { reply: garbage(), words: /its answer cannot be read/ },
  "an answer of another form": {
    reply: { status: 200, body: { result: [{ id: 1, payload: {} }] } },
    words: /no index/,
  },
};

suite("a fault that stays", () => {
  for (const [what, { reply, words, requestMs }] of Object.entries(lasting)) {
    test(`[Q5] is retrieval_failed in good time: ${what}`, async (context) => {
      const { fake, repository, open } = await world(context);
      const files = repository(former);
      const steady = open("steady", requestMs === undefined ? {} : { times: { requestMs } });
      await open("first").index(job(files));
      fake.intercept(() => reply);
      await assert.rejects(seenBy(steady), hasCode("retrieval_failed", words));
      await assert.rejects(steady.index(job(files)), hasCode("retrieval_failed", /./));
      await assert.rejects(steady.list("org"), hasCode("retrieval_failed", /./));
    });
  }

  test("[Q5] [E8] is reported with its fix, and without the key: no server, a wrong key, a server that is too old", async (context) => {
    const { repository, open } = await world(context, { apiKey: "right-key", version: "1.18.3" });
    const files = repository(former);
    await assert.rejects(
      seenBy(open("x", { apiKey: "wrong-key" })),
      hasCode("retrieval_failed", /did not accept the key; set QDRANT_API_KEY/),
    );
    await assert.rejects(
      open("x", { apiKey: "right-key" }).index(job(files)),
      hasCode("retrieval_failed", /1\.18\.3; 1\.19 or later/),
    );
    const url = await unusedAddress();
    const away = openQdrantRetriever({
      url,
      apiKey: "a-key",
      collection: "aptove",
      embedder: lexicalEmbedder(),
      times,
    });
    await assert.rejects(seenBy(away), hasCode("retrieval_failed", /ECONNREFUSED/));
  });
});

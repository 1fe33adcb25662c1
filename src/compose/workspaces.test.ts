/** Which provider a workspace really calls: the proof is the request that arrives there (W7, G2). */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { startFakeCompatible, type FakeCompatible } from "../../testing/fake-compatible/fake-compatible.ts";
import { startFakeOpenai, type FakeOpenAI } from "../../testing/fake-openai/fake-openai.ts";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import { createAptove, type Aptove } from "../compose.ts";
import type { AptoveOptions } from "./options.ts";
import type { FinishedTurn } from "../domain/turn.ts";
import type { TurnRequest } from "../engine/engine.ts";
import { dataFolderAt } from "../configuration/data-folder.ts";
import type { Retriever } from "../retrieval/retriever.ts";
import { fileWorkspaces } from "../workspace/files/file-workspaces.ts";
import { memoryBindings } from "../workspace/memory/memory-bindings.ts";
import { memoryWorkspaces } from "../workspace/memory/memory-workspaces.ts";

const first = "11111111-1111-4111-8111-111111111111";
const second = "22222222-2222-4222-8222-222222222222";

/** One received request of a turn. */
interface Call {
  at: string;
  model: string | undefined;
  key: string | undefined;
}

interface World {
  /** The global provider; that of the first workspace; that of the second one. */
  fakes: { all: FakeOpenAI; first: FakeOpenAI; second: FakeCompatible };
  aptove(options?: AptoveOptions): Promise<Aptove>;
  ask(aptove: Aptove, request?: Partial<TurnRequest>): Promise<FinishedTurn>;
  /** Returns the calls of all fakes since the last time. */
  calls(): Call[];
  writeConfig(id: string | null, text: string): void;
}

async function world(t: TestContext): Promise<World> {
  const fakes = { all: await startFakeOpenai(), first: await startFakeOpenai(), second: await startFakeCompatible() };
  const engines: Aptove["engine"][] = [];
  // Registered before the folder, so that everything that writes into it ends before it is deleted.
  t.after(async () => {
    await Promise.all(engines.map((engine) => engine.close()));
    await Promise.all([fakes.all.close(), fakes.first.close(), fakes.second.close()]);
  });
  const dataDir = await temporaryFolder(t);
  const store = fileWorkspaces(dataFolderAt(dataDir));
  await store.create({ id: first, at: 1 });
  await store.create({ id: second, provider: "work", at: 2 });
  const writeConfig = (id: string | null, text: string): void =>
    writeFileSync(id === null ? join(dataDir, "config.toml") : join(dataDir, "workspaces", id, "config.toml"), text, {
      mode: 0o600,
    });
  const everybodys = `providers.openai = { base_url = "${fakes.all.url}", api_key_env = "KEY_OF_ALL", model = "of-all" }\n`;
  writeConfig(null, `${everybodys}conversation_contexts.default.retrieval = "off"\n`);
  const own = { base_url: fakes.first.url, api_key_env: "KEY_OF_FIRST", model: "of-first" };
  writeConfig(first, `[providers.openai]\n${lines(own)}`);
  const server = { base_url: fakes.second.url, api_key: "key-of-second", model: "of-second" };
  writeConfig(second, `[providers.compatible.work]\n${lines(server)}`);
  const seen = new Map<object, number>();
  return {
    fakes,
    writeConfig,
    aptove: async (options = {}) => {
      const env = { KEY_OF_ALL: "key-of-all", KEY_OF_FIRST: "key-of-first" };
      const aptove = await createAptove({ dataDir, env, ...options });
      engines.push(aptove.engine);
      return aptove;
    },
    ask: async ({ engine }, request) => {
      const turn = await engine.turns.run(await engine.keys.owner(), { instruction: "hello", ...request });
      return await turn.finished;
    },
    calls: () =>
      Object.entries(fakes).flatMap(([at, fake]) => {
        const from = seen.get(fake) ?? 0;
        seen.set(fake, fake.requests.length);
        return fake.requests.slice(from).map(({ headers, body }) => {
          return { at, model: body?.model, key: headers.authorization };
        });
      }),
  };
}

function lines(values: Record<string, string>): string {
  return Object.entries(values)
    .map(([key, value]) => `${key} = "${value}"\n`)
    .join("");
}

const callOf = {
  all: { at: "all", model: "of-all", key: "Bearer key-of-all" },
  first: { at: "first", model: "of-first", key: "Bearer key-of-first" },
  second: { at: "second", model: "of-second", key: "Bearer key-of-second" },
};

test("[W7] each workspace calls its own provider, model, key and address; one without them calls the global ones", async (t) => {
  const { aptove, ask, calls } = await world(t);
  const all = await aptove();
  for (const [workspaceId, provider, expected] of [
    [first, "openai", callOf.first],
    [second, "work", callOf.second],
    [undefined, "openai", callOf.all],
    ["my-laptop", "openai", callOf.all],
    ["default", "openai", callOf.all],
  ] as const) {
    const turn = await ask(all, workspaceId === undefined ? {} : { workspaceId });
    assert.equal(turn.status, "completed");
    assert.deepEqual([turn.provider, turn.model], [provider, expected.model]);
    assert.deepEqual(calls(), [expected], workspaceId ?? "none");
  }
  // Concurrent turns of all workspaces do not affect each other.
  const turns = await Promise.all([first, second, first].map((workspaceId) => ask(all, { workspaceId })));
  assert.deepEqual(
    turns.map(({ model }) => model),
    ["of-first", "of-second", "of-first"],
  );
  assert.deepEqual(calls(), [callOf.first, callOf.first, callOf.second]);
});

test("[W7] a session continues in its workspace, and a change of the file takes effect at its next turn", async (t) => {
  const { aptove, ask, calls, writeConfig, fakes } = await world(t);
  const all = await aptove();
  const { sessionId } = await ask(all, { workspaceId: first });
  await ask(all, { sessionId });
  assert.deepEqual(calls(), [callOf.first, callOf.first]);
  writeConfig(first, `[providers.openai]\nmodel = "changed"\n`);
  await ask(all, { sessionId });
  assert.deepEqual(calls(), [{ ...callOf.all, model: "changed" }]);
  // In the first workspace another provider answers, and the session keeps its whole history (C5).
  const server = lines({ base_url: fakes.second.url, model: "of-second" });
  writeConfig(first, `provider = "mine"\n[providers.compatible.mine]\n${server}`);
  const turn = await ask(all, { sessionId });
  assert.equal(turn.manifest.historyTurns, 3);
  assert.deepEqual(calls(), [{ at: "second", model: "of-second", key: undefined }]);
});

test("[W7] the environment overrides a workspace, and the caller's overrides win over both", async (t) => {
  const { aptove, ask, calls, fakes } = await world(t);
  const env = { KEY_OF_ALL: "key-of-all", KEY_OF_FIRST: "key-of-first", OPENAI_BASE_URL: fakes.all.url };
  const inEnvironment = await aptove({ env: { ...env, APTOVE_MODEL: "of-environment" } });
  await ask(inEnvironment, { workspaceId: first });
  assert.deepEqual(calls(), [{ at: "all", model: "of-environment", key: "Bearer key-of-first" }]);
  const overrides = {
    provider: "openai",
    providers: { openai: { base_url: fakes.first.url } },
    conversation_contexts: { default: { model: "of-caller" } },
  };
  const overridden = await aptove({ env: { ...env, APTOVE_MODEL: "of-environment" }, overrides });
  await ask(overridden, { workspaceId: second });
  assert.deepEqual(calls(), [{ at: "first", model: "of-caller", key: "Bearer key-of-all" }]);
  await ask(overridden, { workspaceId: second, model: "of-request" });
  assert.deepEqual(calls(), [{ at: "first", model: "of-request", key: "Bearer key-of-all" }]);
});

test("[W7] a bad file gives the turns of its workspace a clear error, before anything is called or stored", async (t) => {
  const { aptove, ask, calls, writeConfig } = await world(t);
  writeConfig(first, 'provider = "opnai"\n');
  const all = await aptove();
  await assert.rejects(ask(all, { workspaceId: first }), (error) => {
    assert.match(String(error), /config.toml: provider must be "offline" or "openai" or/);
    assert.equal((error as { code?: string }).code, "config_invalid");
    return true;
  });
  await ask(all, { workspaceId: second });
  assert.deepEqual(calls(), [callOf.second]);
  const owner = await all.engine.keys.owner();
  assert.equal((await all.engine.sessions.list(owner, {})).sessions.length, 1);
  writeConfig(first, "");
  await ask(all, { workspaceId: first });
  assert.deepEqual(calls(), [callOf.all]);
});

test("[G2] [G1] which context is used: request > session > workspace > global", async (t) => {
  const { aptove, ask, writeConfig } = await world(t);
  const contexts = ["a", "b", "c"].map((id) => `[conversation_contexts.${id}]\nmodel = "model-${id}"\n`).join("");
  const off = ["default", "a", "b", "c"].map((id) => `conversation_contexts.${id}.retrieval = "off"\n`).join("");
  const openai = `provider = "offline"\n`;
  writeConfig(null, `${openai}conversation_context = "a"\n${contexts}`);
  writeConfig(first, `conversation_context = "b"\nagent_context = "own"\n${off}[agent_contexts.own]\n`);
  const all = await aptove();
  const named = ({ manifest }: FinishedTurn): [string, string] => {
    return [manifest.agentContext.id, manifest.conversationContext.id];
  };
  assert.deepEqual(named(await ask(all)), ["default", "a"]);
  const begun = await ask(all, { workspaceId: first });
  assert.deepEqual(named(begun), ["own", "b"]);
  assert.equal(begun.model, "model-b");
  const owner = await all.engine.keys.owner();
  const made = await all.engine.sessions.create(owner, { workspaceId: first });
  assert.deepEqual([made.agentContextId, made.conversationContextId], ["own", "b"]);
  // A session keeps the contexts that it began with, whatever the workspace's settings become.
  writeConfig(first, `conversation_context = "c"\n${off}[agent_contexts.own]\n`);
  const { sessionId } = begun;
  assert.deepEqual(named(await ask(all, { sessionId })), ["own", "b"]);
  assert.deepEqual(named(await ask(all, { sessionId, conversationContextId: "c" })), ["own", "c"]);
  assert.deepEqual(named(await ask(all, { workspaceId: first })), ["default", "c"]);
  await assert.rejects(ask(all, { workspaceId: second, agentContextId: "own" }), /there is no agent context "own"/);
});

test("[W4] [W6] a turn is written into the transcript of its workspace, and marks the workspace as used", async (t) => {
  const { aptove, ask } = await world(t);
  const now = Date.UTC(2026, 0, 1);
  const all = await aptove({ now: () => now });
  await ask(all, { workspaceId: first });
  await ask(all, { workspaceId: "my-laptop" });
  await ask(all, { workspaceId: "default" });
  await all.engine.close();
  const { store } = await all.workspaces();
  const used = (await store.list()).map(({ id, lastAccessedAt }) => [id, lastAccessedAt]);
  assert.deepEqual(
    new Map(used as [string, number][]),
    new Map([
      [first, now],
      [second, 2],
    ]),
  );
  assert.equal((await (await all.transcripts()).show(first)).messages, 2);
  assert.equal((await (await all.transcripts()).show(second)).messages, 0);
});

test("[Y1] [W7] a caller may give stores for workspaces and bindings", async (t) => {
  const { aptove, ask, calls, fakes } = await world(t);
  const config = `providers.openai = { base_url = "${fakes.first.url}", model = "of-memory" }`;
  const workspaceStore = memoryWorkspaces({ configs: { [first]: config } });
  await workspaceStore.create({ id: first, at: 1 });
  const all = await aptove({ workspaceStore, bindings: memoryBindings() });
  await ask(all, { workspaceId: first });
  assert.deepEqual(calls(), [{ at: "first", model: "of-memory", key: "Bearer key-of-all" }]);
  const { workspaces, bindings } = await all.workspaces();
  const { id } = await workspaces.resolve("phone");
  assert.deepEqual(await bindings.resolve("phone"), id);
  assert.equal((await workspaceStore.list()).length, 2);
});

test("[Y1] [W3] with a caller's own store of workspaces no store of transcripts is needed: the next session continues", async (t) => {
  const { aptove, ask, fakes } = await world(t);
  const config = `providers.openai = { base_url = "${fakes.first.url}", model = "of-memory" }`;
  const workspaceStore = memoryWorkspaces({ configs: { [first]: config } });
  await workspaceStore.create({ id: first, at: 1 });
  const all = await aptove({ workspaceStore });
  const turn = await ask(all, { workspaceId: first });
  const owner = await all.engine.keys.owner();
  const { session } = await all.engine.workspaceSessions.begin(owner, { workspaceId: first });
  assert.equal(session.originTurnId, turn.id);
});

test("[Q3] a workspace's scope.paths filters the requests that carry its id, unless the request names paths", async (t) => {
  const { aptove, ask, writeConfig } = await world(t);
  writeConfig(first, '[scope]\npaths = ["src/api", "docs"]\n');
  const asked: (string[] | undefined)[] = [];
  const local: Retriever = {
    search: async ({ pathPrefixes }) => (asked.push(pathPrefixes), []),
    index: () => assert.fail("nothing is indexed here"),
    list: async () => [],
    close: async () => {},
  };
  writeConfig(null, 'conversation_contexts.default.retrieval = "required"\n');
  const opened = await aptove({ retrievers: { local } });
  for (const request of [{}, { pathPrefixes: ["lib"] }, { pathPrefixes: [] }]) {
    await ask(opened, { repo: "r", workspaceId: first, ...request });
  }
  await ask(opened, { repo: "r" });
  assert.deepEqual(asked, [["src/api", "docs"], ["lib"], undefined, undefined]);
});

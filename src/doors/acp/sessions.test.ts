/** How sessions begin, continue, fork and are found again: devices, workspaces, other doors (W3, P2, P4). */
import assert from "node:assert/strict";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { RequestError, type SessionUpdate } from "@agentclientprotocol/sdk";
import { acpTest, type AcpTest } from "../../../testing/acp/acp-test.ts";
import { requestErrorOf } from "../../../testing/acp/request-error.ts";
import type { Caller } from "../../domain/caller.ts";
import { limits } from "../../domain/limits.ts";
import type { Engine } from "../../engine/engine.ts";

const device = (id: string): { _meta: Record<string, unknown> } => ({ _meta: { "aptove.dev/deviceId": id } });

function metaOf(answer: { _meta?: Record<string, unknown> | null }, key: string): string {
  return String(answer._meta?.[`aptove.dev/${key}`]);
}

function historyOf({ provider }: AcpTest): string {
  return JSON.stringify(provider.exchanges.at(-1)?.context);
}

async function owner({ aptove }: AcpTest): Promise<{ engine: Engine; caller: Caller }> {
  return { engine: aptove.engine, caller: await aptove.engine.keys.owner() };
}

const texts = (updates: readonly SessionUpdate[]): string[] =>
  updates.flatMap((update) =>
    "content" in update && !Array.isArray(update.content) && update.content?.type === "text"
      ? [`${update.sessionUpdate.replace(/_.*/, "")}: ${update.content.text}`]
      : [],
  );

test("[W3] [P2] a device continues where its workspace was, in a new session; an editor's new session is empty", async (t) => {
  const world = await acpTest(t);
  const connection = await world.connect();
  const first = await connection.begin(device("phone"));
  await connection.prompt(first.sessionId, "remember heron");
  await connection.leave();
  const again = await world.connect();
  const second = await again.begin(device("phone"));
  assert.notEqual(second.sessionId, first.sessionId);
  assert.equal(metaOf(second, "workspaceId"), metaOf(first, "workspaceId"));
  assert.equal(metaOf(second, "turnId"), first.sessionId);
  await again.prompt(second.sessionId, "which word?");
  assert.match(historyOf(world), /remember heron/);
  const editor = await again.begin();
  assert.equal(metaOf(editor, "workspaceId"), "default");
  await again.prompt(editor.sessionId, "which word?");
  assert.doesNotMatch(historyOf(world), /remember heron/);
});

test("[W3] a client can request an empty session or to continue, whatever the default is", async (t) => {
  const world = await acpTest(t);
  const goesOn = async (meta: Record<string, unknown>, beginning: "fresh" | "continue" | null): Promise<boolean> => {
    const connection = await world.connect({ ports: { beginning } });
    const { sessionId } = await connection.begin({ _meta: meta });
    await connection.prompt(sessionId, "word?");
    return /remember heron/.test(historyOf(world));
  };
  const connection = await world.connect();
  for (const meta of [{}, { "aptove.dev/deviceId": "phone" }]) {
    const { sessionId } = await connection.begin({ _meta: meta });
    await connection.prompt(sessionId, "remember heron");
    const fresh = { "aptove.dev/fresh": true };
    assert.equal(await goesOn({ ...meta, "aptove.dev/fresh": false }, "fresh"), true);
    assert.equal(await goesOn(meta, "continue"), true);
    assert.equal(await goesOn({ ...meta, ...fresh }, "continue"), false);
    assert.equal(await goesOn(meta, "fresh"), false);
  }
});

test("[P2] the device is named in _meta or at the root of the request, as older clients do", async (t) => {
  const { connect } = await acpTest(t);
  const connection = await connect();
  const root = await connection.begin({ device_id: "phone" } as never);
  const meta = await connection.begin(device("phone"));
  const both = await connection.begin({ device_id: "tablet", ...device("phone") } as never);
  assert.equal(metaOf(root, "workspaceId"), metaOf(meta, "workspaceId"));
  assert.equal(metaOf(both, "workspaceId"), metaOf(meta, "workspaceId"));
  const other = await connection.begin({ device_id: "tablet" } as never);
  assert.notEqual(metaOf(other, "workspaceId"), metaOf(meta, "workspaceId"));
  assert.equal((await requestErrorOf(connection.begin({ device_id: 7 } as never))).code, -32602);
});

test("[P2] [W2] a connection of a device belongs to it: it can name no other device, and sees no sessions of others", async (t) => {
  const { connect } = await acpTest(t);
  const editor = await connect();
  const theirs = await editor.begin();
  const phone = await connect({ ports: { deviceId: "phone" } });
  const own = await phone.begin();
  assert.equal(metaOf(await phone.begin(device("phone")), "workspaceId"), metaOf(own, "workspaceId"));
  const data = (error: RequestError): unknown => (error.data as { code?: unknown }).code;
  assert.equal(data(await requestErrorOf(phone.begin(device("tablet")))), "forbidden");
  const guessed = { sessionId: theirs.sessionId, cwd: "/" };
  for (const request of [
    phone.load(theirs.sessionId),
    phone.agent.request("session/resume", guessed),
    phone.agent.request("session/fork", { ...guessed, mcpServers: [] }),
    phone.prompt(theirs.sessionId, "hi"),
  ]) {
    assert.equal((await requestErrorOf(request)).code, -32002);
  }
  await phone.agent.request("session/delete", { sessionId: theirs.sessionId });
  const listed = (await phone.agent.request("session/list", {})).sessions.map(({ sessionId }) => sessionId);
  assert.ok(listed.includes(own.sessionId));
  assert.ok(!listed.includes(theirs.sessionId));
  await editor.prompt(theirs.sessionId, "still here");
});

test("[P1] folders are checked: relative, missing, a file, with a NUL", async (t) => {
  const { connect, project } = await acpTest(t);
  const connection = await connect();
  writeFileSync(join(project, "file"), "");
  for (const [folder, reason] of [
    ["project", /is not an absolute path/],
    [join(project, "missing"), /does not exist/],
    [join(project, "file"), /is not a folder/],
    ["/a\u0000b", /contains a NUL/],
  ] as const) {
    for (const request of [{ cwd: folder }, { additionalDirectories: [folder] }]) {
      const { code, message } = await requestErrorOf(connection.begin(request));
      assert.equal(code, -32602);
      assert.match(message, reason);
    }
  }
});

test("[P1] a folder that was deleted before the prompt is an error, and the session stays usable", async (t) => {
  const { connect, project } = await acpTest(t);
  const connection = await connect();
  const cwd = join(project, "soon");
  mkdirSync(cwd);
  const { sessionId } = await connection.begin({ cwd });
  rmSync(cwd, { recursive: true });
  await connection.prompt(sessionId, "hi");
  assert.equal(connection.text(sessionId), "answer 1");
});

test("[P4] [S9] mode, model and effort are stored with the session, across connections and doors", async (t) => {
  const world = await acpTest(t, {
    aptove: {
      overrides: {
        provider: "scripted",
        conversation_contexts: { default: { retrieval: "off", model: "scripted-2" } },
      },
    },
  });
  const { connect, provider } = world;
  const first = await connect();
  const { sessionId, configOptions } = await first.begin();
  assert.deepEqual(
    configOptions?.map(({ currentValue }) => currentValue),
    ["edit", "scripted-2", "default"],
  );
  const set = (configId: string, value: string) =>
    first.agent.request("session/set_config_option", { sessionId, configId, value });
  await set("model", "scripted-1");
  await set("mode", "ask");
  await set("effort", "high");
  assert.deepEqual(
    first.updates(sessionId).filter((update) => update.sessionUpdate === "current_mode_update"),
    [{ sessionUpdate: "current_mode_update", currentModeId: "ask" }],
  );
  await first.leave();
  const second = await connect();
  const loaded = await second.load(sessionId);
  assert.equal(loaded.modes?.currentModeId, "ask");
  assert.deepEqual(
    loaded.configOptions?.map(({ currentValue }) => currentValue),
    ["ask", "scripted-1", "high"],
  );
  await second.prompt(sessionId, "hi");
  assert.equal(provider.exchanges.at(-1)?.call.model, "scripted-1");
  const { engine, caller } = await owner(world);
  const { model, settings } = await engine.sessions.get(caller, sessionId);
  assert.deepEqual([model, settings], ["scripted-1", { reasoningEffort: "high" }]);
  const elsewhere = await (await engine.turns.run(caller, { sessionId, instruction: "from another door" })).finished;
  assert.deepEqual([elsewhere.model, elsewhere.manifest.settings], [model, settings]);
  await engine.sessions.update(caller, sessionId, { model: null });
  const reset = await (await world.connect()).load(sessionId);
  assert.equal(reset.configOptions?.find(({ id }) => id === "model")?.currentValue, "scripted-2");
  await engine.sessions.update(caller, sessionId, { model: "scripted-3", settings: {} });
  const third = await (await world.connect()).load(sessionId);
  assert.equal(third.configOptions?.find(({ id }) => id === "model")?.currentValue, "scripted-3");
  assert.deepEqual(provider.exchanges.at(-1)?.call.settings, { reasoningEffort: "high" });
});

test("[P1] [T6] a fork continues from the head, or from the named turn, and does not change its origin", async (t) => {
  const world = await acpTest(t);
  const connection = await world.connect();
  const { sessionId } = await connection.begin();
  const first = metaOf(await connection.prompt(sessionId, "one"), "turnId");
  await connection.prompt(sessionId, "two");
  const fork = (meta: Record<string, unknown>) =>
    connection.agent.request<{ sessionId: string }>("session/fork", {
      sessionId,
      cwd: world.project,
      mcpServers: [],
      _meta: meta,
    });
  const head = await fork({});
  await connection.prompt(head.sessionId, "from the head");
  assert.match(historyOf(world), /one.*two.*from the head/);
  const earlier = await fork({ "aptove.dev/turnId": first });
  await connection.prompt(earlier.sessionId, "from the first");
  assert.match(historyOf(world), /one/);
  assert.doesNotMatch(historyOf(world), /two/);
  await connection.load(earlier.sessionId);
  const replayed = texts(connection.updates(earlier.sessionId)).filter((line) => line.startsWith("user"));
  assert.deepEqual(replayed, ["user: one", "user: from the first"]);
  assert.equal((await requestErrorOf(fork({ "aptove.dev/turnId": "no turn" }))).code, -32002);
});

test("[P4] a session of another door is listed, loaded and continued", async (t) => {
  const world = await acpTest(t);
  const { engine, caller } = await owner(world);
  const made = await engine.turns.run(caller, { instruction: "from the terminal" });
  await made.finished;
  const connection = await world.connect();
  const listed = (await connection.agent.request("session/list", {})).sessions;
  assert.deepEqual(
    listed.map(({ sessionId, title }) => [sessionId, title]),
    [[made.sessionId, "from the terminal"]],
  );
  await connection.load(made.sessionId);
  assert.deepEqual(texts(connection.updates(made.sessionId)), ["user: from the terminal", "agent: answer 1"]);
  await connection.prompt(made.sessionId, "and from here");
  assert.match(historyOf(world), /from the terminal.*and from here/);
});

test("[P4] turns of other doors in an open session are shown before the next answer", async (t) => {
  const world = await acpTest(t, { script: (_call, n) => (n === 3 ? "the fourth" : `answer ${n}`) });
  const { engine, caller } = await owner(world);
  const connection = await world.connect();
  const { sessionId } = await connection.begin();
  await connection.prompt(sessionId, "one");
  await (
    await engine.turns.run(caller, { sessionId, instruction: "two, from elsewhere" })
  ).finished;
  const before = connection.updates(sessionId).length;
  await connection.prompt(sessionId, "three");
  assert.deepEqual(texts(connection.updates(sessionId).slice(before)), [
    "user: two, from elsewhere",
    "agent: answer 2",
    "agent: the fourth",
  ]);
});

test("[T5] [P4] a prompt waits for a turn of another door, and can be cancelled while it does", async (t) => {
  const held = Promise.withResolvers<void>();
  const world = await acpTest(t, {
    script: (_call, n) => (n === 1 ? [{ waits: held.promise }, { says: "done" }] : "after"),
  });
  const { engine, caller } = await owner(world);
  const connection = await world.connect();
  const { sessionId } = await connection.begin();
  const other = await engine.turns.run(caller, { sessionId, instruction: "elsewhere" });
  const cancelled = connection.prompt(sessionId, "never mind");
  await connection.agent.notify("session/cancel", { sessionId });
  assert.equal((await cancelled).stopReason, "cancelled");
  const waiting = connection.prompt(sessionId, "after you");
  held.resolve();
  assert.equal((await other.finished).status, "completed");
  assert.equal((await waiting).stopReason, "end_turn");
  assert.match(connection.text(sessionId), /after$/);
});

test("[P4] prompts of one session are answered one after the other, and none is lost", async (t) => {
  const { connect } = await acpTest(t);
  const connection = await connect();
  const { sessionId } = await connection.begin();
  const answers = await Promise.all(["a", "b", "c"].map((text) => connection.prompt(sessionId, text)));
  assert.deepEqual(
    answers.map(({ stopReason }) => stopReason),
    ["end_turn", "end_turn", "end_turn"],
  );
  assert.equal(connection.text(sessionId), "answer 1answer 2answer 3");
});

test("[S7] a list is cut into pages that neither repeat nor skip", async (t) => {
  const { connect, aptove } = await acpTest(t);
  const caller = await aptove.engine.keys.owner();
  for (let n = 0; n < 120; n += 1) await aptove.engine.sessions.create(caller, { name: `session ${n}` });
  const connection = await connect();
  const seen: string[] = [];
  let cursor: string | null | undefined;
  do {
    const page = await connection.agent.request("session/list", cursor == null ? {} : { cursor });
    seen.push(...page.sessions.map(({ title }) => String(title)));
    cursor = page.nextCursor;
  } while (cursor != null);
  assert.equal(seen.length, 120);
  assert.equal(new Set(seen).size, 120);
});

test("[R5] a turn continues when its client leaves, and can be loaded", async (t: TestContext) => {
  const held = Promise.withResolvers<void>();
  const world = await acpTest(t, { script: () => [{ says: ["one ", held.promise, "two"] }] });
  const first = await world.connect();
  const { sessionId } = await first.begin();
  const prompt = first.prompt(sessionId, "go").catch(() => "gone");
  await first.until(() => first.text(sessionId) === "one ");
  const left = first.leave();
  assert.equal(await prompt, "gone");
  held.resolve();
  await left;
  const second = await world.connect();
  await second.load(sessionId);
  assert.equal(second.text(sessionId), "one two");
});

test("[P1] [P5] of many open sessions those that were not used for the longest time let their tools rest until their next prompt", async (t) => {
  const world = await acpTest(t);
  const open = new Set<number>();
  let opened = 0;
  const connection = await world.connect({
    opened: {
      openSessionTools: async () => {
        const n = (opened += 1);
        open.add(n);
        return { tools: async () => [], warnings: () => [], close: async () => void open.delete(n) };
      },
    },
  });
  const ids: string[] = [];
  const count = limits.acpSessionsAwakeMax + 3;
  for (let n = 0; n < count; n += 1) ids.push((await connection.begin()).sessionId);
  assert.equal(open.size, limits.acpSessionsAwakeMax);
  assert.equal(open.has(1), false);
  assert.equal((await connection.prompt(ids[0] ?? "", "hi")).stopReason, "end_turn");
  assert.equal(opened, count + 1);
  assert.equal(open.has(4), false);
  assert.equal(open.size, limits.acpSessionsAwakeMax);
});

test("[P1] the number of open sessions of a connection is limited; closing one makes room", async (t) => {
  const connection = await (await acpTest(t)).connect();
  const begun = await Promise.all(Array.from({ length: limits.acpSessionsMax }, () => connection.begin()));
  const ids = begun.map(({ sessionId }) => sessionId);
  const { data } = await requestErrorOf(connection.begin());
  assert.equal((data as { code: string }).code, "sessions_limited");
  const [first = ""] = ids;
  await connection.load(first);
  await connection.agent.request("session/close", { sessionId: first });
  await connection.begin();
});

test("[S9] [P1] what another door chooses is shown and used with the next prompt of an open session", async (t) => {
  const world = await acpTest(t);
  const connection = await world.connect();
  const { sessionId } = await connection.begin();
  const { engine, caller } = await owner(world);
  const shown = (): unknown[] =>
    connection.updates(sessionId).flatMap((update) => {
      if (update.sessionUpdate !== "config_option_update") return [];
      return [update.configOptions.flatMap(({ id, currentValue }) => (id === "mode" ? [] : [currentValue]))];
    });
  const called = () => world.provider.exchanges.at(-1)?.call;
  await engine.sessions.update(caller, sessionId, { model: "scripted-9", settings: { reasoningEffort: "low" } });
  await connection.prompt(sessionId, "one");
  assert.deepEqual(shown(), [["scripted-9", "low"]]);
  assert.deepEqual([called()?.model, called()?.settings], ["scripted-9", { reasoningEffort: "low" }]);
  await connection.agent.request("session/set_config_option", { sessionId, configId: "effort", value: "high" });
  await connection.prompt(sessionId, "two");
  assert.equal(shown().length, 1, "what this client chose is not sent again");
  assert.deepEqual(called()?.settings, { reasoningEffort: "high" });
  await engine.sessions.update(caller, sessionId, { model: null, settings: {} });
  await connection.prompt(sessionId, "three");
  assert.deepEqual(shown().at(-1), ["scripted-1", "default"]);
  assert.deepEqual([called()?.model, called()?.settings], ["scripted-1", {}]);
  await connection.prompt(sessionId, "four");
  assert.equal(shown().length, 2);
});

test("[P1] [S2] session/set_title names a session that need not be open, and the name stays", async (t) => {
  const world = await acpTest(t);
  const connection = await world.connect();
  const { sessionId } = await connection.begin();
  const title = (id: string, text: string) =>
    connection.agent.request("session/set_title", { sessionId: id, title: text });
  assert.deepEqual(await title(sessionId, "  Mine "), { title: "Mine" });
  await connection.prompt(sessionId, "hello there");
  const { engine, caller } = await owner(world);
  assert.equal((await engine.sessions.get(caller, sessionId)).name, "Mine");
  const titles = connection.updates(sessionId).filter((update) => update.sessionUpdate === "session_info_update");
  assert.deepEqual(titles, [], "the client knows the title that it set");
  await connection.agent.request("session/close", { sessionId });
  assert.deepEqual(await title(sessionId, "Another"), { title: "Another" });
  assert.equal((await requestErrorOf(title(sessionId, " "))).code, -32602);
  assert.equal((await requestErrorOf(title("none", "x"))).code, -32002);
});

/** How prompts end, and which updates are sent beside the answer (P1, P4). */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { setImmediate as nextRound } from "node:timers/promises";
import type { SessionUpdate } from "@agentclientprotocol/sdk";
import { acpTest, type AcpTest } from "../../../../testing/acp/acp-test.ts";
import { requestErrorOf } from "../../../../testing/acp/request-error.ts";
import { AptoveError } from "../../../domain/errors.ts";
import { memoryRecords } from "../../../records/memory/memory-records.ts";
import type { Tool } from "../../../tools/tool.ts";
import { surroundingsOf } from "../../../working-copy/surroundings.ts";
import type { OpenedPorts } from "../agent.ts";

function withTools(tools: readonly Tool[]): Pick<OpenedPorts, "openSessionTools"> {
  return { openSessionTools: async () => ({ tools: async () => tools, warnings: () => [], close: async () => {} }) };
}

const only = <K extends SessionUpdate["sessionUpdate"]>(updates: readonly SessionUpdate[], kind: K) =>
  updates.filter((update): update is Extract<SessionUpdate, { sessionUpdate: K }> => update.sessionUpdate === kind);

async function headOf({ aptove }: AcpTest, sessionId: string): Promise<string | null> {
  return (await aptove.engine.sessions.get(await aptove.engine.keys.owner(), sessionId)).headTurnId;
}

test("[P1] the end of a turn becomes ACP's stop reason", async (t) => {
  const ends = ["stop", "length", "content_filter"] as const;
  const { connect } = await acpTest(t, {
    script: (_call, n) => [{ says: "x" }, { stops: ends[n - 1] ?? "stop" }],
  });
  const connection = await connect();
  const { sessionId } = await connection.begin();
  const stopReasons = [];
  for (const _end of ends) stopReasons.push((await connection.prompt(sessionId, "go")).stopReason);
  assert.deepEqual(stopReasons, ["end_turn", "max_tokens", "refusal"]);
});

test("[P1] a model that never stops calling tools ends the turn at its limit", async (t) => {
  const { connect } = await acpTest(t, { script: (_call, n) => [{ calls: "count", with: { n } }] });
  const count: Tool = {
    definition: { name: "count", parameters: { type: "object" }, effect: "read" },
    needsApproval: () => false,
    run: async () => ({ output: "counted", isError: false }),
  };
  const connection = await connect({ opened: withTools([count]) });
  const { sessionId } = await connection.begin();
  assert.equal((await connection.prompt(sessionId, "count")).stopReason, "max_turn_requests");
});

test("[P1] [T12] a failed turn is an error with a code of aptove, a refused one a refusal, and no turn continues from either", async (t) => {
  const world = await acpTest(t, {
    script: (_call, n) =>
      n === 1
        ? [{ fails: "provider_unauthenticated", message: "the key\nis wrong", retryAfterMs: 90_000 }]
        : n === 2
          ? [{ fails: "provider_refused_content" }]
          : "fine",
  });
  const connection = await world.connect();
  const { sessionId } = await connection.begin();
  const { code, message, data } = await requestErrorOf(connection.prompt(sessionId, "one"));
  assert.deepEqual([code, message], [-32603, "the key is wrong"]);
  const fix = "check the key: aptove config check";
  assert.partialDeepStrictEqual(data, {
    code: "provider_unauthenticated",
    retryable: false,
    retryAfterSeconds: 90,
    fix,
  });
  assert.equal((await connection.prompt(sessionId, "two")).stopReason, "refusal");
  assert.equal((await connection.prompt(sessionId, "three")).stopReason, "end_turn");
  assert.deepEqual(world.provider.exchanges.at(-1)?.context.filter((item) => item.type === "user").length, 1);
});

test("[P1] the reason of a refusal is shown, live and when the session is loaded", async (t) => {
  const world = await acpTest(t, {
    script: () => [{ fails: "provider_refused_content", message: "not about herons" }],
  });
  const connection = await world.connect();
  const { sessionId } = await connection.begin();
  assert.equal((await connection.prompt(sessionId, "go")).stopReason, "refusal");
  assert.match(connection.text(sessionId), /The model refused: .*not about herons/);
  const again = await world.connect();
  await again.load(sessionId);
  assert.equal(again.text(sessionId), connection.text(sessionId));
});

test("[P4] a turn that is stopped from elsewhere resolves cancelled too", async (t) => {
  const held = Promise.withResolvers<void>();
  t.after(() => held.resolve());
  const world = await acpTest(t, { script: () => [{ waits: held.promise }, { says: "x" }] });
  const connection = await world.connect();
  const { sessionId } = await connection.begin();
  const prompt = connection.prompt(sessionId, "go");
  const { engine } = world.aptove;
  const caller = await engine.keys.owner();
  while ((await engine.turns.interrupt(caller, { sessionId })) === null);
  assert.equal((await prompt).stopReason, "cancelled");
});

test("[P1] a prompt is cancelled by its request's id too, and resolves cancelled", async (t) => {
  const held = Promise.withResolvers<void>();
  t.after(() => held.resolve());
  const { connect } = await acpTest(t, { script: () => [{ says: ["one ", held.promise, "two"] }] });
  const connection = await connect();
  const { sessionId } = await connection.begin();
  const cancelling = new AbortController();
  const prompt = connection.agent.request(
    "session/prompt",
    { sessionId, prompt: [{ type: "text", text: "go" }] },
    { cancellationSignal: cancelling.signal },
  );
  await connection.until(() => connection.text(sessionId) === "one ");
  cancelling.abort();
  assert.equal((await prompt).stopReason, "cancelled");
});

test("[P4] a cancellation right behind its prompt is not lost", async (t) => {
  const held = Promise.withResolvers<void>();
  t.after(() => held.resolve());
  const { connect } = await acpTest(t, { script: () => [{ waits: held.promise }, { says: "x" }] });
  const connection = await connect();
  const { sessionId } = await connection.begin();
  for (let n = 0; n < 5; n += 1) {
    const prompt = connection.prompt(sessionId, "go");
    await connection.agent.notify("session/cancel", { sessionId });
    assert.equal((await prompt).stopReason, "cancelled");
  }
});

test("[P4] [T11] a cancelled prompt whose turn's end cannot be stored resolves cancelled too", async (t) => {
  const records = memoryRecords();
  let isFull = true;
  const { finish: finishTurn } = records.turns;
  records.turns.finish = (finish) =>
    isFull ? Promise.reject(new AptoveError("storage_full", "no room")) : finishTurn.call(records.turns, finish);
  const held = Promise.withResolvers<void>();
  t.after(() => held.resolve());
  const script = () => [{ says: "x" }, { waits: held.promise }];
  const { connect, reports } = await acpTest(t, { script, aptove: { records } });
  const connection = await connect();
  const { sessionId } = await connection.begin();
  const prompt = connection.prompt(sessionId, "go");
  await connection.until(() => connection.text(sessionId) === "x");
  await connection.agent.notify("session/cancel", { sessionId });
  assert.equal((await prompt).stopReason, "cancelled");
  assert.ok(reports.some((report) => /could not be sent to the client.*could not be stored/.test(report)));
  isFull = false;
});

test("[P1] [R5] pieces of a text that are there at once are one update, and none waits for a later one", async (t) => {
  const held = Promise.withResolvers<void>();
  const { connect } = await acpTest(t, { script: () => [{ says: ["one ", "two ", held.promise, "three ", "four"] }] });
  const connection = await connect();
  const { sessionId } = await connection.begin();
  const pieces = (): string[] =>
    only(connection.updates(sessionId), "agent_message_chunk").map(({ content }) =>
      content.type === "text" ? content.text : "",
    );
  const prompt = connection.prompt(sessionId, "count");
  while (pieces().length === 0) await nextRound();
  assert.deepEqual(pieces(), ["one two "]);
  held.resolve();
  await prompt;
  assert.deepEqual(pieces(), ["one two ", "three four"]);
});

test("[P1] [S2] the title is sent when there is one, and when it changes", async (t) => {
  const { connect, aptove } = await acpTest(t);
  const connection = await connect();
  const { sessionId } = await connection.begin();
  await connection.prompt(sessionId, "where is the head?\nexactly");
  await connection.prompt(sessionId, "more");
  const caller = await aptove.engine.keys.owner();
  await aptove.engine.sessions.update(caller, sessionId, { name: "Heads" });
  await connection.prompt(sessionId, "more");
  assert.deepEqual(
    only(connection.updates(sessionId), "session_info_update").map(({ title }) => title),
    ["where is the head?", "Heads"],
  );
});

test("[P1] the use of the context window and the cost of the session are sent if they are known", async (t) => {
  const usage = { input: 1_000, output: 500, cached: 0, reasoning: 0, total: 1_500 };
  const { connect } = await acpTest(t, { script: () => [{ says: "x" }, { stops: "stop", usage }], model: "gpt-5.1" });
  const connection = await connect();
  const { sessionId } = await connection.begin();
  await connection.prompt(sessionId, "one");
  await connection.prompt(sessionId, "two");
  const usages = only(connection.updates(sessionId), "usage_update");
  assert.deepEqual(
    usages.map(({ used, size, cost }) => [used, size, cost?.amount.toFixed(5), cost?.currency]),
    [
      [1_500, 400_000, "0.00625", "USD"],
      [1_500, 400_000, "0.01250", "USD"],
    ],
  );
  const before = connection.updates(sessionId).length;
  await connection.load(sessionId);
  const [again] = only(connection.updates(sessionId).slice(before), "usage_update");
  assert.deepEqual(again, usages.at(-1));
});

test("[P1] an attempt that failed before anything was counted does not show an empty window", async (t) => {
  const { connect } = await acpTest(t, { script: () => [{ fails: "provider_quota_exhausted" }], model: "gpt-5.1" });
  const connection = await connect();
  const { sessionId } = await connection.begin();
  await requestErrorOf(connection.prompt(sessionId, "one"));
  assert.deepEqual(only(connection.updates(sessionId), "usage_update"), []);
});

test("[P1] /rerun answers the last prompt again, beside its old answer", async (t) => {
  const world = await acpTest(t);
  const connection = await world.connect();
  const { sessionId } = await connection.begin();
  await connection.prompt(sessionId, "/rerun");
  assert.match(connection.text(sessionId), /no prompt in this session/);
  const first = await connection.prompt(sessionId, "where?");
  const again = await connection.prompt(sessionId, "/rerun");
  assert.notDeepEqual(again._meta, first._meta);
  assert.equal(await headOf(world, sessionId), again._meta?.["aptove.dev/turnId"]);
  const instructions = world.provider.exchanges.map(({ context }) => JSON.stringify(context.at(-1)));
  assert.match(instructions.at(-1) ?? "", /where\?/);
  await connection.prompt(sessionId, "/rerun when?");
  assert.match(JSON.stringify(world.provider.exchanges.at(-1)?.context), /when\?/);
  assert.doesNotMatch(JSON.stringify(world.provider.exchanges.at(-1)?.context), /where\?/);
});

test("[P1] [T6] [T12] /undo continues from before the last prompt, also of the first one", async (t) => {
  const world = await acpTest(t);
  const connection = await world.connect();
  const { sessionId } = await connection.begin();
  await connection.prompt(sessionId, "/undo");
  assert.match(connection.text(sessionId), /no prompt in this session to undo/);
  await connection.prompt(sessionId, "zero");
  await connection.prompt(sessionId, "/undo");
  assert.equal(await headOf(world, sessionId), null);
  await connection.prompt(sessionId, "one");
  await connection.prompt(sessionId, "two");
  await connection.prompt(sessionId, "/undo");
  await connection.prompt(sessionId, "three");
  const context = JSON.stringify(world.provider.exchanges.at(-1)?.context);
  assert.match(context, /one.*three/);
  assert.doesNotMatch(context, /two|zero/);
});

test("[P1] /title names the session; other text with a slash is a prompt", async (t) => {
  const world = await acpTest(t);
  const connection = await world.connect();
  const { sessionId } = await connection.begin();
  await connection.prompt(sessionId, "/title My own");
  assert.equal((await connection.agent.request("session/list", {})).sessions[0]?.title, "My own");
  assert.deepEqual(
    only(connection.updates(sessionId), "session_info_update").map(({ title }) => title),
    ["My own"],
  );
  await connection.prompt(sessionId, "/title");
  assert.equal(world.provider.exchanges.length, 0);
  for (const text of ["/usr/bin is empty", "/undoing things", "/TITLE x"]) await connection.prompt(sessionId, text);
  assert.equal(world.provider.exchanges.length, 3);
  const offers = () => only(connection.updates(sessionId), "available_commands_update");
  await connection.until(() => offers().length > 0);
  const [offered] = offers();
  assert.deepEqual(
    offered?.availableCommands.map(({ name }) => name),
    ["rerun", "retry", "review", "compact", "init", "undo", "fire", "pin", "unpin", "pins", "title"],
  );
});

test("[M6] [P1] /pin pins the last prompt or a passage of it, /pins lists, and /unpin removes", async (t) => {
  const world = await acpTest(t, { script: () => "an answer" });
  const connection = await world.connect();
  const { sessionId } = await connection.begin();
  const replyTo = async (text: string): Promise<string> => {
    const before = only(connection.updates(sessionId), "agent_message_chunk").length;
    await connection.prompt(sessionId, text);
    const chunks = only(connection.updates(sessionId), "agent_message_chunk").slice(before);
    return chunks.map(({ content }) => (content.type === "text" ? content.text : "")).join("");
  };
  assert.match(await replyTo("/pin"), /no prompt in this session/);
  await connection.prompt(sessionId, "what to keep");
  assert.equal(await replyTo("/pins"), "Nothing is pinned.");
  assert.equal(await replyTo("/pin to keep"), "Pinned:\n\n1. to keep");
  assert.equal(await replyTo("/pin"), "Pinned:\n\n1. to keep\n2. what to keep an answer");
  assert.match(await replyTo("/unpin 7"), /Add the number/);
  assert.equal(await replyTo("/unpin 1"), "Pinned:\n\n1. what to keep an answer");
  assert.equal(await replyTo("/unpin all"), "Nothing is pinned.");
  assert.equal(world.provider.exchanges.length, 1);
});

test("[P1] the answer to a prompt tells what its turn used, if the provider counted it", async (t) => {
  const usage = { input: 1_000, output: 500, cached: 200, reasoning: 50, total: 1_500 };
  const { connect } = await acpTest(t, { script: () => [{ says: "x" }, { stops: "stop", usage }] });
  const connection = await connect();
  const { sessionId } = await connection.begin();
  const answer = (await connection.prompt(sessionId, "one")) as { usage?: unknown };
  assert.deepEqual(answer.usage, {
    totalTokens: 1_500,
    inputTokens: 1_000,
    outputTokens: 500,
    thoughtTokens: 50,
    cachedReadTokens: 200,
  });
});

test("[P1] [T12] /retry runs the newest prompt again, also after a failure", async (t) => {
  const world = await acpTest(t, {
    script: (_call, n) => (n === 2 ? [{ fails: "provider_quota_exhausted" }] : `answer ${n}`),
  });
  const connection = await world.connect();
  const { sessionId } = await connection.begin();
  await connection.prompt(sessionId, "first");
  await requestErrorOf(connection.prompt(sessionId, "second"));
  assert.equal((await connection.prompt(sessionId, "/retry")).stopReason, "end_turn");
  const seen = JSON.stringify(world.provider.exchanges.at(-1)?.context);
  assert.match(seen, /first/);
  assert.match(seen, /second/);
});

test("[P4] [V5] calls that no client here can answer are pending, and closed by the next prompt; a replay shows the same", async (t) => {
  const tool = { name: "browser", parameters: { type: "object" } };
  const world = await acpTest(t, {
    script: (_call, n) => (n === 1 ? [{ calls: "browser", with: { url: "x" } }] : "fine"),
    aptove: {
      overrides: { provider: "scripted", conversation_contexts: { default: { retrieval: "off", tools: [tool] } } },
    },
  });
  const connection = await world.connect();
  const { sessionId } = await connection.begin();
  assert.equal((await connection.prompt(sessionId, "open it")).stopReason, "end_turn");
  const statuses = (): unknown[] => only(connection.updates(sessionId), "tool_call_update").map(({ status }) => status);
  assert.deepEqual(statuses(), ["pending"]);
  await connection.prompt(sessionId, "never mind");
  assert.deepEqual(statuses(), ["pending", "failed"]);
  await connection.load(sessionId);
  assert.deepEqual(statuses(), ["pending", "failed", "pending", "failed"]);
});

test("[P4] [T9] the results of another client's tools are shown when the session is loaded", async (t) => {
  const world = await acpTest(t, { script: (_call, n) => (n === 1 ? [{ calls: "look", callId: "c1" }] : "seen") });
  const { engine } = world.aptove;
  const caller = await engine.keys.owner();
  const tools = [{ name: "look", parameters: { type: "object" } }];
  const first = await engine.turns.run(caller, { instruction: "look", tools });
  await first.finished;
  const toolResults = [{ callId: "c1", output: "a heron", isError: false }];
  const next = await engine.turns.run(caller, { sessionId: first.sessionId, instruction: "", toolResults, tools });
  await next.finished;
  const connection = await world.connect();
  await connection.load(first.sessionId);
  const ended = only(connection.updates(first.sessionId), "tool_call_update").at(-1);
  assert.deepEqual(
    [ended?.toolCallId, ended?.status, ended?.rawOutput],
    [`${first.turnId}:c1`, "completed", "a heron"],
  );
});

test("[P1] a session whose tools cannot be opened reports it at its prompt, and the connection continues", async (t) => {
  const { connect } = await acpTest(t);
  const broken = { openSessionTools: () => Promise.reject(new RangeError("no tools today")) };
  const connection = await connect({ opened: broken });
  const { sessionId } = await connection.begin();
  const { code, message } = await requestErrorOf(connection.prompt(sessionId, "hi"));
  assert.equal(code, -32603);
  assert.doesNotMatch(message, /no tools today/);
  await connection.agent.request("session/close", { sessionId });
});

test("[P5] [P1] warnings about a session's tools and its start are sent once to a client that accepts notices", async (t) => {
  const { connect, open, reports } = await acpTest(t);
  const { engine } = await open();
  const opened: Partial<OpenedPorts> = {
    openSessionTools: async () => ({
      tools: async () => [],
      warnings: () => ["the server x did not start"],
      close: async () => {},
    }),
    engine: {
      ...engine,
      workspaceSessions: {
        ...engine.workspaceSessions,
        begin: async (caller, start) => ({
          ...(await engine.workspaceSessions.begin(caller, start)),
          warnings: ["the transcript was set aside"],
        }),
      },
    },
  };
  const warnings = ["the transcript was set aside", "the server x did not start"];
  for (const notices of [{}, null]) {
    const connection = await connect({ opened, capabilities: { session: { notices } } });
    const { sessionId } = await connection.begin();
    await connection.prompt(sessionId, "one");
    await connection.prompt(sessionId, "two");
    const seen = () => only(connection.updates(sessionId), "notice").map(({ title }) => title);
    if (notices !== null) await connection.until(() => seen().length >= 2);
    assert.deepEqual(seen().toSorted(), notices === null ? [] : warnings.toSorted());
    for (const warning of warnings) assert.ok(reports.includes(`session ${sessionId}: ${warning}`));
  }
});

test("[T5] [P1] closing a session does not wait for the turn of another door", async (t) => {
  const held = Promise.withResolvers<void>();
  const world = await acpTest(t, { script: () => [{ waits: held.promise }, { says: "x" }] });
  const { engine } = world.aptove;
  const caller = await engine.keys.owner();
  const connection = await world.connect();
  const { sessionId } = await connection.begin();
  const other = await engine.turns.run(caller, { sessionId, instruction: "elsewhere" });
  const waiting = connection.prompt(sessionId, "after you");
  assert.deepEqual(await connection.agent.request("session/close", { sessionId }), {});
  assert.equal((await waiting).stopReason, "cancelled");
  held.resolve();
  assert.equal((await other.finished).status, "completed");
});

test("[R5] a client that reads nothing delays its own updates, and not the turn", async (t) => {
  const world = await acpTest(t, { script: () => [{ says: Array.from({ length: 500 }, (_, n) => `${n} `) }] });
  const { engine, caller } = await world.open();
  const stuck = Promise.withResolvers<void>();
  const connection = await world.connect({
    holds: (message) => {
      if (!JSON.stringify(message).includes("agent_message_chunk")) return undefined;
      stuck.resolve();
      return new Promise(() => {});
    },
  });
  const { sessionId } = await connection.begin();
  const prompt = connection.prompt(sessionId, "count").catch(() => "gone");
  await stuck.promise;
  // The first turn has the session's id (S4).
  const events = await Array.fromAsync(await engine.turns.events(caller, sessionId, { afterSeq: 0 }));
  assert.equal(events.at(-1)?.event.type, "run_finished");
  assert.equal(connection.text(sessionId), "");
  await connection.leave();
  assert.equal(await prompt, "gone");
});

test("[A1] [A2] [P1] a subagent continues after the prompt, its end is announced, and /fire gives its answer to the model", async (t) => {
  const held = Promise.withResolvers<void>();
  const overrides = {
    provider: "scripted",
    conversation_contexts: { default: { retrieval: "off", subagents: true } },
  };
  const world = await acpTest(t, {
    aptove: { overrides },
    script: ({ items }) => {
      const text = JSON.stringify(items.at(-1));
      if (text.includes("begin one"))
        return [{ calls: "spawn_subagent", with: { instruction: "work", name: "worker" } }];
      if (text.includes("]\\nwork")) return [{ says: [held.promise, "it is done"] }];
      return text.includes("it is done") ? "I see" : "well";
    },
  });
  const connection = await world.connect({ capabilities: { session: { notices: {} } } });
  const { sessionId } = await connection.begin();
  const notices = () => only(connection.updates(sessionId), "notice").map(({ title }) => title);
  assert.equal((await connection.prompt(sessionId, "begin one")).stopReason, "end_turn");
  const titles = only(connection.updates(sessionId), "tool_call_update").flatMap(({ title }) => title ?? []);
  assert.ok(titles.includes('Start the subagent "worker"'));
  await connection.prompt(sessionId, "/fire");
  assert.match(connection.text(sessionId), /no new answers of subagents/);
  assert.deepEqual(notices(), []);
  held.resolve();
  await connection.until(() => notices().length > 0);
  assert.match(notices()[0] ?? "", /^The subagent "worker" has ended: .*Use \/fire/);
  await connection.prompt(sessionId, "/fire");
  assert.match(connection.text(sessionId), /I see$/);
  assert.deepEqual(world.reports, []);
});

test("[M1] [M2] an editor's session has the rules and the place of its folder, and the screen names the rules once", async (t) => {
  const world = await acpTest(t);
  const asked: string[] = [];
  const place = { folder: ".", platform: "linux", date: "2026-11-23", branch: "main", modified: [], modifiedMore: 0 };
  const around = async (folder: string) => {
    asked.push(folder);
    return { rules: [{ path: "AGENTS.md", text: "Use tabs." }], place };
  };
  for (const notices of [false, true]) {
    const capabilities = notices ? { session: { notices: {} } } : {};
    const connection = await world.connect({ capabilities, ports: { surroundingsOf: around } });
    const { sessionId } = await connection.begin();
    await connection.prompt(sessionId, "one");
    await connection.prompt(sessionId, "two");
    const { call } = world.provider.exchanges.at(-1) ?? assert.fail();
    assert.match(JSON.stringify(world.provider.exchanges.map(({ call: { prompt } }) => prompt)), /Use tabs\./);
    assert.equal(JSON.stringify(call.items).split("[PLACE]").length <= 2, true);
    const updates = connection.updates(sessionId);
    const thoughts = only(updates, "agent_thought_chunk").map(({ content }) => content);
    const titles = only(updates, "notice").map(({ title }) => title);
    assert.deepEqual(thoughts, notices ? [] : [{ type: "text", text: "rules: AGENTS.md\n" }]);
    assert.deepEqual(
      titles.filter((title) => title.startsWith("rules")),
      notices ? ["rules: AGENTS.md"] : [],
    );
  }
  assert.deepEqual(new Set(asked), new Set([world.project]));
});

test("[M4] [P4] an editor's session has the skills of its folder, and the model reads one without a question", async (t) => {
  const world = await acpTest(t, {
    script: ({ items }) =>
      items.at(-1)?.type === "tool_result" ? "done" : [{ calls: "read_skill", with: { name: "release" } }],
  });
  await mkdir(join(world.project, ".agents/skills/release"), { recursive: true });
  const file = join(world.project, ".agents/skills/release/SKILL.md");
  await writeFile(file, "---\ndescription: Makes a release.\n---\nRun release.sh.\n");
  const connection = await world.connect({ ports: { surroundingsOf } });
  const { sessionId } = await connection.begin();
  await connection.prompt(sessionId, "make a release");
  const { call } = world.provider.exchanges.at(-1) ?? assert.fail();
  assert.match(
    JSON.stringify(call.items),
    /\[SKILLS\].*- release \(repository\): Makes a release\..*Run release\.sh\./,
  );
  const updates = connection.updates(sessionId);
  assert.match(JSON.stringify(only(updates, "agent_thought_chunk")), /skills: release/);
  assert.match(JSON.stringify(updates), /"title":"Read the skill release"/);
});

test("[P1] [C6] /compact has the next prompt begin with a summary, once", async (t) => {
  const { connect, provider } = await acpTest(t, { script: (call) => (isSummary(call.prompt) ? "the gist" : "fine") });
  const connection = await connect();
  const { sessionId } = await connection.begin();
  await connection.prompt(sessionId, "/compact");
  assert.match(connection.text(sessionId), /nothing to summarise/);
  await connection.prompt(sessionId, "remember heron");
  await connection.prompt(sessionId, "/compact");
  assert.match(connection.text(sessionId), /next prompt begins with a summary/);
  const calls = provider.exchanges.length;
  await connection.prompt(sessionId, "which word?");
  assert.equal(provider.exchanges.length, calls + 2);
  assert.match(JSON.stringify(provider.exchanges.at(-1)?.context), /the gist.*which word/s);
  await connection.prompt(sessionId, "again");
  assert.equal(provider.exchanges.length, calls + 3);
  await connection.prompt(sessionId, "/compact and go on");
  assert.equal(provider.exchanges.length, calls + 5);
  assert.match(JSON.stringify(provider.exchanges.at(-1)?.context), /nand go on/);
});

const isSummary = (prompt: string | null): boolean => prompt?.startsWith("You condense") === true;

test("[P1] [C4] the size of the window in a usage update is that of the configuration", async (t) => {
  const providers = { openai: { context_tokens: { gpt_small: 4321 } } };
  const overrides = { provider: "scripted", providers, conversation_contexts: { default: { retrieval: "off" } } };
  const { connect } = await acpTest(t, { model: "gpt_small", aptove: { overrides } });
  const connection = await connect();
  const { sessionId } = await connection.begin();
  await connection.prompt(sessionId, "hello");
  assert.equal(only(connection.updates(sessionId), "usage_update").at(-1)?.size, 4321);
  const again = await connect();
  await again.load(sessionId);
  assert.equal(only(again.updates(sessionId), "usage_update").at(-1)?.size, 4321);
});

test("[P5] an image that a tool returned is shown, live and when the session is loaded", async (t) => {
  const picture: Tool = {
    definition: { name: "draw", description: "draws", parameters: { type: "object" } },
    needsApproval: () => false,
    run: async () => {
      return {
        output: "[image, 3 B png]",
        isError: false,
        content: [{ type: "image", mimeType: "image/png", data: "AAAA" }],
      };
    },
  };
  const tools = { tools: async () => [picture], warnings: () => [], close: async () => {} };
  const opened = { openSessionTools: async () => tools };
  const { connect } = await acpTest(t, { script: (_call, n) => (n === 1 ? [{ calls: "draw", with: {} }] : "drawn") });
  const connection = await connect({ opened });
  const { sessionId } = await connection.begin();
  await connection.prompt(sessionId, "draw");
  const again = await connect({ opened });
  await again.load(sessionId);
  for (const { updates } of [connection, again]) {
    const ended = only(updates(sessionId), "tool_call_update").find(({ status }) => status === "completed");
    assert.deepEqual(ended?.content?.[0], {
      type: "content",
      content: { type: "image", mimeType: "image/png", data: "AAAA" },
    });
  }
});

test("[P1] [M1] /init writes a first AGENTS.md, through an editor that writes files itself, and never over another", async (t) => {
  const world = await acpTest(t);
  const file = join(world.project, "AGENTS.md");
  await writeFile(join(world.project, "package.json"), JSON.stringify({ scripts: { test: "x" } }));
  const written: { path: string; content: string }[] = [];
  const editor = await world.connect({
    capabilities: { fs: { readTextFile: false, writeTextFile: true } },
    answers: { "fs/write_text_file": (params) => (written.push(params), {}) },
  });
  const of = (await editor.begin()).sessionId;
  assert.equal((await editor.prompt(of, "/init")).stopReason, "end_turn");
  assert.deepEqual(
    written.map(({ path, content }) => [path, content.includes("`npm run test`")]),
    [[file, true]],
  );
  assert.equal(existsSync(file), false);
  const connection = await world.connect();
  const { sessionId } = await connection.begin();
  await connection.prompt(sessionId, "/init");
  assert.match(connection.text(sessionId), /^Wrote .*AGENTS\.md/);
  const text = await readFile(file, "utf8");
  assert.equal(text, written[0]?.content);
  await writeFile(file, "mine");
  for (const one of [connection, editor]) await one.prompt(one === editor ? of : sessionId, "/init");
  assert.match(connection.text(sessionId), /exists already/);
  assert.deepEqual([await readFile(file, "utf8"), written.length], ["mine", 1]);
  assert.equal(world.provider.exchanges.length, 0);
});

test("[A1] [P1] a client that announces subagents sees each as a session of its own while it works, and no other client does", async (t) => {
  const held = Promise.withResolvers<void>();
  const overrides = {
    provider: "scripted",
    conversation_contexts: { default: { retrieval: "off", subagents: true } },
  };
  const world = await acpTest(t, {
    aptove: { overrides },
    script: ({ items }) => {
      const text = JSON.stringify(items.at(-1));
      if (text.includes("begin one"))
        return [{ calls: "spawn_subagent", with: { instruction: "work", name: "worker" } }];
      return text.includes("]\\nwork") ? [{ says: ["it is", held.promise, " done"] }] : "well";
    },
  });
  const capabilities = { subagents: {} } as object;
  const connection = await world.connect({ capabilities });
  const { sessionId } = await connection.begin();
  const named = () =>
    connection.updates(sessionId).flatMap((update) => {
      const { sessionUpdate, ...rest } = update as object as Record<string, unknown>;
      return sessionUpdate === "subagent_update" ? [rest] : [];
    });
  await connection.prompt(sessionId, "begin one");
  await connection.until(() => named().length === 1);
  const [first] = named();
  const child = String(first?.["sessionId"]);
  assert.deepEqual(first, { sessionId: child, title: "worker", state: { state: "running" } });
  await connection.until(() => connection.text(child) === "it is");
  held.resolve();
  await connection.until(() => named().length === 2);
  assert.deepEqual(named()[1]?.["state"], { state: "idle", stopReason: "end_turn" });
  assert.equal(connection.text(child), "it is done");
  const [message] = connection.updates(child) as object[];
  assert.partialDeepStrictEqual(message, { senderSessionId: sessionId, content: [{ type: "text", text: "work" }] });
  const again = await world.connect({ capabilities });
  await again.load(sessionId);
  const shown = again.updates(sessionId) as object as { sessionUpdate: string; sessionId?: string }[];
  assert.deepEqual(
    shown.filter(({ sessionUpdate }) => sessionUpdate === "subagent_update").map((one) => one.sessionId),
    [child],
  );
  const other = await world.connect();
  const second = await other.begin();
  await other.prompt(second.sessionId, "begin one");
  await other.prompt(second.sessionId, "more");
  await other.load(second.sessionId);
  assert.ok(!JSON.stringify(other.sent).includes("subagent_update"));
  assert.deepEqual(world.reports, []);
});

test("[R5] [P1] prompts that come at once are prepared a few in each round of the event loop, so that tokens pass between them", async (t) => {
  const { connect } = await acpTest(t, { script: () => "ok" });
  const seen: number[] = [];
  let round = 0;
  const surroundings = async (): Promise<object> => {
    seen.push(round);
    return {};
  };
  const connection = await connect({ ports: { surroundingsOf: surroundings } });
  const sessions: string[] = [];
  for (let n = 0; n < 16; n += 1) sessions.push((await connection.begin()).sessionId);
  const answers = Promise.all(sessions.map((id) => connection.prompt(id, "go")));
  for (; seen.length < sessions.length; round += 1) await nextRound();
  assert.equal((await answers).filter(({ stopReason }) => stopReason === "end_turn").length, sessions.length);
  const most = Math.max(...seen.map((one) => seen.filter((other) => other === one).length));
  assert.ok(most <= 4, `${most} prompts were prepared in one round`);
});

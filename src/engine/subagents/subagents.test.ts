import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import {
  alice,
  all,
  testEngine,
  testParts,
  testRunner,
  type TestEngine,
  type TestEngineOptions,
} from "../../../testing/engine.ts";
import { ForgedFile } from "../../../testing/forged-exports.ts";
import { hasCode } from "../../../testing/refusals.ts";
import { AptoveError } from "../../domain/errors.ts";
import type { TurnEvent } from "../../domain/events.ts";
import type { HistoryItem } from "../../domain/history.ts";
import { limits } from "../../domain/limits.ts";
import type { MailboxMessage } from "../../domain/mailbox.ts";
import type { FinishedTurn, Turn } from "../../domain/turn.ts";
import { memoryRecords } from "../../records/memory/memory-records.ts";
import type { ModelCall } from "../../providers/provider.ts";
import type { Script, ScriptedAnswer } from "../../providers/scripted/scripted.ts";
import type { Tool } from "../../tools/tool.ts";
import { createEngine } from "../create-engine.ts";

/** The last message to the model of a turn, from a person or from the spawner, without its header. */
function askedIn({ items }: Pick<ModelCall, "items">): string {
  const last = items.findLast((item) => item.type === "user");
  return last?.type === "user" ? ((last.parts[0] ?? "").split("[INSTRUCTION]\n")[1] ?? "") : "";
}

function results(items: readonly HistoryItem[]): string[] {
  return items.flatMap((item) => (item.type === "tool_result" ? [item.output] : []));
}

/** A model that answers by what it was asked; after tools ran it says what came of them. */
function acting(answers: Record<string, ScriptedAnswer>): Script {
  return (call) => {
    const afterTools = call.items.at(-1)?.type === "tool_result";
    if (afterTools) return `done: ${results(call.items.slice(-3)).join(" | ")}`;
    return answers[askedIn(call)] ?? `received: ${askedIn(call)}`;
  };
}

function spawn(instruction: string, more: Record<string, string> = {}): ScriptedAnswer {
  return [{ calls: "spawn_subagent", with: { instruction, ...more } }];
}

async function team(
  context: TestContext,
  answers: Record<string, ScriptedAnswer>,
  more: TestEngineOptions = {},
): Promise<Team> {
  const made = await testEngine(context, { script: acting(answers), conversation: { subagents: true }, ...more });
  return { ...made, ...looking(made) };
}

type Team = TestEngine & ReturnType<typeof looking>;

function looking({ deps }: Pick<TestEngine, "deps">) {
  const turns = async (sessionId: string): Promise<Turn[]> =>
    (await deps.records.subagents.listTurns(sessionId, { limit: 100 })).toReversed();
  return {
    /** The turns of subagents, oldest first. */
    turns,
    mail: (sessionId: string): Promise<MailboxMessage[]> => deps.records.subagents.listMail(sessionId, { limit: 100 }),
    /** Waits until no subagent of the session runs. */
    quiet: async (engine: TestEngine["engine"], sessionId: string): Promise<Turn[]> => {
      for (const { id } of await turns(sessionId)) await all(await engine.turns.events(alice, id, { afterSeq: 0 }));
      return await turns(sessionId);
    },
  };
}

/** The texts of the mailbox block that a turn's model was given. */
function delivered(call: ModelCall | undefined): string[] {
  const parts = call?.items.flatMap((item) => (item.type === "user" ? item.parts : [])) ?? [];
  const block = parts.findLast((part) => part.startsWith("[MAILBOX]\n")) ?? "";
  return [...block.matchAll(/^```plaintext\n([\s\S]*?)\n```$/gm)].map(([, text = ""]) => text);
}

test("[A1] a subagent runs in a turn of its own beside the spawner, goes on after it, and is never the head", async (t) => {
  const held = Promise.withResolvers<void>();
  const { engine, start, turns, quiet } = await team(t, {
    "look around": spawn("read everything", { name: "reader" }),
    "read everything": [{ says: ["all ", held.promise, "read"] }],
  });
  const running = await start("look around");
  const spawner = await running.finished;
  assert.equal(spawner.status, "completed");
  const [subagent] = await turns(spawner.sessionId);
  assert.ok(subagent !== undefined);
  assert.equal(subagent.status, "pending", "it goes on though its spawner ended");
  const { id, kind, spawnedBy, parentId, depth, sessionId } = subagent;
  assert.deepEqual(
    { kind, spawnedBy, parentId, depth, sessionId },
    {
      kind: "async_subagent",
      spawnedBy: spawner.id,
      parentId: null,
      depth: 1,
      sessionId: spawner.sessionId,
    },
  );
  assert.deepEqual(subagent.subagent, { id, name: "reader", owner: null, level: 1, tools: null });
  const started = (await all(running.events()))
    .map(({ event }) => event)
    .filter(({ type }) => type.startsWith("subagent"));
  const expected: TurnEvent = {
    type: "subagent_started",
    subagentId: id,
    turnId: id,
    name: "reader",
    instruction: "read everything",
  };
  assert.deepEqual(started, [expected]);

  // The session takes turns beside it.
  const next = await (await start("and now", { sessionId })).finished;
  assert.equal(next.parentId, spawner.id);
  held.resolve();
  const [ended] = await quiet(engine, sessionId);
  assert.equal(ended?.status === "completed" && ended.answerSummary, "all read");
  assert.equal((await engine.sessions.get(alice, sessionId)).headTurnId, next.id);
  const forkOf = engine.turns.run(alice, { instruction: "x", fork: { turnId: id } });
  await assert.rejects(forkOf, hasCode("turn_not_continuable"));
  await assert.rejects(
    engine.turns.run(alice, { instruction: "", rerun: { turnId: id } }),
    hasCode("turn_not_continuable"),
  );
});

test("[A1] a subagent's tools: those of the spawner, narrowed by name; none that asks a person or waits for a client; others only if offered", async (t) => {
  const tool = (name: string, asks = false): Tool => ({
    definition: { name, parameters: { type: "object" } },
    needsApproval: () => asks,
    run: async () => ({ output: `${name} ran`, isError: false }),
  });
  const offered = new Map<string, string[]>();
  const script = acting({
    go: [
      ...(spawn("with all") as []),
      ...(spawn("with one", { tools: "look, " }) as []),
      ...(spawn("with wrong", { tools: "browse" }) as []),
    ],
    "with all": [{ calls: "look" }, { calls: "delete" }],
  });
  const { engine, start, provider, quiet } = await testEngine(t, {
    script: (call, n) => {
      if (call.items.at(-1)?.type === "user")
        offered.set(
          askedIn(call),
          call.tools.map(({ name }) => name),
        );
      return script(call, n);
    },
    conversation: { subagents: true, tools: [{ name: "browse", parameters: { type: "object" } }] },
    tools: [tool("look")],
  }).then((made) => ({ ...made, ...looking(made) }));
  const turn = await (
    await start("go", { ownTools: [tool("delete", true)], askApproval: async () => ({ approved: true }) })
  ).finished;
  await quiet(engine, turn.sessionId);
  const own = ["spawn_subagent", "steer_subagent", "list_subagents"];
  assert.deepEqual(offered.get("go"), ["look", "delete", ...own, "browse"]);
  assert.deepEqual(offered.get("with all"), ["look", "delete", ...own]);
  assert.deepEqual(offered.get("with one"), ["look", ...own]);
  const outputs = provider.exchanges.flatMap(({ call }) => results(call.items));
  assert.ok(outputs.includes("look ran"));
  assert.ok(outputs.some((output) => output.startsWith("denied: a subagent cannot ask a person")));
  assert.ok(
    outputs.some((output) => /no tool browse that a subagent can use; the tools are: look, delete/.test(output)),
  );
});

test("[A1] without the conversation context's word no tool of it is offered; at the deepest level none is", async (t) => {
  const deep = spawn("one deeper");
  const { engine, start, provider, quiet, turns } = await team(t, { top: deep, "one deeper": spawn("two deeper") });
  const top = await (await start("top")).finished;
  await quiet(engine, top.sessionId);
  const levels = (await quiet(engine, top.sessionId)).map(({ subagent }) => subagent?.level);
  assert.deepEqual(levels, [1, 2]);
  const [first, second] = await turns(top.sessionId);
  assert.equal(second?.subagent?.owner, first?.id);
  assert.equal(second?.spawnedBy, first?.id);
  const deepest = provider.exchanges.find(({ call }) => askedIn(call) === "two deeper");
  assert.deepEqual(deepest?.call.tools, []);

  const without = await testEngine(t, {});
  await without.ask("hello");
  assert.deepEqual(without.provider.exchanges[0]?.call.tools, []);
});

test("[A1] one turn begins no more than its limit, and a session runs no more; interrupting the session stops all", async (t) => {
  const names = Array.from({ length: limits.subagentsPerTurnMax + 2 }, (_, n) => `task ${n}`);
  const never = new Promise<void>(() => {});
  const tasks = Object.fromEntries(names.map((name) => [name, [{ waits: never }]]));
  const go = names.map((name) => ({ calls: "spawn_subagent", with: { instruction: name } }));
  const { engine, start, provider, turns, quiet } = await team(t, { go, more: spawn("one more"), ...tasks });
  const { sessionId } = await (await start("go")).finished;
  const running = await turns(sessionId);
  assert.equal(running.length, limits.subagentsPerTurnMax);
  const outputs = (asked: string): string[] =>
    results(provider.exchanges.findLast(({ context }) => askedIn({ items: context }) === asked)?.context ?? []);
  const refused = outputs("go").filter((output) => output.startsWith("failed"));
  assert.equal(refused.length, 2);
  for (const output of refused) assert.match(output, /a turn may start at most 8 subagents/);
  await (
    await start("more", { sessionId })
  ).finished;
  assert.match(outputs("more").at(-1) ?? "", /subagents_limited: a session can have at most 8 running subagents/);

  const [first] = running;
  assert.equal(await engine.turns.interrupt(alice, { turnId: first?.id ?? "" }), first?.id);
  await all(await engine.turns.events(alice, first?.id ?? "", { afterSeq: 0 }));
  const stopped = await engine.turns.interrupt(alice, { sessionId });
  assert.ok(running.slice(1).some(({ id }) => id === stopped));
  const codes = (await quiet(engine, sessionId)).map((turn) => turn.status === "failed" && turn.failures[0].code);
  assert.deepEqual(new Set(codes), new Set(["interrupted"]));
  assert.equal(await engine.turns.interrupt(alice, { sessionId }), null);
});

test("[A1] a running subagent is steered; one that has ended goes on in its own lineage, and answers once more", async (t) => {
  const held = Promise.withResolvers<void>();
  const tell = (id: string, message: string): ScriptedAnswer => [
    { calls: "steer_subagent", with: { subagent_id: id, message } },
  ];
  const answers: Record<string, ScriptedAnswer> = {
    begin: spawn("count"),
    count: [{ says: ["one", held.promise] }],
  };
  const { engine, start, turns, quiet, mail, provider } = await team(t, answers);
  const { sessionId } = await (await start("begin")).finished;
  const id = (await turns(sessionId))[0]?.id ?? assert.fail("there is no subagent");
  answers["tell it"] = tell(id, "faster");
  await (
    await start("tell it", { sessionId })
  ).finished;
  held.resolve();
  await quiet(engine, sessionId);
  const toCounter = provider.exchanges.map(({ call }) => askedIn(call));
  assert.ok(toCounter.includes("faster"), "it had the message at its next step");

  answers["again"] = tell(id, "go on");
  await (
    await start("again", { sessionId })
  ).finished;
  const [first, second, ...others] = await quiet(engine, sessionId);
  assert.deepEqual(others, []);
  assert.deepEqual([second?.parentId, second?.depth, second?.subagent], [first?.id, 2, first?.subagent]);
  const seen = provider.exchanges.findLast(({ call }) => askedIn(call) === "go on")?.context ?? [];
  assert.match(JSON.stringify(seen), /count.*one.*faster.*go on/);
  assert.deepEqual(
    (await mail(sessionId)).map(({ turnId, number }) => [turnId, number]),
    [
      [first?.id, 1],
      [second?.id, 2],
    ],
  );

  answers["list"] = [{ calls: "list_subagents" }, ...(tell("missing", "hi") as [])];
  await (
    await start("list", { sessionId })
  ).finished;
  const outputs = results(provider.exchanges.at(-1)?.call.items ?? []).slice(-2);
  assert.equal(outputs[0], `${id} "count": ended; its answer waits in the mailbox`);
  assert.match(outputs[1] ?? "", /there is no subagent "missing"/);
});

test("[A1] an outage of the records in a tool of subagents is reported to the operator, a refusal only to the model", async (t) => {
  const records = memoryRecords();
  const { listTurns } = records.subagents;
  const outage = new AptoveError("records_unavailable", "the records cannot be used: no answer");
  records.subagents.listTurns = (...asked) =>
    asked[1].subagentId === "x" ? Promise.reject(outage) : listTurns(...asked);
  const message = (id: string): ScriptedAnswer => [
    { calls: "steer_subagent", with: { subagent_id: id, message: "hi" } },
  ];
  const { ask, reports } = await team(t, { missing: message("y"), outage: message("x") }, { records });
  await ask("missing");
  assert.deepEqual(reports, []);
  await ask("outage");
  assert.match(reports.join("\n"), /^the tool "steer_subagent" threw/);
});

test("[A2] fire brings all that waits into one turn below the head, oldest first, fenced, and each once", async (t) => {
  const { engine, start, quiet, mail, provider } = await team(t, {
    go: [...(spawn("first") as []), ...(spawn("second") as [])],
    first: "plain ``` and [INSTRUCTION] of mine",
    second: [{ fails: "provider_rejected", message: "no such model" }],
  });
  const { sessionId, id: head } = await (await start("go")).finished;
  await quiet(engine, sessionId);
  await assert.rejects(engine.turns.run(alice, { instruction: "", fire: true }), hasCode("request_invalid"));
  const steered = engine.turns.run(alice, { instruction: "", fire: true, sessionId, ifBusy: "steer" });
  await assert.rejects(steered, hasCode("request_invalid"));

  const fired = await (await start("", { fire: true, sessionId })).finished;
  assert.deepEqual([fired.status, fired.parentId], ["completed", head]);
  const order = (await mail(sessionId)).map(({ kind }) => kind);
  assert.deepEqual(order.toSorted(), ["subagent_failed", "subagent_result"]);
  assert.deepEqual(
    fired.manifest.mailbox?.map(({ kind }) => kind),
    order,
  );
  const [, block = ""] = await (await engine.turns.read(alice, fired.id)).message();
  assert.match(block, /^\[MAILBOX\]\nThe last messages of your subagents/);
  assert.ok(block.includes("````plaintext\nplain ``` and [INSTRUCTION] of mine\n````"));
  assert.match(block, /It failed \(provider_rejected\): no such model/);
  assert.ok(JSON.stringify(provider.exchanges.at(-1)?.call.items).includes("[MAILBOX]"));
  for (const { takenBy, deliveredAt } of await mail(sessionId)) {
    assert.deepEqual([takenBy, deliveredAt], [fired.id, fired.statusAt]);
  }
  await assert.rejects(start("", { fire: true, sessionId }), hasCode("mailbox_empty"));
});

test("[A2] a continuation that fails gives its messages back; the next one, or a rerun, has them again", async (t) => {
  let isBroken = true;
  const { engine, start, quiet, mail, provider } = await team(t, {
    go: spawn("work"),
    get please() {
      return isBroken ? ([{ fails: "provider_rejected" }] as ScriptedAnswer) : "fine";
    },
  });
  const { sessionId } = await (await start("go")).finished;
  await quiet(engine, sessionId);
  const bad = await (await start("please", { fire: true, sessionId })).finished;
  assert.equal(bad.status, "failed");
  assert.equal((await mail(sessionId))[0]?.takenBy, null);
  isBroken = false;
  const good = await (await engine.turns.run(alice, { instruction: "", rerun: { turnId: bad.id } })).finished;
  assert.equal(good.status, "completed");
  assert.deepEqual(delivered(provider.exchanges.at(-1)?.call), ["received: work"]);
  assert.equal((await mail(sessionId))[0]?.takenBy, good.id);
  // A rerun of what was delivered repeats it, and takes nothing.
  const again = await (await engine.turns.run(alice, { instruction: "please", rerun: { turnId: good.id } })).finished;
  assert.deepEqual(again.manifest.mailbox, good.manifest.mailbox);
  assert.equal((await mail(sessionId))[0]?.takenBy, good.id);
});

test("[A2] [T5] of many who fire at once one turn has the messages; those who wait in line find the mailbox empty", async (t) => {
  const { engine, start, quiet } = await team(t, { go: spawn("work") });
  const { sessionId } = await (await start("go")).finished;
  await quiet(engine, sessionId);
  const fire = async (ifBusy: "refuse" | "queue"): Promise<FinishedTurn> =>
    await (
      await start("", { fire: true, sessionId, ifBusy })
    ).finished;
  const fires = await Promise.allSettled([fire("queue"), fire("refuse"), fire("queue"), fire("refuse")]);
  assert.equal(fires.filter(({ status }) => status === "fulfilled").length, 1);
  for (const result of fires) {
    if (result.status === "fulfilled") continue;
    const { code } = result.reason as AptoveError;
    assert.ok(["mailbox_empty", "session_busy", "mailbox_changed", "head_moved"].includes(code), code);
  }
});

test("[A2] [T9] fire brings answers to the calls that the head waits for, and may change the conversation context", async (t) => {
  const deps = testParts({ conversation: { subagents: true } });
  const other = { ...(deps.conversationContexts[0] ?? assert.fail()), id: "other", bootPrompt: "Be brief." };
  const answers: Record<string, ScriptedAnswer> = {
    go: spawn("work"),
    ask: [{ calls: "client_tool", callId: "c1" }],
  };
  const tools = [{ name: "client_tool", parameters: { type: "object" } }];
  const contexts = { conversationContexts: [...deps.conversationContexts, other] };
  const { engine, start, quiet, provider } = await team(t, answers, contexts);
  const { sessionId } = await (await start("go", { tools })).finished;
  await quiet(engine, sessionId);
  const waiting = await (await start("ask", { sessionId, tools })).finished;
  assert.equal(waiting.status, "awaiting_tool_results");
  const fired = await (
    await start("", {
      fire: true,
      sessionId,
      tools,
      conversationContextId: "other",
      toolResults: [{ callId: "c1", output: "the client's answer", isError: false }],
    })
  ).finished;
  assert.equal(fired.manifest.conversationContext.id, "other");
  const { call, prompt } = provider.exchanges.at(-1) ?? assert.fail();
  assert.match(prompt ?? "", /^Be brief\./);
  assert.ok(results(call.items).includes("the client's answer"));
  assert.deepEqual(delivered(call), ["received: work"]);
});

test("[A2] [R2] a subagent that is lost with its process is reported as failed; a lost continuation gives its messages back, and each arrives once", async (t) => {
  const never = new Promise<void>(() => {});
  const dead = new Set<string>();
  const deps = testParts({
    script: acting({
      go: [...(spawn("stuck") as []), ...(spawn("quick") as [])],
      stuck: [{ waits: never }],
      hang: [{ waits: never }],
    }),
    conversation: { subagents: true },
    isAlive: (runner) => !dead.has(runner.id),
  });
  const old = await createEngine(deps);
  const { quiet, mail, turns } = looking({ deps });
  const head = await (await old.turns.run(alice, { instruction: "go" })).finished;
  const { sessionId } = head;
  const [stuck, quick] = await turns(sessionId);
  for await (const { event } of await old.turns.events(alice, quick?.id ?? "", { afterSeq: 0 }))
    if (event.type === "run_finished") break;
  const cut = await old.turns.run(alice, { instruction: "hang", fire: true, sessionId });
  dead.add(deps.runner.id);

  const restarted = await testEngine(t, { ...deps, runner: testRunner() });
  t.after(() => old.close({ graceMs: 0 }));
  await quiet(restarted.engine, sessionId);
  const messages = await mail(sessionId);
  assert.deepEqual(
    messages.map(({ turnId, kind, takenBy }) => [turnId, kind, takenBy]),
    [
      [quick?.id, "subagent_result", null],
      [stuck?.id, "subagent_failed", null],
    ],
  );
  assert.equal((await restarted.engine.turns.get(alice, cut.turnId)).status, "failed");
  const fired = await (await restarted.start("", { fire: true, sessionId })).finished;
  assert.equal(fired.parentId, head.id);
  assert.deepEqual(
    fired.manifest.mailbox?.map(({ turnId }) => turnId),
    [quick?.id, stuck?.id],
  );
  await old.close({ graceMs: 0 });
  assert.equal((await mail(sessionId)).length, 2, "the late process adds nothing");
});

test("[A1] [A2] [D2] a session is verified, exported and imported with its subagents, and the mailbox is made anew from them", async (t) => {
  const { engine, start, quiet, mail, turns, deps } = await team(t, {
    go: [...(spawn("early") as []), ...(spawn("also early") as [])],
    more: spawn("late"),
  });
  const { sessionId } = await (await start("go")).finished;
  await quiet(engine, sessionId);
  const fired = await (await start("", { fire: true, sessionId })).finished;
  const early = await all(engine.transfer.export(alice, { sessionId }));
  await (
    await start("more", { sessionId })
  ).finished;
  await quiet(engine, sessionId);
  const report = await engine.explain.verify(alice, sessionId);
  assert.deepEqual([report.turnsChecked, report.turnsUnsealed, report.fault], [6, 0, null]);
  const { keys } = await engine.tree.collectGarbage(alice, { dryRun: true });
  assert.deepEqual(keys, []);

  const there = await testEngine(t, { conversation: { subagents: true } });
  async function* lines(of: readonly string[]): AsyncGenerator<string> {
    yield* of;
  }
  const mailThere = looking(there).mail;
  await there.engine.transfer.import(alice, lines(early));
  assert.deepEqual(
    (await mailThere(sessionId)).map(({ takenBy }) => takenBy),
    [fired.id, fired.id],
  );
  const whole = await all(engine.transfer.export(alice, { sessionId }));
  await there.engine.transfer.import(alice, lines(whole));
  assert.deepEqual(await mailThere(sessionId), await mail(sessionId));
  assert.deepEqual(await looking(there).turns(sessionId), await turns(sessionId));
  const next = await (await there.start("", { fire: true, sessionId })).finished;
  assert.equal(next.manifest.mailbox?.length, 1);

  // A file made by hand cannot have an agent continue a subagent, nor a subagent continue another one.
  for (const forge of [
    (file: ForgedFile) =>
      Object.assign(file.turns.find(({ turn }) => turn.id === fired.id)?.turn ?? {}, { kind: "async_subagent" }),
    (file: ForgedFile) =>
      delete (file.turns.find(({ turn }) => turn.subagent !== undefined)?.turn ?? assert.fail()).subagent,
    (file: ForgedFile) =>
      Object.assign(file.turns.find(({ turn }) => turn.id === fired.id)?.turn ?? {}, {
        kind: "async_subagent",
        spawnedBy: sessionId,
        subagent: { id: fired.id, name: "x", owner: null, level: 1, tools: null },
      }),
  ]) {
    const file = new ForgedFile(whole);
    forge(file);
    const elsewhere = await testEngine(t);
    await assert.rejects(elsewhere.engine.transfer.import(alice, lines(file.sealed())), hasCode("import_invalid"));
  }
  await engine.tree.remove(alice, sessionId);
  await engine.tree.purge(alice, sessionId);
  assert.deepEqual([await mail(sessionId), await deps.blobs.list("turns/")], [[], []]);
});

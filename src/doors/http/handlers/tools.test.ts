/** Turns of several steps on the wire: tools, approvals, steering, what is cut short; always in AG-UI's order (V1, V4, V5, T8, T9). */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ExecuteAccepted, ExecuteAnswer } from "../../../protocol/execute.ts";
import type { Tool } from "../../../tools/tool.ts";
import type { ScriptedPart } from "../../../providers/scripted/scripted.ts";
import { checkRun } from "../../../../testing/ag-ui-order.ts";
import { sseMessages, testDoor, type TestDoor } from "../../../../testing/http-door.ts";

const execute = "/api/ai/agent/execute";
const never = new Promise<never>(() => undefined);
const there = [{ name: "there", parameters: { type: "object" } }];

function tool(name: string, does: Tool["run"], needsApproval = false): Tool {
  return { definition: { name, parameters: { type: "object" } }, needsApproval: () => needsApproval, run: does };
}

const gives = (output: string) => async () => ({ output, isError: false });

/** A model that gives these answers, one after the other. */
function script(...answers: (string | ScriptedPart[])[]) {
  return (_call: unknown, n: number) => answers[n - 1] ?? "nothing more";
}

interface WireEvent {
  type: string;
  name?: string;
  toolCallId?: string;
  [field: string]: unknown;
}

async function eventsOf({ call }: TestDoor, { eventsUrl }: { eventsUrl: string }): Promise<WireEvent[]> {
  return sseMessages(await (await call(`GET ${eventsUrl}`)).text()).map(({ data }) => JSON.parse(data) as WireEvent);
}

async function start({ call }: TestDoor, json: object): Promise<ExecuteAccepted> {
  return (await (await call(`POST ${execute}`, { json: { ...json, transport: "stream" } })).json()) as ExecuteAccepted;
}

async function answerOf({ call }: TestDoor, turnId: string): Promise<ExecuteAnswer> {
  return (await (await call(`GET /api/turns/${turnId}/answer`)).json()) as ExecuteAnswer;
}

/** Runs a turn to its end and checks its events. */
async function run(door: TestDoor, json: object, waiting: readonly string[] = []) {
  const accepted = await start(door, json);
  const events = await eventsOf(door, accepted);
  return { ...accepted, events, terminal: checkRun(events, waiting), answer: await answerOf(door, accepted.turnId) };
}

/** Reads a running turn's events until one of this type, or of this custom name. */
async function reach({ call }: TestDoor, { eventsUrl }: { eventsUrl: string }, type: string): Promise<void> {
  const reader = (await call(`GET ${eventsUrl}`)).body?.getReader() ?? assert.fail();
  for (let text = ""; !text.includes(`"${type}"`);) {
    const { done, value } = await reader.read();
    assert.ok(!done, `the turn ended without ${type}`);
    text += Buffer.from(value).toString();
  }
  await reader.cancel();
}

const only = (events: readonly WireEvent[], type: string) => events.filter((event) => event.type === type);

test("[V1] [V5] [T8] results of the server's tools are between the steps, failed ones are marked", async (t) => {
  const tools = [tool("add", gives("3")), tool("burn", () => Promise.reject(new Error("too hot")))];
  const answers = script(
    [
      { thinks: "both" },
      { says: "Let me see." },
      { calls: "add", callId: "c1", with: { a: 1 } },
      { calls: "burn", callId: "c2" },
    ],
    [{ calls: "add", callId: "c3", with: "not json" }],
    "Done.",
  );
  const { events, terminal, answer } = await run(await testDoor(t, { tools, script: answers }), { instruction: "x" });
  assert.deepEqual(
    events.map(({ type }) => type).filter((type) => type.startsWith("STEP") || type === "TOOL_CALL_RESULT"),
    [
      ...["STEP_STARTED", "STEP_FINISHED", "TOOL_CALL_RESULT", "TOOL_CALL_RESULT"],
      ...["STEP_STARTED", "STEP_FINISHED", "TOOL_CALL_RESULT", "STEP_STARTED", "STEP_FINISHED"],
    ],
  );
  assert.partialDeepStrictEqual(only(events, "TOOL_CALL_RESULT"), [
    { toolCallId: "c1", content: "3", role: "tool", metadata: { isError: false } },
    { toolCallId: "c2", content: "failed: too hot", metadata: { isError: true } },
    { toolCallId: "c3", content: "failed: the arguments are not a JSON object", metadata: { isError: true } },
  ]);
  assert.partialDeepStrictEqual(terminal, { outcome: { type: "success" }, metadata: { stopReason: "stop" } });
  assert.partialDeepStrictEqual(answer, { kind: "answer", text: "Let me see.\n\nDone.", toolCalls: [] });
});

test("[V5] [T9] a run that leaves calls to the client's tools ends and names them; their results continue it", async (t) => {
  let runs = 0;
  const tools = [tool("here", async () => ({ output: String((runs += 1)), isError: false }))];
  const answers = script(
    [
      { calls: "here", callId: "c1" },
      { calls: "there", callId: "c2", with: { at: 1 } },
      { calls: "there", callId: "c3" },
    ],
    "seen",
  );
  const door = await testDoor(t, { tools, script: answers });
  const first = await run(door, { instruction: "x", tools: there });
  assert.partialDeepStrictEqual(first.terminal, {
    outcome: { type: "success", pendingToolCallIds: ["c2", "c3"] },
    metadata: { stopReason: "tool_calls" },
  });
  assert.equal(first.answer.kind, "tool_calls");
  assert.deepEqual(first.answer.toolCalls, [
    { callId: "c2", name: "there", arguments: '{"at":1}', waitsFor: "client" },
    { callId: "c3", name: "there", arguments: "{}", waitsFor: "client" },
  ]);
  const toolResults = [{ callId: "c3", output: "three" }];
  const { sessionId } = first;
  const second = await run(door, { sessionId, toolResults, tools: there }, ["c2", "c3"]);
  assert.equal(second.answer.text, "seen");
  assert.deepEqual(
    second.answer.warnings.map(({ code }) => code),
    ["open_calls_closed"],
  );
  const seen = door.provider.exchanges.at(-1)?.context ?? [];
  assert.partialDeepStrictEqual(
    seen.filter((item) => item.type === "tool_result"),
    [{ output: "1" }, { output: "failed: no result", isError: true }, { output: "three" }],
  );
  assert.equal(runs, 1);
});

test("[V5] [T9] a call that needs approval interrupts the run; if allowed it runs first, if denied the model receives the reason", async (t) => {
  for (const [word, output, runsMax] of [
    [{ approved: true }, "gone", 1],
    [{ approved: false, reason: "it is the only copy" }, "denied: it is the only copy", 0],
    [null, "denied: no response", 0],
  ] as const) {
    let runs = 0;
    const tools = [tool("delete", async () => ((runs += 1), { output: "gone", isError: false }), true)];
    const answers = script(
      [
        { calls: "there", callId: "c1" },
        { calls: "delete", callId: "c2", with: { path: "a" } },
      ],
      "I see.",
    );
    const door = await testDoor(t, { tools, script: answers });
    const asked = await run(door, { instruction: "x", tools: there });
    assert.partialDeepStrictEqual(asked.terminal, {
      outcome: { type: "interrupt", interrupts: [{ reason: "tool_call", toolCallId: "c2" }] },
    });
    assert.deepEqual(
      asked.answer.toolCalls.map(({ waitsFor }) => waitsFor),
      ["client", "approval"],
    );
    const { sessionId } = asked;
    const wrong = [
      { callId: "c2", output: "gone" },
      { callId: "c1", approved: true },
      { callId: "c9", output: "" },
    ];
    const { detail } = await door.refused("tool_feedback_invalid", `POST ${execute}`, {
      json: { sessionId, toolResults: wrong },
    });
    for (const callId of ["c1", "c2", "c9"]) assert.ok(detail.includes(`"${callId}"`), detail);
    const toolResults = [{ callId: "c1", output: "1" }, ...(word === null ? [] : [{ callId: "c2", ...word }])];
    const denied = await run(door, { sessionId, toolResults, tools: there }, ["c1", "c2"]);
    assert.deepEqual(
      only(denied.events, "TOOL_CALL_RESULT").map(({ toolCallId }) => toolCallId),
      word?.approved === true ? ["c2"] : [],
    );
    assert.equal(runs, runsMax);
    const results = (door.provider.exchanges.at(-1)?.context ?? []).filter((item) => item.type === "tool_result");
    assert.deepEqual(results.map((item) => [item.callId, item.output]).toSorted(), [
      ["c1", "1"],
      ["c2", output],
    ]);
  }
});

test("[V4] a message to the running turn is an event at the step where the model receives it", async (t) => {
  const held = Promise.withResolvers<void>();
  const tools = [
    tool("slow", async () => {
      await held.promise;
      return { output: "done", isError: false };
    }),
  ];
  const door = await testDoor(t, { tools, script: script([{ calls: "slow", callId: "c1" }], "As you like.") });
  const running = await start(door, { instruction: "x" });
  await reach(door, running, "STEP_FINISHED");
  for (const [at, text] of [
    [`turns/${running.turnId}`, "and be brief"],
    [`sessions/${running.sessionId}`, "größer \u{1f600}"],
  ]) {
    const steered = await door.call(`POST /api/${at}/steer`, { json: { text } });
    assert.deepEqual(await steered.json(), { steeredTurnId: running.turnId });
  }
  held.resolve();
  const events = await eventsOf(door, running);
  checkRun(events);
  const delivered = events.filter(({ type, name }) => type === "TOOL_CALL_RESULT" || name === "aptove.steered");
  assert.partialDeepStrictEqual(delivered, [
    { toolCallId: "c1" },
    { value: { text: "and be brief" } },
    { value: { text: "größer \u{1f600}" } },
  ]);
  assert.equal((await answerOf(door, running.turnId)).text, "As you like.");
});

test("[V4] a message that a running turn cannot receive is refused: late, empty, too long, not text", async (t) => {
  const door = await testDoor(t, { script: () => [{ waits: never }] });
  const running = await start(door, { instruction: "x" });
  const at = `/api/turns/${running.turnId}/steer`;
  await door.refused("instruction_empty", `POST ${at}`, { json: { text: " " } });
  await door.refused("instruction_not_text", `POST ${at}`, { json: { text: "a\ud800" } });
  await door.refused("instruction_too_large", `POST ${at}`, { json: { text: "x".repeat(2_000_000) } });
  for (const json of [{}, { text: 1 }, { text: "x", turnId: running.turnId }]) {
    await door.refused("request_invalid", `POST ${at}`, { json });
  }
  await door.call(`POST /api/turns/${running.turnId}/interrupt`);
  await eventsOf(door, running);
  for (const place of [`turns/${running.turnId}`, `sessions/${running.sessionId}`]) {
    await door.refused("turn_not_running", `POST /api/${place}/steer`, { json: { text: "late" } });
  }
});

test("[V5] the questions of a running turn are listed and answered here too, and the first answer counts", async (t) => {
  const door = await testDoor(t, { script: script([{ calls: "cut", callId: "c1", with: { at: 1 } }], "Done.") });
  const { turnId } = await door.engine.turns.run(door.admin, {
    instruction: "x",
    ownTools: [tool("cut", gives("cut"), true)],
    askApproval: async () => null,
  });
  const eventsUrl = `/api/turns/${turnId}/events`;
  await reach(door, { eventsUrl }, "aptove.tool_call_view");
  const { turns } = door.client({ key: door.admin.key });
  const [question, ...others] = await turns.questions(turnId);
  assert.partialDeepStrictEqual(question, { callId: "c1", name: "cut", args: { at: 1 }, view: { title: "cut" } });
  assert.equal(others.length, 0);
  await turns.answerQuestion(turnId, { callId: "c1", approved: false, reason: "too deep" });
  const events = await eventsOf(door, { eventsUrl });
  checkRun(events);
  const shown = events.filter(({ type, name }) => type === "TOOL_CALL_RESULT" || name?.startsWith("aptove.") === true);
  assert.partialDeepStrictEqual(shown.slice(-3), [
    { name: "aptove.tool_call_view", value: { callId: "c1", asks: true } },
    { name: "aptove.approval_answered", value: { callId: "c1", approved: false } },
    { content: "denied: too deep" },
  ]);
  const late = { json: { callId: "c1", approved: true } };
  await door.refused("question_not_open", `POST /api/turns/${turnId}/questions`, late);
});

const cuts: [what: string, parts: ScriptedPart[], until: string][] = [
  ["in a message", [{ says: ["begun ", never] }], "TEXT_MESSAGE_CONTENT"],
  [
    "between a message and a call",
    [{ says: "I shall look." }, { waits: never }, { calls: "slow" }],
    "TEXT_MESSAGE_END",
  ],
  [
    "in a tool",
    [{ says: "I look." }, { calls: "slow", callId: "c1" }, { calls: "add", callId: "c2" }],
    "STEP_FINISHED",
  ],
];

for (const [what, parts, until] of cuts) {
  test(`[T10] [V1] a run that is stopped ${what} closes everything that it opened, and is cancelled`, async (t) => {
    const tools = [tool("slow", () => never), tool("add", gives("3"))];
    const door = await testDoor(t, { tools, script: script(parts) });
    const running = await start(door, { instruction: "x" });
    await reach(door, running, until);
    await door.call(`POST /api/turns/${running.turnId}/interrupt`);
    const terminal = checkRun(await eventsOf(door, running));
    assert.partialDeepStrictEqual(terminal, {
      outcome: { type: "cancelled" },
      metadata: { stopReason: "interrupted" },
    });
  });
}

test("[V1] [T11] a run that fails in a message closes it first, in a later step too", async (t) => {
  const tools = [tool("add", gives("3"))];
  const cut = [{ thinks: "hm" }, { says: "half" }, { cuts: true } as const];
  const door = await testDoor(t, { tools, script: script([{ calls: "add", callId: "c1" }], cut) });
  const { terminal, answer } = await run(door, { instruction: "x" });
  assert.equal(terminal.type === "RUN_ERROR" && terminal.code, "provider_stream_cut");
  assert.equal(answer.kind, "error");
});

test("[V5] [V1] a model that never stops calling is stopped by the limit, which is no success", async (t) => {
  const tools = [tool("add", gives("3"))];
  const door = await testDoor(t, { tools, script: (_call, n) => [{ calls: "add", with: { n } }] });
  const { terminal, answer } = await run(door, { instruction: "x" });
  assert.partialDeepStrictEqual(terminal, { outcome: { type: "cancelled" }, metadata: { stopReason: "step_limit" } });
  assert.deepEqual(
    [answer.kind, answer.stopReason, answer.warnings.map(({ code }) => code)],
    ["answer", "step_limit", ["step_limit"]],
  );
});

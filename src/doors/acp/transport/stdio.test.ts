/** The ACP door on standard input and output: lines in, lines out, and how it ends (P1, R4). */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { Console } from "node:console";
import { PassThrough } from "node:stream";
import { finished } from "node:stream/promises";
import { text } from "node:stream/consumers";
import { test, type TestContext } from "node:test";
import type { AnyMessage } from "@agentclientprotocol/sdk";
import { acpTest, type AcpTest, type AcpTestOptions } from "../../../../testing/acp/acp-test.ts";
import { WireCheck } from "../../../../testing/acp/schema-check.ts";
import { limits } from "../../../domain/limits.ts";
import { AptoveError } from "../../../domain/errors.ts";
import { claimOutput, serveStdio } from "./stdio.ts";

interface Served {
  world: AcpTest;
  stdin: PassThrough;
  stderr: PassThrough;
  stop: AbortController;
  /** How the stores were closed. */
  closings: { graceMs: number }[];
  /** Returns all written lines, after everything is closed. */
  ended: Promise<string[]>;
  send(message: object): void;
  /** The input, to write to directly. */
  asks(message: object): void;
  /** Returns the next message of the agent for which the predicate holds. */
  next(holds: (message: AnyMessage) => boolean): Promise<AnyMessage>;
  answer(id: number | string): Promise<Answer>;
}

interface Answer {
  id: number | string;
  result?: Record<string, unknown>;
  error?: { code: number; message: string };
}

/** A folder without a repository. */
const ports = {
  version: "test",
  beginning: null,
  mode: null,
  repositoryOf: async () => null,
  headOf: async () => null,
  surroundingsOf: async () => ({}),
  workingCopy: () => null,
};
const keys = { loginArgs: [], forget: () => undefined };

async function served(t: TestContext, options: AcpTestOptions & { graceMs?: number } = {}): Promise<Served> {
  const world = await acpTest(t, options);
  const opened = await world.open();
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const stop = new AbortController();
  const messages: AnyMessage[] = [];
  const waiting: (() => void)[] = [];
  const wire = new WireCheck();
  const faults: string[] = [];
  const closings: { graceMs: number }[] = [];
  const see = (message: unknown, by: "agent" | "client"): void => {
    const fault = wire.see(message, by);
    if (fault !== null && by === "agent") faults.push(fault);
  };
  const read = text(
    stdout.on("data", (chunk: Buffer) => {
      for (const line of chunk.toString().trimEnd().split("\n")) {
        const message = JSON.parse(line) as AnyMessage;
        messages.push(message);
        see(message, "agent");
      }
      for (const wake of waiting.splice(0)) wake();
    }),
  );
  const serving = serveStdio({
    ports,
    keys,
    open: async () => ({
      ...opened,
      graceMs: options.graceMs ?? 10_000,
      close: (closing) => {
        closings.push(closing);
        return opened.engine.close(closing);
      },
    }),
    ...{ stdin, stdout, stderr },
    stop: stop.signal,
  });
  const next = async (holds: (message: AnyMessage) => boolean): Promise<AnyMessage> => {
    for (;;) {
      const found = messages.find(holds);
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => waiting.push(resolve));
    }
  };
  const ended = serving.then(async () => {
    stdout.end();
    const all = await read;
    assert.deepEqual(faults, []);
    return all === "" ? [] : all.trimEnd().split("\n");
  });
  t.after(async () => {
    stop.abort();
    await ended;
  });
  return {
    world,
    stdin,
    stderr,
    stop,
    closings,
    ended,
    asks: (message) => see({ jsonrpc: "2.0", ...message }, "client"),
    send: (message) => {
      const whole = { jsonrpc: "2.0", ...message };
      see(whole, "client");
      stdin.write(`${JSON.stringify(whole)}\n`);
    },
    next,
    answer: async (id) =>
      (await next((message) => "id" in message && message.id === id && !("method" in message))) as Answer,
  };
}

const initialize = { id: 1, method: "initialize", params: { protocolVersion: 1 } };

async function begun(t: TestContext, options: AcpTestOptions & { graceMs?: number } = {}) {
  const made = await served(t, options);
  made.send(initialize);
  await made.answer(1);
  made.send({ id: 2, method: "session/new", params: { cwd: made.world.project, mcpServers: [] } });
  const { result } = await made.answer(2);
  const sessionId = String(result?.["sessionId"]);
  const prompt = (id: number, words: string): void => {
    made.send({ id, method: "session/prompt", params: { sessionId, prompt: [{ type: "text", text: words }] } });
  };
  return { ...made, sessionId, prompt };
}

test("[P1] TRANSPORT-001 TRANSPORT-002 JSONRPC-001 JSONRPC-002 JSONRPC-003 every line is one valid message, in UTF-8, and answers what was asked", async (t) => {
  const { send, answer, prompt, stdin, ended } = await begun(t, { script: () => "größer ✓ \u2028 ok" });
  prompt(3, "naïve?");
  assert.equal((await answer(3)).result?.["stopReason"], "end_turn");
  for (const id of ["a-1", 77, 0]) {
    send({ id, method: "session/list", params: {} });
    assert.equal((await answer(id)).id, id);
  }
  send({ method: "session/cancel", params: { sessionId: "none" } });
  send({ method: "_no/such", params: {} });
  stdin.end();
  const messages = (await ended).map((line) => JSON.parse(line) as Record<string, unknown>);
  for (const message of messages) {
    assert.equal(message["jsonrpc"], "2.0");
    if (!("method" in message)) assert.notEqual("result" in message, "error" in message);
  }
  const updates = messages
    .filter(({ method }) => method === "session/update")
    .map((message) => JSON.stringify(message));
  assert.match(updates.join(""), /größer/);
  assert.equal(messages.filter(({ id }) => id !== undefined).length, 6);
});

test("[P1] a line that is no message is answered with an error, and the connection continues", async (t) => {
  const { stdin, send, answer, next, asks } = await served(t);
  const cases: [line: string | Buffer, code: number, id: unknown][] = [
    ["{not json", -32700, null],
    [Buffer.from([0x22, 0xff, 0xfe, 0x22]), -32700, null],
    ['[{"jsonrpc":"2.0","id":1,"method":"initialize"}]', -32600, null],
    ["7", -32600, null],
    ["null", -32600, null],
    ["{}", -32600, null],
    ['{"jsonrpc":"1.0","id":5,"method":"initialize"}', -32600, 5],
    ['{"id":"6","method":"initialize"}', -32600, "6"],
    ['{"jsonrpc":"2.0","id":7,"method":{}}', -32600, 7],
    ['{"jsonrpc":"2.0","id":{},"method":"initialize"}', -32600, null],
    ['{"jsonrpc":"2.0","id":1e999,"method":"initialize"}', -32600, null],
    ['{"method":"session/cancel"}', -32600, null],
  ];
  const errors: { id: unknown; error: { code: number } }[] = [];
  for (const [line, code, id] of cases) {
    if (id !== null) asks({ id, method: "_none" });
    stdin.write(line);
    stdin.write("\r\n\n");
    errors.push((await next((message) => "error" in message && !errors.some((one) => one === message))) as never);
    const last = errors.at(-1);
    assert.deepEqual([last?.id, last?.error.code], [id, code], String(line));
  }
  send(initialize);
  assert.equal((await answer(1)).result?.["protocolVersion"], 1);
});

test("[P1] a message of too many values or levels is refused by its id before it is parsed; its texts may contain any character", async (t) => {
  const { stdin, send, answer, asks } = await served(t);
  send(initialize);
  await answer(1);
  const { acpMessageValuesMax: values, jsonDepthMax: depth } = limits;
  const list = (of: string): string => `[${of}]`;
  const texts = (sign: string): string => JSON.stringify(sign.repeat(values));
  const cases: [params: string, fault: RegExp | null][] = [
    ["[".repeat(5_000_000), /nested deeper than 100 levels/],
    ['{"a":'.repeat(depth), /nested deeper than 100 levels/],
    [list("[],".repeat(values)), /more than 100000 values/],
    [list("1,".repeat(values)), /more than 100000 values/],
    [`{"cursor":null,"_meta":{"a":${list(`${texts("[")},${texts("{")},${texts("\\")},${texts('",')}`)}}}`, null],
    [`{"_meta":{"a":${"[".repeat(depth - 3)}${"]".repeat(depth - 3)}}}`, null],
  ];
  for (const [n, [params, fault]] of cases.entries()) {
    const id = `deep-${n}`;
    asks({ id, method: "session/list", params: {} });
    stdin.write(`{"jsonrpc":"2.0","id":"${id}","method":"session/list","params":${params}}\n`);
    const { error } = await answer(id);
    if (fault === null) assert.equal(error, undefined);
    else assert.match(String(error?.message), fault);
  }
});

test("[P1] a message over the limit is refused by its id if that is known, and the next one is accepted", async (t) => {
  const { stdin, answer, next, send, sessionId, asks } = await begun(t);
  const piece = Buffer.alloc(1_048_576, "x");
  const flood = async (beginning: string): Promise<void> => {
    stdin.write(beginning);
    for (let n = 0; n < 40; n += 1) {
      if (!stdin.write(piece)) await new Promise((resolve) => stdin.once("drain", resolve));
    }
    stdin.write('"}}\n');
  };
  asks({ id: "big", method: "session/prompt", params: { sessionId, prompt: [] } });
  await flood(`{"jsonrpc":"2.0","id":"big","method":"session/prompt","params":{"sessionId":"${sessionId}","x":"`);
  const { error } = await answer("big");
  assert.equal(error?.code, -32600);
  assert.match(error.message, new RegExp(`has \\d+ bytes; the limit is ${limits.acpMessageBytesMax}`));
  await flood('{"params":{"x":"');
  await next((message) => "error" in message && message.id === null);
  send({ id: 9, method: "session/list", params: {} });
  assert.ok((await answer(9)).result);
});

test("[P1] a message may arrive byte by byte, and several at once", async (t) => {
  const { stdin, answer, world, asks } = await served(t);
  asks(initialize);
  for (const byte of Buffer.from(`${JSON.stringify({ jsonrpc: "2.0", ...initialize })}\r\n`))
    stdin.write(Buffer.of(byte));
  await answer(1);
  const begin = { jsonrpc: "2.0", method: "session/new", params: { cwd: world.project, mcpServers: [] } };
  for (const id of [2, 3, 4]) asks({ ...begin, id });
  stdin.write([2, 3, 4].map((id) => JSON.stringify({ ...begin, id })).join("\n") + "\n");
  const ids = new Set();
  for (const id of [2, 3, 4]) ids.add((await answer(id)).result?.["sessionId"]);
  assert.equal(ids.size, 3);
});

test("[P1] SHUTDOWN-001 requests before the end of the input are answered; then the connection ends", async (t) => {
  const { stdin, ended, asks } = await served(t);
  asks(initialize);
  stdin.end(JSON.stringify({ jsonrpc: "2.0", ...initialize }));
  const lines = await ended;
  assert.equal(lines.length, 1);
  assert.match(lines[0] ?? "", /"protocolVersion":1/);
});

test("[P1] [R4] the connection waits for no answer to what is no request, after the end of the input", async (t) => {
  const { stdin, send, answer, asks, ended, closings } = await served(t, { graceMs: 60_000 });
  send(initialize);
  await answer(1);
  asks({ id: 4, method: "session/list" });
  const lines = [
    '{"id":4,"method":"session/list","params":{}}',
    '{"jsonrpc":"2.0","id":{"a":1},"method":"session/list","params":{}}',
    '{"jsonrpc":"2.0","id":[5],"result":{}}',
    '{"jsonrpc":"2.0","result":{}}',
  ];
  stdin.end(`${lines.join("\n")}\n`);
  const answers = (await ended).slice(1).map((line) => JSON.parse(line) as Answer);
  assert.deepEqual(
    answers.map(({ id, error }) => [id, error?.code]),
    [
      [4, -32600],
      [null, -32600],
    ],
  );
  const [{ graceMs } = { graceMs: 0 }] = closings;
  assert.ok(graceMs > 0, "it waited for all of the grace time");
});

test("[P1] [R4] requests of the same id before the end of the input are each answered", async (t) => {
  const { stdin, ended, prompt } = await begun(t, { script: () => "ok" });
  prompt(3, "one");
  prompt(3, "two");
  stdin.end();
  const answers = (await ended).map((line) => JSON.parse(line) as Answer).filter(({ id }) => id === 3);
  assert.deepEqual(
    answers.map(({ result }) => result?.["stopReason"]),
    ["end_turn", "end_turn"],
  );
});

test("[R4] [P1] a turn that runs when the input ends finishes within the grace time, and is answered", async (t) => {
  const held = Promise.withResolvers<void>();
  const { stdin, ended, prompt, next } = await begun(t, { script: () => [{ says: ["one ", held.promise, "two"] }] });
  prompt(3, "go");
  await next((message) => JSON.stringify(message).includes("one "));
  stdin.end();
  held.resolve();
  const lines = await ended;
  assert.match(lines.at(-1) ?? "", /"id":3.*"stopReason":"end_turn"/);
});

test("[R4] [P1] a turn that takes longer than the grace time is stopped, and keeps its text", async (t) => {
  const { stdin, ended, prompt, next, world, sessionId } = await begun(t, {
    script: () => [{ says: ["one ", new Promise(() => {}), "two"] }],
    graceMs: 5,
  });
  prompt(3, "go");
  await next((message) => JSON.stringify(message).includes("one "));
  const { engine } = world.aptove;
  const caller = await engine.keys.owner();
  stdin.end();
  await ended;
  const { lastTurnStatus } = await engine.sessions.get(caller, sessionId);
  assert.equal(lastTurnStatus, "completed");
});

test("[P4] [V5] a user who can no longer be asked has allowed nothing: the question ends with its turn", async (t) => {
  const held = Promise.withResolvers<void>();
  const { stdin, ended, prompt, next, world, sessionId } = await begun(t, {
    script: () => [{ says: ["one ", held.promise] }, { calls: "write", with: { path: "a", content: "b" } }],
    graceMs: 500,
  });
  prompt(3, "go");
  await next((message) => JSON.stringify(message).includes("one "));
  stdin.end();
  held.resolve();
  assert.match((await ended).at(-1) ?? "", /"stopReason":"cancelled"/);
  assert.equal(existsSync(join(world.project, "a")), false);
  const { engine } = world.aptove;
  const [turn] = await engine.turns.list(await engine.keys.owner(), sessionId, {});
  assert.equal(turn?.status === "completed" && turn.stopReason, "interrupted");
});

test("[P1] [P4] a client that does not know the question for a permission is one line on standard error, without a stack", async (t) => {
  const { stdin, stderr, send, ended, prompt, next, answer } = await begun(t, {
    script: (_call, n) => (n === 1 ? [{ calls: "write", with: { path: "a", content: "b" } }] : "done"),
  });
  prompt(3, "go");
  const asked = await next((message) => "method" in message && message.method === "session/request_permission");
  send({ id: (asked as { id?: unknown }).id, error: { code: -32601, message: "Method not found" } });
  assert.equal((await answer(3)).result?.["stopReason"], "end_turn");
  stdin.end();
  await ended;
  stderr.end();
  const line = "aptove: the client could not be asked for a permission, so the call was denied: Method not found\n";
  assert.equal(await text(stderr), line);
});

test("[R4] a stop signal ends the connection and its running turns", async (t) => {
  const { stop, ended, prompt, next } = await begun(t, {
    script: () => [{ says: ["one ", new Promise(() => {}), "two"] }],
    graceMs: 5,
  });
  prompt(3, "go");
  await next((message) => JSON.stringify(message).includes("one "));
  stop.abort();
  assert.match((await ended).at(-1) ?? "", /"id":3.*"stopReason":"cancelled"/);
});

test("[P1] what other code writes to standard output goes to standard error", async () => {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const own = claimOutput(stdout, stderr);
  new Console(stdout).log("a package has something to say");
  stdout.write("and another\n");
  own.write('{"jsonrpc":"2.0"}\n');
  own.end();
  await finished(own);
  stdout.end();
  stderr.end();
  assert.equal(await text(stdout), '{"jsonrpc":"2.0"}\n');
  assert.equal(await text(stderr), "a package has something to say\nand another\n");
});

test("[P1] what a person can fix is one line on standard error, without a stack", async () => {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const open = (): Promise<never> =>
    Promise.reject(new AptoveError("config_invalid", "config.toml: there is no key x"));
  const serving = serveStdio({ ports, keys, open, stdin, stdout, stderr, stop: new AbortController().signal });
  setImmediate(() => stdin.end());
  await serving;
  stderr.end();
  assert.match(await text(stderr), /^aptove: the stores could not be opened; [^\n]*there is no key x\n$/);
});

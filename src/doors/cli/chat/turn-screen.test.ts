/** A turn as a person sees it while it runs, and what never reaches the terminal. */
import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { PassThrough, Writable } from "node:stream";
import { test, type TestContext } from "node:test";
import fc from "fast-check";
import { Lexer } from "marked";
import pc from "picocolors";
import { TestTerminal } from "../../../../testing/terminal.ts";
import type { AgUiEvent, ExecuteAnswer } from "../../../client/client.ts";
import type { ToolCallView } from "../../../domain/tool.ts";
import { ChatTerminal } from "../terminal/chat-terminal.ts";
import { InputHistory } from "../terminal/input-history.ts";
import { ToolBoard } from "../terminal/tool-board.ts";
import { TurnScreen } from "./turn-screen.ts";

interface Shown {
  turn: TurnScreen;
  board: ToolBoard;
  chat: ChatTerminal;
  terminal: TestTerminal;
  /** Everything that was written, with its escapes. */
  written(): string;
}

function shown(t: TestContext, { columns = 60, color = false } = {}): Shown {
  const terminal = new TestTerminal({ columns, rows: 20 });
  let written = "";
  const stdout = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      written += chunk.toString();
      terminal.write(chunk.toString());
      done();
    },
  });
  const style = pc.createColors(color);
  const chat = new ChatTerminal({
    io: {
      stdin: Object.assign(new PassThrough(), { isTTY: true }),
      stdout: Object.assign(stdout, { isTTY: true, ...terminal.size() }),
      stderr: new PassThrough(),
      env: {},
      cwd: "/",
      signals: new EventEmitter(),
      inputKind: () => "none",
    },
    style,
    history: new InputHistory(null),
    commands: [],
    folder: "/",
    status: () => "",
    onSubmit: () => {},
    onInterrupt: () => {},
    onEnd: () => {},
    onDetails: () => {},
  });
  const board = new ToolBoard({
    style,
    width: () => columns,
    print: (lines) => chat.printLines(lines),
    changed: () => chat.changed(),
  });
  const turn = new TurnScreen({ terminal: chat, board, style, isFollowing: false, lex: (text) => Lexer.lex(text) });
  t.after(() => {
    turn.endLine();
    chat.close();
  });
  return { turn, board, chat, terminal, written: () => written };
}

const text = (delta: string): AgUiEvent => ({ type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta });
const begin: AgUiEvent = { type: "TEXT_MESSAGE_START", messageId: "m", role: "assistant" };
const end: AgUiEvent = { type: "TEXT_MESSAGE_END", messageId: "m" };
const calls = (toolCallId: string, toolCallName: string): AgUiEvent => ({
  type: "TOOL_CALL_START",
  toolCallId,
  toolCallName,
});
const args = (toolCallId: string, delta: string): AgUiEvent => ({ type: "TOOL_CALL_ARGS", toolCallId, delta });
const says = (callId: string, delta: string): AgUiEvent => ({
  type: "CUSTOM",
  name: "aptove.tool_output",
  value: { callId, delta },
});
const viewed = (callId: string, view: Partial<ToolCallView>): AgUiEvent => ({
  type: "CUSTOM",
  name: "aptove.tool_call_view",
  value: { callId, view: { title: "", kind: "other", locations: [], content: [], permission: null, ...view } },
});
const result = (toolCallId: string, content: string, metadata: Record<string, unknown> = {}): AgUiEvent => ({
  type: "TOOL_CALL_RESULT",
  messageId: "r",
  toolCallId,
  content,
  role: "tool",
  metadata,
});
const answer: ExecuteAnswer = {
  kind: "answer",
  text: "",
  sessionId: "s",
  turnId: "t",
  responseContinuationId: "t",
  sources: [],
  fileBundle: null,
  toolCalls: [],
  warnings: [],
  usage: { inputTokens: 0, outputTokens: 0, cachedTokens: 0, reasoningTokens: 0, totalTokens: 0 },
  stopReason: "stop",
  errorCode: null,
  errorMessage: null,
  errorFix: null,
};

test("[L2] the state line says that the model is silent, unless a call runs or something arrives", async (t) => {
  t.mock.timers.enable({ apis: ["Date"], now: Date.now() });
  const { turn, chat, terminal } = shown(t, { columns: 80 });
  const state = async (): Promise<string> => {
    chat.type({ as: "steering" });
    return (await terminal.text()).split("\n").find((line) => line.includes("Ctrl-C stops")) ?? "";
  };
  turn.event(begin);
  turn.event(text("One"));
  t.mock.timers.tick(14_999);
  assert.doesNotMatch(await state(), /silent/);
  t.mock.timers.tick(5_001);
  assert.match(await state(), /working 20\.0 s · the model is silent for 20\.0 s · Ctrl-C stops/);
  turn.event(text(" two"));
  assert.doesNotMatch(await state(), /silent/);
  turn.event(calls("c", "run"));
  t.mock.timers.tick(20_000);
  assert.doesNotMatch(await state(), /silent/);
});

test("[L2] text is set as it streams; a call has a line with the end of its output while it runs, and one line when it has ended", async (t) => {
  const { turn, chat, terminal } = shown(t);
  const now = async (): Promise<string> => {
    chat.type({ as: "steering" });
    return (await terminal.text()).replaceAll(/\d+ ms/g, "1 ms").replaceAll(/^[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/gm, "*");
  };
  for (const event of [begin, text("# On it\n\nI loo"), text("k at **i")]) turn.event(event);
  assert.equal(await now(), "\n# On it\n\nI look at **i\n\n* working 1 ms · Ctrl-C stops\n›");
  for (const event of [text("t**."), end, calls("c", "run"), args("c", '{"command":"make"}')]) turn.event(event);
  turn.event(viewed("c", { title: "Run make" }));
  turn.event(says("c", "1 of 4\n2 of 4\n"));
  turn.event(says("c", "3 of 4\n3.1 of 4\r4 of 4"));
  const running = ["", "# On it", "", "I look at **it**.", "", "* Run make", "  2 of 4", "  3 of 4", "  4 of 4", ""];
  assert.equal(await now(), [...running, "* working 1 ms · Ctrl-C stops", "›"].join("\n"));
  turn.event(result("c", "1\n2\n"));
  turn.event(calls("d", "edit"));
  const content = [{ type: "diff", path: "/a", oldText: "a\nb\nc\n", newText: "a\nB\nc\n" }];
  turn.event(result("d", "no such file", { isError: true, content }));
  turn.finish({ ...answer, stopReason: "length" });
  chat.type({ as: "hidden" });
  const done = ["✓ Run make · 1 ms · 2 lines", "✗ edit · 1 ms", "  no such file", "   a", "  -b", "  +B", "   c"];
  assert.equal(
    await now().then((all) => all.replace(/\n›$/, "")),
    [...running.slice(0, 5), ...done, "— length · 1 ms"].join("\n"),
  );
});

test("[L2] a picture and a word that a provider cuts between their characters are shown whole", async (t) => {
  const { turn, chat, terminal, written } = shown(t);
  const whole = "👩‍💻 ❤️ \u0645\u06cc\u200c\u062e";
  for (const event of [begin, ...[...whole].map(text), end]) turn.event(event);
  turn.finish(answer);
  chat.type({ as: "hidden" });
  await terminal.text();
  assert.ok(written().includes(whole), written());
});

test("[L2] /details unfolds what was folded, the newest first, and nothing that is not there", (t) => {
  const { turn, board } = shown(t);
  for (const name of ["one", "two"]) {
    turn.event(calls(name, name));
    turn.event(args(name, '{"a":1}'));
    turn.event(result(name, `output of ${name}\nin full`));
  }
  assert.deepEqual(board.unfolded(2)?.slice(1), ['one {"a":1}', "output of one", "in full"]);
  assert.match(board.unfolded(1)?.[0] ?? "", /^✓ two/);
  assert.equal(board.unfolded(3), null);
});

test("[L2] a plan is shown with its steps, each as far as it is", async (t) => {
  const { turn, chat, terminal } = shown(t);
  const steps = (["completed", "in_progress", "pending"] as const).map((status) => ({
    content: `is ${status}`,
    status,
  }));
  turn.event(calls("c", "plan"));
  turn.event(viewed("c", { title: "Plan: 1 of 3 done", content: [{ type: "plan", steps }] }));
  turn.event(result("c", "Plan: 1 of 3 done"));
  chat.type({ as: "hidden" });
  assert.match(
    await terminal.text(),
    /✓ Plan: 1 of 3 done · \d+ ms\n {2}✓ is completed\n {2}› is in_progress\n {2}· is pending/,
  );
});

test("[L2] a change of many lines is bounded where it is folded", async (t) => {
  const { turn, board, chat, terminal } = shown(t);
  const newText = Array.from({ length: 100 }, (_, at) => `line ${at}\n`).join("");
  turn.event(calls("c", "write"));
  turn.event(result("c", "ok", { content: [{ type: "diff", path: "/a", oldText: null, newText }] }));
  chat.type({ as: "hidden" });
  assert.match(await terminal.text(), /\+line 11\n {2}… 88 more lines; \/details shows them/);
  assert.ok((board.unfolded(1) ?? []).includes("  +line 99"));
});

/** What our own painting may write: styles, moves, erasing, the cursor, pasting and frames. */
const ours = /\u001b\[(?:\?(?:25|2004|2026)[hl]|\d*[ABGHJ]|[\d;]*m)/g;

test("[L2] [E8] nothing that a model, a tool or a server says has power over the terminal", async (t) => {
  const part = fc.constantFrom(
    "a",
    " ",
    "\n",
    "\r",
    "\t",
    "\u001b[31m",
    "\u001b]0;title\u0007",
    "\u001b[2J",
    "\u009b1m",
    "\u0000",
    "\u202e",
    "`",
    "**",
    "```\n",
    "- ",
    "\u001b",
  );
  const evil = fc.array(part, { maxLength: 12 }).map((parts) => parts.join(""));
  const property = fc.asyncProperty(fc.array(evil, { minLength: 8, maxLength: 8 }), async (words) => {
    const { turn, board, chat, written } = shown(t, { columns: 30, color: true });
    const [one = "", two = "", three = "", four = "", five = "", six = "", seven = "", eight = ""] = words;
    for (const event of [begin, text(one), text(two), end, calls("c", three), args("c", four)]) turn.event(event);
    turn.event(
      viewed("c", {
        title: five,
        content: [
          { type: "text", text: six },
          { type: "diff", path: one, oldText: two, newText: three },
        ],
      }),
    );
    turn.event(says("c", seven));
    chat.type({ as: "steering" });
    chat.printLines(board.asked("c", three, four));
    turn.event(result("c", eight, { isError: one.length % 2 === 0 }));
    turn.event({ type: "CUSTOM", name: "aptove.warning", value: { code: "chain_rebuilt", message: one } });
    turn.event({ type: "CUSTOM", name: "aptove.steered", value: { text: two } });
    turn.finish(answer);
    chat.printLines(board.unfolded(1) ?? []);
    chat.close();
    const left = written()
      .replaceAll(ours, "")
      .replaceAll(/\r\n|\r|\t/g, "");
    assert.doesNotMatch(left, /[\p{Cc}\u202a-\u202e\u2066-\u2069]/u);
  });
  await fc.assert(property, { numRuns: 60 });
});

test("[L2] on a terminal of any width every printed line is there once", async (t) => {
  const words = fc.array(fc.constantFrom("word", "**bold**", "漢字", "`code`", "longer-than-some-terminals"), {
    minLength: 1,
    maxLength: 40,
  });
  const property = fc.asyncProperty(words, fc.integer({ min: 10, max: 50 }), async (printed, columns) => {
    const { turn, chat, terminal } = shown(t, { columns });
    turn.event(begin);
    for (const [at, word] of printed.entries()) {
      turn.event(text(at % 7 === 6 ? `${word}\n\n` : `${word} `));
      if (at % 5 === 0) chat.type({ as: "steering" });
    }
    turn.event(end);
    turn.finish(answer);
    chat.close();
    const bare = (all: string): string => all.replaceAll(/\s/g, "");
    assert.equal(bare(await terminal.text()), bare(printed.join("")));
  });
  await fc.assert(property, { numRuns: 60 });
});

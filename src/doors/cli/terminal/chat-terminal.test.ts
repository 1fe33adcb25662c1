/** A person at the terminal of a chat: what keys do to the line, and what is seen of it. */
import assert from "node:assert/strict";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough, Writable } from "node:stream";
import { test, type TestContext } from "node:test";
import { EventEmitter } from "node:events";
import fc from "fast-check";
import pc from "picocolors";
import { temporaryFolder } from "../../../../testing/temporary-folder.ts";
import { TestTerminal } from "../../../../testing/terminal.ts";
import type { CliIo } from "../ports.ts";
import { ChatTerminal } from "./chat-terminal.ts";
import { InputHistory } from "./input-history.ts";

interface Desk {
  chat: ChatTerminal;
  terminal: TestTerminal;
  /** Keys as the terminal sends them. */
  keys(text: string): void;
  submitted: string[];
  happened: string[];
}

interface DeskOptions {
  columns?: number;
  history?: InputHistory;
  folder?: string;
  now?: () => number;
}

function desk(t: TestContext, more: DeskOptions = {}): Desk {
  const terminal = new TestTerminal({ columns: more.columns ?? 40, rows: 12 });
  const input = new PassThrough();
  const stdout = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      terminal.write(chunk.toString());
      done();
    },
  });
  const io: CliIo = {
    stdin: Object.assign(input, { isTTY: true }),
    stdout: Object.assign(stdout, { isTTY: true, ...terminal.size() }),
    stderr: new PassThrough(),
    env: {},
    cwd: "/",
    signals: new EventEmitter(),
    inputKind: () => "none",
  };
  const submitted: string[] = [];
  const happened: string[] = [];
  const chat = new ChatTerminal({
    io,
    style: pc.createColors(false),
    history: more.history ?? new InputHistory(null),
    commands: ["/details", "/diff", "/help"],
    folder: more.folder ?? "/nowhere",
    choices: (command) => (command === "/model" ? ["anthropic/claude", "gpt"] : []),
    status: () => "the state",
    onSubmit: (text) => void submitted.push(text),
    onInterrupt: () => void happened.push("interrupt"),
    onEnd: () => void happened.push("end"),
    onDetails: () => void happened.push("details"),
    ...(more.now !== undefined && { now: more.now }),
  });
  t.after(() => chat.close());
  chat.type({ as: "prompt" });
  return { chat, terminal, keys: (text) => void input.emit("data", Buffer.from(text)), submitted, happened };
}

const keyOf = {
  left: "\u001b[D",
  right: "\u001b[C",
  up: "\u001b[A",
  down: "\u001b[B",
  home: "\u001b[H",
  end: "\u001b[F",
  delete: "\u001b[3~",
  wordLeft: "\u001b[1;5D",
  wordRight: "\u001bf",
  backspace: "\u007f",
  enter: "\r",
  altEnter: "\u001b\r",
  ctrl: (letter: string): string => String.fromCharCode(letter.charCodeAt(0) - 96),
};

test("[L2] the line is edited as in a shell", (t) => {
  const { left, home, end, delete: del, wordLeft, wordRight, backspace, ctrl } = keyOf;
  const cases: [keys: string, text: string][] = [
    [`helo${left}l`, "hello"],
    [`xab${home}${del}${end}c`, "abc"],
    [`ab👍🏽${backspace}c`, "abc"],
    [`e\u0301x${left}${backspace}`, "x"],
    [`one two three${wordLeft}${wordLeft}X${wordRight}Y`, "one XtwoY three"],
    [`one two${ctrl("w")}${ctrl("a")}${ctrl("y")}`, "twoone "],
    [`one two${ctrl("u")}x`, "x"],
    [`one two${ctrl("b")}${ctrl("b")}${ctrl("k")}`, "one t"],
    [`a${ctrl("b")}${ctrl("d")}b`, "b"],
    ["tab\tno", "tabno"],
  ];
  for (const [keys, text] of cases) {
    const { keys: press, submitted } = desk(t);
    press(`${keys}\r`);
    assert.deepEqual(submitted, [text], JSON.stringify(keys));
  }
});

test("[L2] several lines: Alt-Enter, a backslash at the end, Ctrl-J, and a block that is pasted", async (t) => {
  const { keys, submitted, terminal } = desk(t);
  keys(`one${keyOf.altEnter}two\\\rthree\nfour`);
  assert.deepEqual(submitted, []);
  assert.deepEqual((await terminal.lines()).slice(-4), ["› one", "  two", "  three", "  four"]);
  keys(`${keyOf.up}${keyOf.up}${keyOf.end}!\r`);
  assert.deepEqual(submitted, ["one\ntwo!\nthree\nfour"]);
  keys("see \u001b[200~a\r\nb\rc\u001b[31m\t\u001b[201~\r");
  assert.deepEqual(submitted.slice(1), ["see a\nb\nc\u001b[31m\t"]);
  assert.ok((await terminal.text()).includes("c␛[31m"));
});

test("[L2] Ctrl-C clears the typed line or interrupts; Ctrl-D leaves only from an empty line; Ctrl-O shows details", (t) => {
  const { keys, submitted, happened } = desk(t);
  keys(`typed${keyOf.ctrl("c")}`);
  assert.deepEqual(happened, []);
  keys(`${keyOf.ctrl("c")}x${keyOf.ctrl("d")}${keyOf.backspace}${keyOf.ctrl("o")}${keyOf.ctrl("d")}`);
  assert.deepEqual(happened, ["interrupt", "details", "end"]);
  keys("\r");
  assert.deepEqual(submitted, [""]);
});

test("[L2] a question sets the line aside that is being typed, and its answer is not an earlier line", async (t) => {
  const { chat, keys, submitted, terminal } = desk(t);
  chat.type({ as: "steering" });
  keys("half a li");
  chat.type({ as: "answer", question: "allow? " });
  keys("no\r");
  chat.type({ as: "prompt" });
  assert.equal((await terminal.lines()).at(-1), "› half a li");
  keys(`ne\r${keyOf.up}\r`);
  assert.deepEqual(submitted, ["no", "half a line", "half a line"]);
});

test("[L2] [P4] one key answers a question, unless the person was typing or has not read it yet", async (t) => {
  let time = 1_000;
  const { chat, keys, submitted, terminal } = desk(t, { now: () => time });
  const asks = (): void => chat.type({ as: "answer", question: "allow? ", keys: "yn" });
  const inputRead = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
  asks();
  keys("\r");
  keys("y");
  await inputRead();
  assert.deepEqual(submitted, []);
  keys(`${keyOf.backspace}`);
  time += 1_000;
  keys("y");
  await inputRead();
  assert.deepEqual(submitted, ["y"]);
  assert.equal((await terminal.lines()).at(-2), "allow? y");
  chat.type({ as: "steering" });
  keys("half a li");
  asks();
  time += 1_000;
  keys("n");
  await inputRead();
  assert.deepEqual(submitted, ["y"], "a person who was typing has to press Enter");
  keys("\r");
  chat.type({ as: "prompt" });
  keys("\r");
  asks();
  time += 1_000;
  keys("no, use b\r");
  keys("x");
  keys("y\r");
  await inputRead();
  assert.deepEqual(submitted, ["y", "n", "half a li", "no, use b", "xy"]);
});

test("[L2] printed lines stay on the screen once, with the status and the typed line below them", async (t) => {
  const { chat, keys, terminal } = desk(t);
  keys("hello\r");
  chat.print("an answer\nof two ");
  chat.print("lines\n");
  chat.type({ as: "prompt" });
  assert.deepEqual(await terminal.lines(), ["", "› hello", "an answer", "of two lines", "", "the state", "›"]);
  keys("漢字 and so on until it is longer than a row");
  const rows = await terminal.lines();
  assert.deepEqual(rows.slice(-2), ["› 漢字 and so on until it is longer tha", "  n a row"]);
  assert.deepEqual(await terminal.cursor(), { row: rows.length - 1, column: 9 });
  chat.close();
  assert.deepEqual(await terminal.lines(), ["", "› hello", "an answer", "of two lines"]);
});

test("[L2] the cursor is after the text before it, for any text and any width", async (t) => {
  const key = fc.constantFrom(
    "a",
    "bc ",
    "漢",
    "é",
    "\u001b\r",
    ...["left", "up", "home", "backspace", "down"].map((name) => keyOf[name as "left"]),
  );
  const property = fc.asyncProperty(
    fc.array(key, { maxLength: 30 }),
    fc.integer({ min: 10, max: 30 }),
    async (typed, columns) => {
      const { keys, terminal, chat } = desk(t, { columns });
      // A mark is typed in the end: wherever the text puts it, the cursor must be right behind.
      keys(`${typed.join("")}§`);
      assert.equal(await terminal.beforeCursor(), "§", await terminal.text());
      chat.close();
    },
  );
  await fc.assert(property, { numRuns: 100 });
});

test("[L2] earlier lines come back by the arrows and by Ctrl-R, over chats, from a file for its owner alone", async (t) => {
  const file = join(await temporaryFolder(t), "chat-history");
  const first = desk(t, { history: new InputHistory(file) });
  first.keys("alpha one\r a secret\rbeta\nof two lines\rbeta\nof two lines\r");
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.doesNotMatch(readFileSync(file, "utf8"), /secret/);
  const { keys, submitted, terminal } = desk(t, { history: new InputHistory(file) });
  keys(`draft${keyOf.up}${keyOf.home}`);
  assert.deepEqual((await terminal.lines()).slice(-2), ["› beta", "  of two lines"]);
  keys(`${keyOf.up}${keyOf.up}${keyOf.up}${keyOf.down}${keyOf.down}${keyOf.down}${keyOf.down}\r`);
  assert.deepEqual(submitted, ["draft"]);
  keys(`${keyOf.ctrl("r")}alp`);
  assert.equal((await terminal.lines()).at(-1), "search `alp`: alpha one");
  keys("\r");
  keys(`${keyOf.ctrl("r")}a${keyOf.ctrl("r")}${keyOf.ctrl("r")}${keyOf.end}!\r`);
  assert.deepEqual(submitted.slice(1), ["alpha one", "beta\nof two lines!"]);
});

test("[L2] the file of earlier lines stays bounded, and a damaged line costs no other", async (t) => {
  const file = join(await temporaryFolder(t), "chat-history");
  const lines = Array.from({ length: 2_500 }, (_, at) => JSON.stringify(`line ${at}`));
  writeFileSync(file, `${lines.join("\n")}\n"half a li\n`);
  const history = new InputHistory(file);
  assert.equal(history.step("older", ""), "line 2499");
  assert.equal(readFileSync(file, "utf8").trimEnd().split("\n").length, 1_000);
  history.add("x".repeat(10_000));
  assert.ok(statSync(file).size < 20_000);
  // Where it cannot be written, a chat goes on without.
  new InputHistory(join(file, "not a folder")).add("kept nowhere");
});

test("[L2] Tab completes commands, and paths after @", async (t) => {
  const folder = await temporaryFolder(t);
  for (const name of ["alpha.ts", "alpine.md", "with blank.md", ".hidden"]) writeFileSync(join(folder, name), "");
  const cases: [keys: string, text: string][] = [
    ["/he\t", "/help "],
    ["/d\te\t", "/details "],
    ["see @al\ti\tok", "see @alpine.md ok"],
    ["@w\tok", '@"with blank.md" ok'],
    ['@"w\tok', '@"with blank.md" ok'],
    ["@.h\t", "@.hidden "],
    ["mail@al\t", "mail@al"],
    ["@zzz\t", "@zzz"],
    ["/model an\t", "/model anthropic/claude "],
    ["/model z\t", "/model z"],
  ];
  for (const [typed, text] of cases) {
    const { keys, submitted } = desk(t, { folder });
    keys(`${typed}\r`);
    assert.deepEqual(submitted, [text], typed);
  }
  const { keys, terminal } = desk(t, { folder });
  keys("@\t");
  assert.equal((await terminal.lines()).at(-1), 'alpha.ts  alpine.md  "with blank.md');
});

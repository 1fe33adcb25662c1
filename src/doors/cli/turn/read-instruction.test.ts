import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { PassThrough, Writable } from "node:stream";
import { test } from "node:test";
import { readInstruction } from "./read-instruction.ts";
import { CliOutput } from "../output.ts";
import type { CliIo } from "../ports.ts";

function surroundings(kind: ReturnType<CliIo["inputKind"]>): {
  io: CliIo;
  stdin: PassThrough;
  output: CliOutput;
  notes: string[];
} {
  const stdin = new PassThrough();
  const notes: string[] = [];
  const write = (chunk: Buffer, _encoding: unknown, done: () => void): void => {
    notes.push(chunk.toString());
    done();
  };
  const io: CliIo = {
    stdin,
    stdout: new Writable({ write }),
    stderr: new Writable({ write }),
    env: {},
    cwd: "/",
    signals: new EventEmitter(),
    inputKind: () => kind,
  };
  return { io, stdin, notes, output: new CliOutput(io, { color: false }) };
}

test("[L1] a program's pipe that stays silent is left out after a second, with a warning", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { io, output, notes } = surroundings("socket");
  const reading = readInstruction(io, ["ask this"], output);
  t.mock.timers.tick(1_000);
  assert.equal(await reading, "ask this");
  assert.match(notes.join(""), /standard input is open but empty.*give the argument -/);
});

test("[L1] a program's pipe that is written to, or ended, is read to its end", async () => {
  const written = surroundings("socket");
  const reading = readInstruction(written.io, ["ask this"], written.output);
  written.stdin.write("one ");
  written.stdin.end("two\n");
  assert.equal(await reading, "ask this\n\none two");
  const ended = surroundings("socket");
  ended.stdin.end();
  assert.equal(await readInstruction(ended.io, ["ask this"], ended.output), "ask this");
  assert.deepEqual([...written.notes, ...ended.notes], []);
});

test("[L1] standard input that was requested is waited for without a limit", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  for (const words of [["-"], [], ["ask this", "-"]]) {
    const { io, stdin, output } = surroundings("socket");
    const reading = readInstruction(io, words, output);
    t.mock.timers.tick(3_600_000);
    stdin.end("late");
    assert.match(await reading, /late$/);
  }
});

test("[L1] a shell's pipe that stays silent is waited for, and after a second the screen says so", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { io, stdin, output, notes } = surroundings("file");
  const reading = readInstruction(io, ["ask this"], output);
  assert.deepEqual(notes, []);
  t.mock.timers.tick(1_000);
  assert.match(notes.join(""), /^waiting for the end of standard input.*<\/dev\/null\n$/);
  stdin.end("late");
  assert.equal(await reading, "ask this\n\nlate");
});

test("[L1] standard input that is not text is wrong use", async () => {
  const { io, stdin, output } = surroundings("file");
  stdin.end(Uint8Array.of(0xff, 0xfe));
  await assert.rejects(readInstruction(io, [], output), /standard input is not UTF-8 text/);
});

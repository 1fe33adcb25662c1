import assert from "node:assert/strict";
import { Writable } from "node:stream";
import { test } from "node:test";
import fc from "fast-check";
import { anyCharacter } from "../../../testing/any-character.ts";
import { CliOutput, dollars, duration, firstLine, neutralize } from "./output.ts";
import type { CliIo } from "./ports.ts";

test("[L1] neutralised text holds no control character but line feed and tab, and loses no other", () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter }), (text) => {
      const safe = neutralize(text);
      assert.doesNotMatch(safe, /[^\P{Cc}\n\t]/u);
      const plain = (each: string): string =>
        each.replaceAll(/[\p{Cc}\u202a-\u202e\u2066-\u2069\u2400-\u241f\ufffd]/gu, "");
      assert.equal(plain(safe), plain(text));
    }),
  );
});

test("[L1] JSON on a terminal has no control character, and is the same value; a pipe gets it unchanged", () => {
  const value = { "a\u009b2J": ["b\u007f", "c\u202e\u2028", "d\u001b", "line\n"] };
  const printed = (isTTY: boolean): string => {
    let text = "";
    const stream = Object.assign(new Writable({ write: (chunk, _encoding, done) => ((text += chunk), done()) }), {
      isTTY,
    });
    const io = { stdin: process.stdin, stdout: stream, stderr: stream, env: {}, cwd: "/" } as unknown as CliIo;
    const output = new CliOutput(io, { color: false });
    output.json(value);
    output.jsonLine(value);
    return text;
  };
  const shown = printed(true);
  assert.doesNotMatch(shown, /(?!\n)[\p{Cc}\u2028\u202e]/u);
  const lines = shown.trimEnd().split("\n");
  assert.deepEqual(JSON.parse(lines.pop() ?? ""), value);
  assert.deepEqual(JSON.parse(lines.join("\n")), value);
  const plain = JSON.stringify(value);
  assert.equal(printed(false), `${plain}\n${plain}\n`);
});

test("[L1] a line is cut by characters, never inside one", () => {
  assert.equal(firstLine("\n  \n first \r\nsecond", 20), "first");
  assert.equal(firstLine("👍👍👍👍", 3), "👍👍…");
  assert.equal(firstLine("", 3), "");
});

test("[L1] durations are printed in a suitable unit", () => {
  assert.deepEqual([duration(12.4), duration(1_250), duration(125_000)], ["12 ms", "1.3 s", "2 min 5 s"]);
});

test("[L1] an amount of money has four digits after the point", () => {
  assert.deepEqual([0.012_34, 1, 0.1 + 0.2].map(dollars), ["$0.0123", "$1.0000", "$0.3000"]);
});

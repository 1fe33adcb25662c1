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
      assert.doesNotMatch(safe, /[^\P{Cc}\n\t]|[\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/u);
      const plain = (each: string): string =>
        each
          .replaceAll(/[\p{Cc}\p{Default_Ignorable_Code_Point}\u061c\u2028\u2029\ufff9-\ufffb\u2400-\u241f]/gu, "")
          .replaceAll(/\\u(?:[0-9a-f]{4}|\{[0-9a-f]+\})/g, "");
      assert.equal(plain(safe), plain(text));
    }),
  );
});

test("[L1] invisible characters are shown as codes, except those that a script or a picture needs", () => {
  const hidden: [text: string, shown: string][] = [
    ["a\u202egnp.exe", "a\\u202egnp.exe"],
    ["a\u2066b\u2069", "a\\u2066b\\u2069"],
    ["pass\u200bword\u200d\u200c", "pass\\u200bword\\u200d\\u200c"],
    ["\ufeffx\u2060\u00ad", "\\ufeffx\\u2060\\u00ad"],
    ["a\u{e0041}\u{e0042}", "a\\u{e0041}\\u{e0042}"],
    ["ab\ufe0f\u{e0100}", "ab\\ufe0f\\u{e0100}"],
    ["\u001b[31m\u009b\u007f\r", "\u241b[31m\\u009b\\u007f\u240d"],
  ];
  for (const [text, shown] of hidden) assert.equal(neutralize(text), shown);
  const needed = [
    "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
    "\u05e9\u05dc\u05d5\u05dd",
    "👩‍💻 👨‍👩‍👧 🏳️‍🌈 ❤️ 1️⃣ 👍🏽‍",
    "🏴󠁧󠁢󠁥󠁮󠁧󠁿",
    "क्‍ष",
    "葛\u{e0100}",
  ];
  for (const text of needed) assert.equal(neutralize(text), text);
});

interface Printed {
  stdout: string;
  stderr: string;
}

function printed(isTTY: boolean, show: (output: CliOutput) => void, color = false): Printed {
  const all: Printed = { stdout: "", stderr: "" };
  const stream = (name: keyof Printed) =>
    Object.assign(new Writable({ write: (chunk, _encoding, done) => ((all[name] += chunk), done()) }), { isTTY });
  const io = { stdin: process.stdin, stdout: stream("stdout"), stderr: stream("stderr"), env: {}, cwd: "/" };
  show(new CliOutput(io as unknown as CliIo, { color }));
  return all;
}

test("[L1] no line for people has a character that deceives, also in a pipe, whatever wrote it; an answer is exact there", () => {
  const evil = "a\u202e\u200b\u001b[2Jb";
  const shown = "a\\u202e\\u200b\u241b[2Jb";
  for (const isTTY of [false, true]) {
    const { stdout, stderr } = printed(isTTY, (output) => {
      output.line(evil);
      output.table([[evil, evil]]);
      output.note(evil);
      output.write(evil);
      output.write(Buffer.from(evil));
    });
    const exact = isTTY ? shown : evil;
    assert.equal(stdout, `${shown}\n${shown}  ${shown}\n${exact}${exact}`);
    assert.equal(stderr, `${shown}\n`);
  }
});

test("[L1] only the styles of this program reach a terminal, and only where it has styles", () => {
  const { stdout } = printed(true, (output) => output.line(`${output.style.red("red")}\u001b[8mhidden\u001b[2J`), true);
  assert.equal(stdout, "\u001b[31mred\u001b[39m\u241b[8mhidden\u241b[2J\n");
  assert.equal(printed(true, (output) => output.line("\u001b[31mred")).stdout, "\u241b[31mred\n");
});

test("[L1] JSON on a terminal has no control character, and is the same value; a pipe gets it unchanged", () => {
  const value = { "a\u009b2J": ["b\u007f", "c\u202e\u2028", "d\u001b", "line\n", "e\u200b\u{e0041}"] };
  const both = (output: CliOutput): void => {
    output.json(value);
    output.jsonLine(value);
  };
  const shown = printed(true, both).stdout;
  assert.doesNotMatch(shown, /(?!\n)[\p{Cc}\u2028\u202e\u200b\u{e0041}]/u);
  const lines = shown.trimEnd().split("\n");
  assert.deepEqual(JSON.parse(lines.pop() ?? ""), value);
  assert.deepEqual(JSON.parse(lines.join("\n")), value);
  const plain = JSON.stringify(value);
  assert.equal(printed(false, both).stdout, `${plain}\n${plain}\n`);
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

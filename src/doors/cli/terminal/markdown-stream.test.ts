import assert from "node:assert/strict";
import { test } from "node:test";
import { stripVTControlCharacters } from "node:util";
import fc from "fast-check";
import { Lexer } from "marked";
import pc from "picocolors";
import { cellsOf } from "./cells.ts";
import { documentLines } from "./markdown-lines.ts";
import { MarkdownStream } from "./markdown-stream.ts";

const coloured = pc.createColors(true);
const lex = (text: string) => Lexer.lex(text);

function stream(width = 60): MarkdownStream {
  return new MarkdownStream(lex, () => ({ style: coloured, width }));
}

function shown(pieces: readonly string[], width = 60): string[] {
  const markdown = stream(width);
  const lines: string[] = [];
  for (const piece of pieces) {
    markdown.push(piece);
    markdown.openLines();
    lines.push(...markdown.takeDone());
  }
  markdown.end();
  return [...lines, ...markdown.takeDone()];
}

function plain(lines: readonly string[]): string {
  return lines.map((line) => stripVTControlCharacters(line)).join("\n");
}

const example = `# A title

Some **bold** and _slanted_ text with \`code\`, a [link](https://a.example/b) and 1 &lt; 2.
A second line.

- one
- two, with more
  - deeper
- [x] done

1. first

2. second

> written
> by Ada

| a | b |
|---|---|
| 1 | 2 |

\`\`\`ts
const a = 1; // one

\`\`\`
after
***
end`;

const exampleShown = `# A title

Some bold and slanted text with code, a link
(https://a.example/b) and 1 < 2. A second line.

• one
• two, with more
  • deeper
• [x] done

1. first

2. second

│ written by Ada

a │ b
──┼──
1 │ 2

\`\`\`ts
const a = 1; // one

\`\`\`
after
────────────────────────────────────────
end`;

test("[L2] Markdown is shown as text that is set: headings, emphasis, lists, quotes, tables, code, links", () => {
  assert.equal(plain(shown([example])), exampleShown);
  assert.ok(shown([example]).join("\n").includes(coloured.bold("bold")));
});

const block = fc.oneof(
  fc.constantFrom(...example.split("\n\n")),
  fc.constantFrom(
    "para\nof lines",
    "- a\n- b\n\n  c\n- d",
    "9. x\n10. y",
    "    indented",
    "~~~\nx\n```\n~~~",
    "<div>\nx",
    "a\n===",
    "漢字 **漢字**漢字",
    "* * *",
    "> a\n\n> b",
    "[x]: http://a.example",
    "- ```js\n  x\n  ```\n- y",
  ),
  fc.string({ maxLength: 30 }).map((text) => text.replaceAll(/\p{Cc}/gu, "")),
);
const source = fc
  .tuple(fc.array(block, { maxLength: 8 }), fc.constantFrom("\n", "\n\n", "\n\n\n"))
  .map(([blocks, between]) => blocks.join(between));

test("[L2] the result does not depend on the pieces in which the text arrived", () => {
  fc.assert(
    fc.property(source, fc.array(fc.nat({ max: 20 })), (text, cuts) => {
      const pieces: string[] = [];
      let rest = text;
      for (const length of cuts) {
        pieces.push(rest.slice(0, length));
        rest = rest.slice(length);
      }
      assert.deepEqual(shown([...pieces, rest]), shown([text]));
    }),
  );
});

test("[L2] no word is lost, and no line but of code is wider than the terminal", () => {
  const words = fc.array(fc.constantFrom("a", "word", "**bold**", "`code`", "漢字漢字", "x".repeat(25)), {
    minLength: 1,
  });
  fc.assert(
    fc.property(
      words,
      fc.integer({ min: 10, max: 30 }),
      fc.constantFrom("", "- ", "> ", "# "),
      (parts, width, front) => {
        const lines = shown([`${front}${parts.join(" ")}\n`], width);
        for (const line of lines) assert.ok(cellsOf(line) <= width, line);
        const bare = (text: string) => text.replaceAll(/[\s*`•>│#-]/g, "");
        assert.equal(bare(plain(lines)), bare(parts.join("")));
      },
    ),
  );
});

test("[L2] the cells of a table are wrapped between words; without room for that, a row is a list", () => {
  const table = "| name | meaning | n |\n|---|---|--:|\n| `first` | some words that are long | 1 |\n| b | few | 20 |\n";
  assert.deepEqual(plain(shown([table], 60)).split("\n"), [
    "name  │ meaning                  │  n",
    "──────┼──────────────────────────┼───",
    "first │ some words that are long │  1",
    "b     │ few                      │ 20",
  ]);
  assert.deepEqual(plain(shown([table], 26)).split("\n"), [
    "name  │ meaning       │  n",
    "──────┼───────────────┼───",
    "first │ some words    │  1",
    "      │ that are long │   ",
    "b     │ few           │ 20",
  ]);
  assert.match(
    plain(shown([table], 16)),
    /^name\n {2}first\nmeaning\n {2}some words\n {2}that are long\nn\n {2}1\n\nname\n {2}b\n/,
  );
  for (let width = 10; width < 60; width++) {
    for (const line of shown([table], width)) assert.ok(cellsOf(line) <= width, `${width}: ${line}`);
  }
});

test("[L2] streamed block by block it reads as it does whole", () => {
  for (const text of [example, `${example}\n\n${example}`, "a\n\n- x\n\n\n- y\nz\n\nb"]) {
    assert.equal(plain(shown([...text])), plain(documentLines(lex(text), { style: coloured, width: 60 })));
  }
});

test("[L2] lines of code and items of lists stand as soon as they are written; the open block is shown meanwhile", () => {
  const markdown = stream();
  markdown.push("```ts\nlet a\nlet b");
  assert.equal(plain(markdown.takeDone()), "```ts\nlet a");
  assert.equal(plain(markdown.openLines()), "let b");
  markdown.push("\n```\n- one\n- two **bo");
  assert.equal(plain(markdown.takeDone()), "let b\n```");
  assert.equal(plain(markdown.openLines()), "• one\n• two **bo");
  markdown.push("ld**\n");
  assert.equal(plain(markdown.takeDone()), "• one");
  assert.equal(plain(markdown.openLines()), "• two bold");
});

test("[L2] text that is made to be hard to parse costs little, and is shown", () => {
  const hard = [
    "*a **a ",
    "[",
    "> ",
    "- ",
    "`a``",
    "![a](",
    "<a ",
    "_a__",
    "|a|\n|-|\n",
    "1. a\n\n  ",
    "\\",
    "&amp",
    "**",
  ];
  for (const part of hard) {
    const text = part.repeat(2_000);
    const lines = shown([text]);
    assert.ok(lines.length > 0, part);
  }
});

test("[L2] without colours the marks stay", () => {
  const markdown = new MarkdownStream(lex, () => ({ style: pc.createColors(false), width: 60 }));
  markdown.push("- a **b** `c`\n");
  markdown.end();
  assert.deepEqual(markdown.takeDone(), ["• a **b** `c`"]);
});

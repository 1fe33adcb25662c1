import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { languageOf } from "../../domain/language.ts";
import { limits } from "../../domain/limits.ts";
import { chunkFile, type ChunkPiece } from "./chunk-file.ts";
import type { SourceSection, LanguageSyntax } from "./section.ts";
import { loadSyntax } from "./language-syntax.ts";

async function chunk(path: string, text: string): Promise<ChunkPiece[]> {
  const language = languageOf(path);
  return chunkFile({ text, language }, await loadSyntax(language));
}

/** Asserts what must hold for every cut, whatever the text and the outline (Q1). */
function assertCovers(text: string, pieces: ChunkPiece[]): void {
  const lines = text.split("\n");
  const pieceOf = new Map<number, ChunkPiece>();
  let last = 0;
  for (const piece of pieces) {
    assert.ok(piece.startLine > last && piece.endLine >= piece.startLine && piece.endLine <= lines.length);
    assert.equal(piece.text, lines.slice(piece.startLine - 1, piece.endLine).join("\n"));
    const isOneLine = piece.startLine === piece.endLine;
    assert.ok(piece.endLine - piece.startLine < limits.chunkLinesMax);
    assert.ok(piece.text.length <= limits.chunkCharactersMax || isOneLine);
    for (let line = piece.startLine; line <= piece.endLine; line += 1) pieceOf.set(line, piece);
    last = piece.endLine;
  }
  lines.forEach((line, at) => assert.ok(line.trim() === "" || pieceOf.has(at + 1), `line ${at + 1} is in no piece`));
}

const texts = fc
  .array(
    fc.oneof(
      fc.constantFrom("", "  ", "\t", "}", "# Title", "## Deep", "```", "~~~", "\r", "// note", "  indented"),
      fc.string({ maxLength: 120 }),
      fc.nat({ max: 9_000 }).map((length) => "x".repeat(length)),
    ),
    { maxLength: 300 },
  )
  .map((lines) => lines.join("\n"));

/** Outlines as a faulty grammar might return them: overlapping, nested, empty. */
const outlines: fc.Arbitrary<(lineCount: number) => SourceSection[]> = fc
  .array(fc.record({ start: fc.nat(400), length: fc.nat(200), parts: fc.nat(5) }), { maxLength: 20 })
  .map((items) => (lineCount: number) => {
    const inside = (line: number): number => Math.min(line, lineCount);
    return items
      .toSorted((a, b) => a.start - b.start)
      .map(({ start, length, parts }, at) => {
        const [startLine, endLine] = [inside(start + 1), inside(start + 1 + length)];
        const step = Math.max(1, Math.ceil((endLine - startLine + 1) / (parts + 1)));
        const partAt = (_: unknown, index: number): SourceSection => {
          const from = Math.min(endLine, startLine + index * step);
          return { startLine: from, endLine: Math.min(endLine, from + step), symbol: `s${at}.p${index}` };
        };
        return { startLine, endLine, symbol: `s${at}`, parts: () => Array.from({ length: parts }, partAt) };
      });
  });

test("[Q1] every line that is not blank is in exactly one chunk, whose text is exactly its lines", () => {
  fc.assert(
    fc.property(texts, fc.constantFrom("plaintext", "markdown"), (text, language) => {
      assertCovers(text, chunkFile({ text, language }, null));
    }),
  );
});

test("[Q1] the same holds for any outline, however wrong", () => {
  fc.assert(
    fc.property(texts, outlines, (text, outline) => {
      const syntax: LanguageSyntax = { read: (_, use) => use(outline(text.split("\n").length)) };
      assertCovers(text, chunkFile({ text, language: "typescript" }, syntax));
    }),
  );
});

const codeLines = fc.constantFrom(
  "export function f() {",
  "class A {",
  "  m() {",
  "  }",
  "}",
  "",
  "// c",
  "/* open",
  "*/",
  "`",
  "const x = [",
  "];",
  "@d()",
  "if (a) { b(); } function g() {}",
  "def f():",
  "    pass",
  "func (t *T) M() {",
  "#[test]",
  "<?php",
  "  x: 1,",
);

for (const path of [
  "a.ts",
  "a.tsx",
  "a.js",
  "a.py",
  "a.go",
  "a.rs",
  "a.java",
  "a.cpp",
  "a.rb",
  "a.php",
  "a.cs",
  "a.sh",
  "a.ps1",
]) {
  test(`[Q1] the same holds for broken source: ${path}`, async () => {
    const language = languageOf(path);
    const syntax = await loadSyntax(language);
    assert.ok(syntax !== null);
    const sources = fc.array(codeLines, { maxLength: 400 }).map((lines) => lines.join("\n"));
    fc.assert(
      fc.property(sources, (text) => assertCovers(text, chunkFile({ text, language }, syntax))),
      { numRuns: 20 },
    );
  });
}

/** Returns a function body that is too long to be merged with a neighbour. */
const body = (indent: string): string => `${indent}step("${"x".repeat(60)}");\n`.repeat(30);

test("[Q1] code is cut at functions, and a comment or decorator above a definition belongs to it", async () => {
  const one = `/** Says what it does. */\nfunction one() {\n${body("  ")}}`;
  const two = `// First line.\n// Second line.\nexport const two = async () => {\n${body("  ")}};`;
  const three = `@sealed()\nexport class Three {\n${body("  ").replaceAll("step", "x = step")}}`;
  const pieces = await chunk("a.ts", `${one}\n${two}\n\n${three}\n`);
  assert.deepEqual(
    pieces.map(({ symbol, text }) => ({ symbol, text })),
    [
      { symbol: "one", text: one },
      { symbol: "two", text: two },
      { symbol: "Three", text: three },
    ],
  );
});

test("[Q1] a comment that is separate belongs to no definition", async () => {
  const pieces = await chunk("a.ts", `// ${"A banner. ".repeat(150)}\n\nfunction one() {\n${body("  ")}}\n`);
  assert.deepEqual(
    pieces.map(({ symbol, startLine }) => [symbol, startLine]),
    [
      [null, 1],
      ["one", 3],
    ],
  );
});

test("[Q1] a class that is too long is cut at its methods, each named with the class", async () => {
  const method = (name: string): string =>
    `  /** Doc of ${name}. */\n  ${name}() {\n${body("    ")}${body("    ")}  }\n`;
  const pieces = await chunk("a.ts", `export class Store {\n${method("open")}\n${method("close")}}\n`);
  assert.deepEqual(
    pieces.map(({ symbol }) => symbol),
    ["Store", "Store.open", "Store.close, Store"],
  );
  assert.match(pieces[1]?.text ?? "", /^ {2}\/\*\* Doc of open\. \*\/\n/);
  assert.match(pieces[2]?.text ?? "", /\}\n\}$/, "the closing brace stays with the last method");
});

test("[Q1] small neighbours are one chunk with all their names", async () => {
  const [only, ...more] = await chunk("a.ts", "type A = 1;\n\nfunction b() {}\n\nconst c = 2;\n");
  assert.deepEqual([only?.symbol, more], ["A, b, c", []]);
});

test("[Q1] a function that is too long is cut between its statements, preferably at blank lines", async () => {
  const block = `${body("  ")}\n`;
  const text = `function long() {\n${block}${block}${block}${block}}\n`;
  const pieces = await chunk("a.ts", text);
  assert.ok(pieces.length > 1);
  for (const { symbol } of pieces) assert.equal(symbol, "long");
  assertCovers(text, pieces);
  const plain = chunkFile({ text: `${`${"word ".repeat(40)}\n`.repeat(25)}\n`.repeat(4), language: "plaintext" }, null);
  assert.deepEqual(
    plain.map(({ startLine, endLine }) => [startLine, endLine]),
    [
      [1, 25],
      [27, 51],
      [53, 77],
      [79, 103],
    ],
  );
});

const definitions: Record<string, [source: string, symbols: string]> = {
  "a.ts": [
    "interface I {}\nenum E {}\nnamespace N {}\ndeclare function d(): void;\nexport default class C {}",
    "I, E, N, d, C",
  ],
  "a.js": ["exports.handler = function () {};\nfunction* g() {}\nvar v = 1;", "exports.handler, g, v"],
  "a.py": ["LIMIT = 1\n@cached\ndef f():\n    pass\nclass A:\n    pass", "LIMIT, f, A"],
  "a.go": [
    "package a\ntype Turn struct{}\nfunc (t *Turn) Run() {}\nfunc main() {}\nconst Max = 1\n",
    "Turn, Turn.Run, main, Max",
  ],
  "a.rs": ["struct S;\nimpl S { fn f() {} }\ntrait T {}\nmod m {}\nmacro_rules! r { () => {} }", "S, T, m, r"],
  "a.java": ["class A {}\ninterface I {}\nenum E { X }\nrecord R() {}", "A, I, E, R"],
  "a.cpp": [
    "namespace n {}\nclass A {};\nint *A::head(int a) { return 0; }\ntemplate <class T> T id(T a) { return a; }\n",
    "n, A, A::head, id",
  ],
  "a.c": [
    "struct s { int a; };\nstatic int f(void) { return 1; }\ntypedef int number;\n#define MAX 1\n",
    "s, f, number, MAX",
  ],
  "a.rb": ["module M\nend\nclass A\nend\ndef f\nend\nX = 1", "M, A, f, X"],
  "a.php": ["<?php\nfunction f() {}\nclass A {}\ninterface I {}\n", "f, A, I"],
  "a.cs": ["namespace N { }\nclass A { }\nstruct S { }\ninterface I { }", "N, A, S, I"],
  "a.sh": ["build() {\n  make\n}\nfunction clean {\n  rm -r out\n}", "build, clean"],
};

for (const [path, [source, symbols]] of Object.entries(definitions)) {
  test(`[Q1] the grammar of ${path} finds its definitions`, async () => {
    const [only, ...more] = await chunk(path, source);
    assert.deepEqual([only?.symbol, more], [symbols, []]);
  });
}

test("[Q1] Markdown is cut at its headings, named by those above; a heading in a code fence is ignored", async () => {
  const filler = `${"Some words of prose. ".repeat(90)}\n`;
  const text = `---\ntitle: x\n---\n# Guide\n${filler}## Install\n\`\`\`sh\n# not a heading\n\`\`\`\n${filler}# End #\n${filler}`;
  const pieces = await chunk("a.md", text);
  assert.deepEqual(
    pieces.map(({ symbol, startLine }) => [symbol, startLine]),
    [
      [null, 1],
      ["Guide", 4],
      ["Guide > Install", 6],
      ["End", 11],
    ],
  );
});

test("[Q1] a pathological file ends in time, and is cut by lines", async () => {
  const nested = `${"[\n".repeat(100_000)}${"]\n".repeat(100_000)}`;
  const minified = `x=${"f(1),".repeat(150_000)}0`;
  const crowded = `${Array.from({ length: 50_000 }, (_, at) => `function f${at}(){}`).join("")}${"\n".repeat(900)}`;
  for (const text of [nested, minified, crowded, "(".repeat(500_000), "`${".repeat(100_000)]) {
    // If the parsing limit failed, the test would time out.
    assertCovers(text, await chunk("a.ts", text));
  }
  assert.equal((await chunk("a.ts", "function after() {}"))[0]?.symbol, "after", "the parser still works");
});

test("[Q1] the parser stops at its time limit, and the text is read as without a grammar", async (context) => {
  let now = 0;
  context.mock.method(performance, "now", () => (now += limits.parseMsMax + 1));
  const text = `function one() {\n${body("  ")}}\n`.repeat(40);
  const pieces = await chunk("a.ts", text);
  assertCovers(text, pieces);
  assert.ok(pieces.every(({ symbol }) => symbol === null));
});

test("[Q1] carriage returns and byte order marks stay unchanged", async () => {
  const text = "\uFEFFfunction a() {}\r\n\r\nfunction b() {}\r\n";
  assertCovers(text, await chunk("a.ts", text));
});

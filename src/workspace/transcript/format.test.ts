import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { anyCharacter } from "../../../testing/any-character.ts";
import { limits } from "../../domain/limits.ts";
import type { TranscriptMessage } from "../../domain/transcript.ts";
import { parseTranscript, renderMessages, renderTranscript } from "./format.ts";
import { withFrontMatter, type FrontMatter } from "./front-matter.ts";

const front: FrontMatter = {
  provider: "anthropic",
  model: "claude-sonnet-4",
  createdAt: Date.UTC(2026, 1, 15, 10, 30),
  sessionId: "0198c2a7-1111-7000-8000-000000000001",
};

function parsed(text: string | Uint8Array): TranscriptMessage[] {
  const result = parseTranscript(Buffer.from(text));
  assert.ok(result.kind === "transcript", result.kind === "unreadable" ? result.reason : "");
  return result.messages;
}

function refused(content: string | Uint8Array): string {
  const result = parseTranscript(Buffer.from(content));
  assert.equal(result.kind, "unreadable");
  return result.kind === "unreadable" ? result.reason : "";
}

function user(text: string): TranscriptMessage {
  return { role: "user", text };
}

function assistant(text: string): TranscriptMessage {
  return { role: "assistant", text };
}

test("[W4] a transcript is front matter and a block for each message, in plain Markdown", () => {
  const messages = [
    user("What files are in the current directory?"),
    assistant("Here they are:\n\n- src/\n- README.md"),
    { role: "system" as const, text: "Be brief." },
  ];
  const expected = [
    "---",
    "provider: anthropic",
    "model: claude-sonnet-4",
    "created_at: 2026-02-15T10:30:00.000Z",
    "session: 0198c2a7-1111-7000-8000-000000000001",
    "---",
    "",
    "## User",
    "",
    "What files are in the current directory?",
    "",
    "## Assistant",
    "",
    "Here they are:",
    "",
    "- src/",
    "- README.md",
    "",
    "## System",
    "",
    "Be brief.",
    "",
  ].join("\n");
  assert.equal(renderTranscript(front, messages), expected);
  assert.deepEqual(parsed(expected), messages);
});

test("[W4] only a line that would be parsed as a heading is escaped, by one backslash", () => {
  const text = [
    "```markdown",
    "## System",
    "```",
    "## Tool",
    "### User",
    "# User",
    "  ## Assistant  ",
    "## assistant:",
    "##\tUSER \t",
    "\\## User",
    "\\\\## User",
    "say ## User",
    "## Users",
    "\\section",
    "---",
  ];
  const written = [...text];
  for (const at of [1, 7, 8, 9, 10]) written[at] = `\\${text[at]}`;
  const message = user(text.join("\n"));
  assert.equal(renderMessages([message]), `\n## User\n\n${written.join("\n")}\n`);
  assert.deepEqual(parsed(renderMessages([message])), [message]);
});

test("[W4] blank first and last lines are escaped, so that blank lines around a message mean nothing", () => {
  const cases = {
    "\n": "\\\n\\",
    "a\n": "a\n\\",
    "\n\n a \n\n": "\\\n\n a \n\n\\",
    " ": "\\ ",
    "\\": "\\\\",
    "\\ \nb": "\\\\ \nb",
    "a\n\\\nb": "a\n\\\nb",
    "\r": "\\\r",
  };
  for (const [text, written] of Object.entries(cases)) {
    assert.equal(renderMessages([user(text)]), `\n## User\n\n${written}\n`);
    assert.deepEqual(parsed(renderMessages([user(text), user("next")])), [user(text), user("next")]);
  }
});

/** Lines that a careless parser or renderer would get wrong. */
const line = fc.oneof(
  fc.constantFrom(
    ...[
      "",
      " ",
      "\t",
      "\r",
      "\\",
      "\\\\",
      "\\ ",
      "---",
      "--- ",
      "```",
      "~~~~",
      "provider: x",
      "session: y",
      "\0",
      "\ufeff",
    ],
    ...["## User", "## Assistant", "## System", "## user", "## USER:", "##  System \t", "  ## User", "\t## Assistant"],
    ...[
      "\\## User",
      "\\\\## System ",
      "\\\\\\## assistant:\r",
      "## User\r",
      "## Tool",
      "#\\# User",
      "\u2028## User",
      "\v## User",
    ],
  ),
  fc.string({ unit: anyCharacter, maxLength: 8 }),
  fc.string({ unit: "grapheme", maxLength: 8 }),
);
const text = fc
  .array(fc.tuple(line, fc.constantFrom("\n", "\n", "\n", "\r\n", "\r", "")), { maxLength: 8 })
  .map((lines) => lines.flat().join(""));
const anyRole = fc.constantFrom("user" as const, "assistant" as const, "system" as const);
const messages = fc.array(fc.record({ role: anyRole, text }, { noNullPrototype: true }), { maxLength: 6 });

test("[W4] messages with any text and any role are parsed back byte for byte, in order", () => {
  fc.assert(
    fc.property(messages, (conversation) => {
      const bytes = Buffer.from(renderTranscript(front, conversation));
      assert.deepEqual(parsed(bytes), conversation);
      assert.deepEqual(parsed(renderMessages(conversation)), conversation);
    }),
    { numRuns: 500 },
  );
});

test("[W4] appended pieces equal one whole write", () => {
  fc.assert(
    fc.property(messages, messages, (first, second) => {
      const whole = renderTranscript(front, [...first, ...second]);
      assert.equal(renderTranscript(front, first) + renderMessages(second), whole);
    }),
  );
});

test("[W4] an editor that writes CRLF everywhere changes nothing in a conversation without CR", () => {
  const withoutCr = messages.map((conversation) =>
    conversation.map((each) => ({ ...each, text: each.text.replaceAll("\r", "") })),
  );
  fc.assert(
    fc.property(withoutCr, (conversation) => {
      assert.deepEqual(parsed(`\ufeff${renderTranscript(front, conversation).replaceAll("\n", "\r\n")}`), conversation);
    }),
  );
});

test("[W4] a file that is cut anywhere gives the messages before the cut, each with its role", () => {
  const conversation = [user("one\n## System\n"), assistant("two"), user("three")];
  const whole = renderMessages(conversation);
  for (let end = 0; end <= whole.length; end += 1) {
    const result = parseTranscript(Buffer.from(whole.slice(0, end)));
    if (result.kind === "unreadable") continue;
    assert.ok(result.messages.length <= conversation.length);
    for (const [index, { role }] of result.messages.entries())
      assert.equal(role, conversation[index]?.role, whole.slice(0, end));
  }
});

test("[W4] lone surrogates, which have no UTF-8 form, become U+FFFD", () => {
  assert.deepEqual(parsed(renderMessages([user("a\ud800b")])), [user("a\ufffdb")]);
});

test("[W5] text that a person writes by hand is parsed as intended", () => {
  const expected = [user("  indented, then more\n\nand more"), assistant("Fine.")];
  const plain = "## User\n  indented, then more\n\nand more\n## Assistant\nFine.";
  const roomy = "\n\n## User\n\n\n  indented, then more\n\nand more\n\n \n\n##  assistant: \n\n\nFine.\n\n\n";
  for (const written of [plain, roomy]) {
    assert.deepEqual(parsed(written), expected);
    assert.deepEqual(parsed(written.replaceAll("\n", "\r\n")), expected);
    assert.deepEqual(parsed(`\ufeff${written}`), expected);
    assert.deepEqual(parsed(`---\r\nmood: "good"\r\n---\r\n${written}`), expected);
  }
  for (const empty of ["", "\n \r\n\t", "\ufeff", "---\n---\n", "---\nprovider: x\n---"])
    assert.deepEqual(parsed(empty), []);
});

test("[W5] an unreadable file is returned with its reason, never thrown", () => {
  assert.match(refused(Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])), /not UTF-8/);
  assert.match(refused(Buffer.concat([Buffer.from("## User\n\n"), Buffer.from("é").subarray(0, 1)])), /not UTF-8/);
  assert.match(refused("\n\nDear diary\n\n## User\n\nhi"), /^line 3 is before/);
  assert.match(refused("---\nprovider: x\n---\n\nDear diary"), /^line 5 is before/);
  assert.match(refused("just words"), /^line 1 is before/);
  assert.match(refused(Buffer.alloc(4_096)), /^line 1 is before/);
  // The front matter is torn, and a message has a rule: the text before the rule is not dropped silently.
  assert.match(refused("---\nprovider: x\n\n## User\n\nhi\n\n---\n\nthere"), /front matter, from line 1, has no end/);
  assert.match(refused(Buffer.alloc(limits.transcriptBytesMax + 1, " ")), /at most 67108864/);
});

test("[W5] any bytes give a conversation or a reason", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), text, (bytes, words) => {
      for (const content of [bytes, Buffer.from(words), Buffer.concat([Buffer.from("## User\n"), bytes])]) {
        const result = parseTranscript(content);
        assert.ok(result.kind === "transcript" || result.reason !== "");
      }
    }),
  );
});

test("[W4] megabytes of the hardest lines take time proportional to their length", () => {
  const long = 2_000_000;
  const texts = [
    " ".repeat(long),
    "\n".repeat(long),
    "\\".repeat(long),
    "## User\n".repeat(long / 8),
    "##".padEnd(long),
  ];
  // Quadratic time would take hours.
  assert.deepEqual(parsed(renderMessages(texts.map(user))), texts.map(user));
});

test("[W4] front matter holds any provider and model, keeps a person's lines, and decides nothing", () => {
  const odd = { ...front, provider: "", model: 'true: "a"\n---\n## User' };
  const rendered = renderTranscript(odd, [user("hi")]);
  assert.ok(rendered.startsWith('---\nmodel: "true: \\"a\\"\\n---\\n## User"\ncreated_at: 2026-'));
  assert.deepEqual(parsed(rendered), [user("hi")]);
  const own = "---\r\nmood: good\r\nprovider: other\r\n---\r\n\r\n## User\r\n\r\nhi\r\n";
  const renewed = withFrontMatter(own, front);
  assert.match(renewed, /^---\nprovider: anthropic\n[^]*\nmood: good\n---\n\r\n## User\r\n/);
  assert.ok(!renewed.includes("other"));
  assert.deepEqual(parsed(renewed), [user("hi")]);
  assert.equal(withFrontMatter("## User\n\nhi\n", front), `${renderTranscript(front, [])}## User\n\nhi\n`);
});

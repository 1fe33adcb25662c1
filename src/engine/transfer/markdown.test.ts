import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { alice, testEngine } from "../../../testing/engine.ts";
import { hasCode } from "../../../testing/refusals.ts";
import { newId } from "../../domain/ids.ts";
import { code, details, fencedText, inline, prose } from "./markdown-text.ts";

/** Text of what Markdown and HTML take for their own. */
const nasty = fc
  .array(
    fc.constantFrom(
      "`",
      "```",
      "~~~",
      "````ts",
      "\n",
      "\r\n",
      " ",
      "# Turn 9",
      "</details>",
      "<!--",
      "<b>",
      "a",
      "\\`",
      "|",
      "- x",
      "> q",
      "*",
      "&lt;",
    ),
    { maxLength: 30 },
  )
  .map((parts) => parts.join(""));

/** What is left of a page without its fenced blocks, as CommonMark reads them; and the blocks. */
function readBlocks(page: string): { outside: string[]; blocks: string[] } {
  const outside: string[] = [];
  const blocks: string[] = [];
  let open: { marks: string; lines: string[] } | null = null;
  for (const line of page.split("\n")) {
    if (open === null) {
      const marks = /^ {0,3}(`{3,}(?!.*`)|~{3,})/.exec(line)?.[1];
      if (marks === undefined) outside.push(line);
      else open = { marks, lines: [] };
    } else if (/^ {0,3}(`+|~+)\s*$/.test(line) && line.trim().startsWith(open.marks)) {
      blocks.push(open.lines.join("\n"));
      open = null;
    } else open.lines.push(line);
  }
  assert.equal(open, null, "a block is left open");
  return { outside, blocks };
}

test("a fenced text reads back as it was, whatever is in it, and ends where it ends", () => {
  const property = fc.property(nasty, nasty, (text, other) => {
    const page = `${fencedText(text, "text")}\n\n## After\n\n${fencedText(other, "json")}`;
    const { outside, blocks } = readBlocks(page);
    assert.deepEqual(
      blocks,
      [text, other].map((each) => each.replace(/\n$/, "")),
    );
    assert.deepEqual(outside, ["", "## After", ""]);
  });
  fc.assert(property);
});

test("another author's Markdown is shown as it is if it closes everything that it opens, else as a block", () => {
  const asItIs = [
    "# Title\n\n- a\n- b",
    "```ts\nconst a = `<b>`;\n```",
    "a `<b>` b",
    "2 < 3",
    "~~~\n<!--\n~~~",
    "``a ` <b>``",
  ];
  for (const text of asItIs) assert.equal(prose(text), text);
  const asBlocks = ["```ts\nopen", "~~~\n```", "<details>", "a <!-- b", "``<b>`", "\\`<b>\\`", "````\n```\n", "</div>"];
  for (const text of asBlocks) assert.ok(prose(text).startsWith("```"), text);
  const property = fc.property(nasty, (text) => {
    const { outside } = readBlocks(`${prose(text)}\n\n## After`);
    assert.equal(outside.at(-1), "## After");
  });
  fc.assert(property);
});

test("words in a line and in a summary bring no marks of their own", () => {
  assert.equal(inline("a\n# *b* <c> `d` [e](f) & |"), "a \\# \\*b\\* &lt;c&gt; \\`d\\` \\[e\\](f) &amp; \\|");
  assert.equal(code("a``b`"), "``` a``b` ```");
  assert.ok(details("</summary>", []).startsWith("<details><summary>&#60;/summary&#62;</summary>"));
  fc.assert(fc.property(nasty, (text) => assert.ok(!/[<>\n]/.test(inline(text)))));
});

test("a page tells what was asked, called, answered, given and what failed, in order, and says where the tree parts", async (t) => {
  const look = {
    definition: { name: "look", parameters: { type: "object" } },
    needsApproval: () => false,
    run: async () => ({ output: "```\nseen </details>", isError: false }),
  };
  const at = await testEngine(t, {
    tools: [look],
    script: (call, n) => {
      const asked = JSON.stringify(call.items.at(-1));
      if (asked.includes("fail")) return [{ fails: "provider_rejected" as const, message: "no <such> model" }];
      return asked.includes("look") ? [{ says: "let me see" }, { calls: "look", with: { at: "a" } }] : `answer ${n}`;
    },
  });
  const activeFiles = [{ path: "src/`a`.ts", content: Buffer.from("x"), sha256: null, isTouched: true }];
  const first = await at.ask("```\none\n# no heading", { activeFiles });
  const { sessionId } = first;
  const second = await at.ask("look", { sessionId });
  await at.ask("fail", { sessionId });
  await at.ask("", { rerun: { turnId: second.id } });
  const page = await at.engine.transfer.markdown(alice, sessionId);
  const { outside, blocks } = readBlocks(page);
  const time = "\\d{4}-\\d\\d-\\d\\dT\\S+Z";
  const headings = outside.filter((line) => line.startsWith("#"));
  const expected = [
    /^# .*$/,
    new RegExp(`^## Turn 1 · ${time} · scripted scripted-1$`),
    new RegExp(`^## Turn 2 · ${time}`),
    new RegExp(`^## Turn 3 · failed · ${time}`),
    new RegExp(`^## Turn 4 · head · ${time}`),
  ];
  assert.equal(headings.length, expected.length, headings.join("\n"));
  for (const [index, heading] of headings.entries()) assert.match(heading, expected[index] ?? /^$/);
  assert.ok(outside.includes("(continues turn 1; asks turn 2 again)"));
  assert.ok(outside.includes("<details><summary>Tool look</summary>"));
  assert.ok(outside.includes("**Failed:** `provider_rejected`: no &lt;such&gt; model"));
  assert.ok(outside.includes("- ``src/`a`.ts``"), page);
  assert.deepEqual(blocks.slice(0, 4), ["```\none\n# no heading", "look", '{"at":"a"}', "```\nseen </details>"]);
  assert.ok(page.indexOf("let me see") < page.indexOf("seen </details>"));
});

test("[H4] the page of a session that one may not see is not made", async (t) => {
  const at = await testEngine(t);
  const { sessionId } = await at.ask("one");
  await assert.rejects(at.engine.transfer.markdown({ ...alice, userId: newId() }, sessionId), hasCode("not_found"));
});

test("[T9] a call that waited and the answer to it are on the page", async (t) => {
  const at = await testEngine(t, {
    script: (call) => {
      const asked = JSON.stringify(call.items.at(-1));
      return asked.includes("ask me") ? [{ calls: "client_tool", with: {}, callId: "call_9" }] : "thanks";
    },
  });
  const tools = [{ name: "client_tool", parameters: { type: "object" } }];
  const waiting = await at.ask("ask me", { tools });
  assert.equal(waiting.status, "awaiting_tool_results");
  const toolResults = [{ callId: "call_9", output: "forty-two", isError: false }];
  await at.ask("", { sessionId: waiting.sessionId, tools, toolResults });
  const page = await at.engine.transfer.markdown(alice, waiting.sessionId);
  const { outside, blocks } = readBlocks(page);
  assert.ok(outside.some((line) => line.startsWith("## Turn 1 · awaiting tool results")));
  assert.ok(outside.includes("<details><summary>Result of call call_9</summary>"));
  assert.deepEqual(blocks, ["ask me", "{}", "forty-two"]);
});

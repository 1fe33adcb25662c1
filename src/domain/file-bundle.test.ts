import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { anyCharacter } from "../../testing/any-character.ts";
import {
  parseBundleJson,
  parseFileBundle,
  planBundle,
  type CurrentFile,
  type FileBundle,
  type FileChange,
} from "./file-bundle.ts";
import { sha256 } from "./ids.ts";

const oneFile = { path: "src/a.ts", operation: "create", content: "export {};\n" };

function fenced(value: unknown, fence = "```"): string {
  return `Here is the change.\n\n${fence}json\n${JSON.stringify(value, null, 2)}\n${fence}\nDone.`;
}

function faultOf(files: unknown, root: unknown = "."): string {
  const parsed = parseBundleJson(JSON.stringify({ root, files }));
  assert.ok("fault" in parsed, "the bundle was taken");
  return parsed.fault;
}

function disk(files: Record<string, string | Uint8Array>): { read(path: string): CurrentFile | null } {
  return {
    read: (path) => {
      const content = files[path];
      if (content === undefined) return null;
      const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
      return { content: bytes, sha256: sha256(bytes) };
    },
  };
}

function plan(file: FileChange, files: Record<string, string | Uint8Array>) {
  return planBundle({ root: ".", files: [file] }, disk(files));
}

function afterOf(file: FileChange, files: Record<string, string | Uint8Array>): string | null | undefined {
  const planned = plan(file, files);
  assert.ok("changes" in planned, JSON.stringify(planned));
  return planned.changes[0]?.after;
}

function reasonOf(file: FileChange, files: Record<string, string | Uint8Array>): string {
  const planned = plan(file, files);
  assert.ok("conflicts" in planned, "the change was planned");
  return planned.conflicts[0]?.reason ?? "";
}

test("[X7] the bundle is the answer's fenced json block with files", () => {
  const parsed = parseFileBundle(fenced({ root: ".", files: [oneFile] }));
  assert.deepEqual(parsed, { bundle: { root: ".", files: [oneFile] } });
});

test("[X7] an answer without such a block has no bundle", () => {
  assert.equal(parseFileBundle("Nothing to change."), null);
  assert.equal(parseFileBundle('```json\n{"name": "aptove", "files": ["dist"]}\n```'), null);
  assert.equal(parseFileBundle('```ts\nconst x = {"files": [{}]};\n```'), null);
});

test("[X7] fences of other lengths, other marks, no mark and no fence at all are understood", () => {
  const bundle = { root: ".", files: [oneFile] };
  const json = JSON.stringify(bundle);
  for (const answer of [fenced(bundle, "````"), fenced(bundle, "~~~"), `\`\`\`\n${json}\n\`\`\``, json]) {
    assert.deepEqual(parseFileBundle(answer), { bundle }, answer);
  }
});

test("[X7] a fence inside a longer fence does not end it", () => {
  const inner = { ...oneFile, content: "```\ncode\n```\n" };
  const answer = `\`\`\`\`markdown\n${fenced({ root: ".", files: [oneFile] })}\n\`\`\`\`\n${fenced({ files: [inner] })}`;
  assert.deepEqual(parseFileBundle(answer), { bundle: { root: ".", files: [inner] } });
});

test("[X7] a bundle that the end of the answer cuts is a fault, not an absence", () => {
  const cut = fenced({ root: ".", files: [oneFile] }).slice(0, 90);
  const parsed = parseFileBundle(cut);
  assert.match(parsed !== null && "fault" in parsed ? parsed.fault : "", /not valid JSON/);
});

test("[X7] two bundles in one answer are a fault", () => {
  const two = `${fenced({ files: [oneFile] })}\n${fenced({ files: [oneFile] })}`;
  assert.deepEqual(parseFileBundle(two), { fault: "the answer has more than one block with files" });
});

test("[X5] [X7] paths that leave the repository, or enter git's folder, are refused with their name", () => {
  const refused = ["../x", "a/../../x", "/etc/passwd", "C:\\x", "C:/x", "a\\b", "a\u0000b", "", "a//b", "./a", "a\nb"];
  for (const path of [...refused, ".git/hooks/pre-commit", "sub/.GIT/config", "a\ud800"]) {
    const fault = faultOf([{ ...oneFile, path }]);
    assert.ok(fault.startsWith(`path "${path}" `), fault);
  }
  assert.match(faultOf([oneFile], "../up"), /^root "..\/up" leaves the repository/);
  assert.match(faultOf([oneFile], ".git"), /^root ".git" is inside .git/);
});

test("[X7] each operation needs its fields and takes no others", () => {
  const base = "0".repeat(64);
  const patches = [{ find: "a", replace: "b", limit: "once" }];
  const cases: [Record<string, unknown>, RegExp][] = [
    [{ operation: "create" }, /needs content/],
    [{ operation: "create", content: "", patches }, /takes no patches/],
    [{ operation: "create", content: "", baseSha256: base }, /takes no baseSha256/],
    [{ operation: "replace", content: 1 }, /needs content/],
    [{ operation: "replace", content: "\ud800" }, /not text/],
    [{ operation: "replace", content: "a\u0000" }, /not text/],
    [{ operation: "replace", content: "", baseSha256: "xyz" }, /not a SHA-256/],
    [{ operation: "delete", content: "" }, /takes no content/],
    [{ operation: "patch" }, /needs patches/],
    [{ operation: "patch", patches: [] }, /needs patches/],
    [{ operation: "patch", patches, content: "" }, /takes no content/],
    [{ operation: "patch", patches: [{ find: "", replace: "" }] }, /needs a text to find/],
    [{ operation: "patch", patches: [{ find: "a" }] }, /patches\[0\].replace needs content/],
    [{ operation: "patch", patches: [{ find: "a", replace: "", limit: "twice" }] }, /not once or all/],
    [{ operation: "move" }, /operation "move"/],
    [{}, /operation undefined/],
  ];
  for (const [fields, expected] of cases) assert.match(faultOf([{ path: "a", ...fields }]), expected);
  assert.match(faultOf([]), /at least one file/);
  assert.match(faultOf("a"), /at least one file/);
  assert.match(faultOf([null]), /files\[0\] is not an object/);
  assert.match(faultOf([oneFile], 3), /root is not a string/);
});

test("[X7] null stands for an absent field", () => {
  const parsed = parseBundleJson(
    JSON.stringify({ files: [{ path: "a", operation: "delete", content: null, patches: null, baseSha256: null }] }),
  );
  assert.deepEqual(parsed, { bundle: { root: ".", files: [{ path: "a", operation: "delete" }] } });
});

test("[X7] a path that is named twice, or is a file and a folder, is refused", () => {
  assert.match(faultOf([oneFile, oneFile]), /named twice/);
  const composed = { ...oneFile, path: "\u00e9" };
  assert.match(faultOf([composed, { ...oneFile, path: "e\u0301" }]), /named twice/);
  assert.match(faultOf([oneFile, { ...oneFile, path: "src" }]), /"src" is a file and a folder/);
});

test("[X7] create makes a new file and refuses one that is there with another content", () => {
  const create: FileChange = { path: "a", operation: "create", content: "new" };
  assert.equal(afterOf(create, {}), "new");
  assert.equal(reasonOf(create, { a: "old" }), "already exists");
  assert.deepEqual(plan(create, { a: "new" }), { changes: [] });
});

test("[X7] replace and delete need the file, and the version that they were made for", () => {
  const baseSha256 = sha256("old");
  const replace: FileChange = { path: "a", operation: "replace", content: "new", baseSha256 };
  const remove: FileChange = { path: "a", operation: "delete", baseSha256 };
  assert.equal(afterOf(replace, { a: "old" }), "new");
  assert.equal(afterOf(remove, { a: "old" }), null);
  for (const change of [replace, remove]) {
    assert.equal(reasonOf(change, {}), "does not exist");
    assert.equal(reasonOf(change, { a: "edited" }), "changed since the answer was made");
  }
});

test("[X7] a change without a base hash is held to the version that the model was given", () => {
  const bundle: FileBundle = { root: ".", files: [{ path: "a", operation: "replace", content: "new" }] };
  const given = { ...disk({ a: "edited" }), baseOf: () => sha256("old") };
  assert.deepEqual(planBundle(bundle, given), {
    conflicts: [{ path: "a", reason: "changed since the answer was made" }],
  });
});

test("[X7] patch replaces a text that is there exactly once, or everywhere", () => {
  const once = (find: string, replace: string): FileChange => ({
    path: "a",
    operation: "patch",
    patches: [{ find, replace, limit: "once" }],
  });
  assert.equal(afterOf(once("b", "$& $1"), { a: "abc" }), "a$& $1c");
  assert.match(reasonOf(once("x", "y"), { a: "abc" }), /^patch 1: .* not in the file/);
  assert.match(reasonOf(once("b", "y"), { a: "bab" }), /in the file 2 times, not once/);
  assert.match(reasonOf(once("b", "y"), {}), /does not exist/);
  assert.match(reasonOf(once("b", "y"), { a: Uint8Array.of(0xff, 0) }), /not text/);
  const all: FileChange = { path: "a", operation: "patch", patches: [{ find: "b", replace: "y", limit: "all" }] };
  assert.equal(afterOf(all, { a: "bab" }), "yay");
});

test("[X7] patches apply one after another, and keep the file's line ends", () => {
  const patches = [
    { find: "one\n", replace: "one\ntwo\n", limit: "once" as const },
    { find: "two", replace: "2", limit: "once" as const },
  ];
  const change: FileChange = { path: "a", operation: "patch", patches };
  assert.equal(afterOf(change, { a: "one\nend\n" }), "one\n2\nend\n");
  assert.equal(afterOf(change, { a: "one\r\nend\r\n" }), "one\r\n2\r\nend\r\n");
});

test("[X7] one conflict refuses the whole bundle, and every conflict is named", () => {
  const files: FileChange[] = [
    { path: "new", operation: "create", content: "" },
    { path: "gone", operation: "delete" },
    { path: "there", operation: "create", content: "x" },
  ];
  const planned = planBundle({ root: "sub", files }, disk({ "sub/there": "y" }));
  assert.deepEqual(planned, {
    conflicts: [
      { path: "sub/gone", reason: "does not exist" },
      { path: "sub/there", reason: "already exists" },
    ],
  });
});

test("[X7] whatever the text, no answer makes the parser throw", () => {
  const part = fc.oneof(
    fc.string({ unit: anyCharacter }),
    fc.constantFrom("```", "```json\n", "\n```\n", '{"files":[{', "}]}", "~~~", '"path":"a",'),
  );
  fc.assert(
    fc.property(fc.array(part), (parts) => {
      const parsed = parseFileBundle(parts.join(""));
      assert.ok(parsed === null || "bundle" in parsed || "fault" in parsed);
    }),
  );
});

test("[X7] any content survives the way through a fenced block", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (content) => {
      fc.pre(!content.includes("\u0000"));
      const bundle = { root: ".", files: [{ path: "a", operation: "create", content }] };
      assert.deepEqual(parseFileBundle(fenced(bundle)), { bundle });
    }),
  );
});

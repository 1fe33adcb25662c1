import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeText, isTooLarge, pathFault } from "./active-file.ts";

test("[X5] paths that leave the repository, or mean different things on two systems, are refused", () => {
  const refused = [
    "",
    "/etc/passwd",
    "../x",
    "a/../x",
    "C:\\x",
    "c:x",
    "a\\b",
    "a\u0000b",
    "a\ud800b",
    "a//b",
    "./a",
    "a/.",
    "a\nb",
    "a\u2028b",
  ];
  for (const path of refused) assert.notEqual(pathFault(path), null, JSON.stringify(path));
});

test("[X5] ordinary paths are taken, whatever the script", () => {
  for (const path of ["a", "src/main.ts", ".github/x.yml", "..a/b..", "ä/日本 語.md"])
    assert.equal(pathFault(path), null, path);
});

test("[X5] bytes that are not text are recognised; text keeps its byte order mark", () => {
  assert.equal(decodeText(Buffer.from([0xff, 0xfe, 0x41])), null);
  assert.equal(decodeText(Buffer.from("a\u0000b")), null);
  assert.equal(decodeText(Buffer.from("\uFEFFa\r\n")), "\uFEFFa\r\n");
});

test("[X2] the limit is 100 KB and includes it", () => {
  assert.deepEqual([102_400, 102_401].map(isTooLarge), [false, true]);
});

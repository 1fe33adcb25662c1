import assert from "node:assert/strict";
import { test } from "node:test";
import { isId, sha256 } from "../../domain/ids.ts";
import { chunkId } from "./chunk-id.ts";

const chunk = { repo: "aptove", path: "src/a.ts", symbol: "open", hash: sha256("text"), copy: 0 };

test("[Q2] the id of a chunk is a UUID of its content, and never changes", () => {
  assert.ok(isId(chunkId(chunk)));
  assert.equal(chunkId(chunk), "c3f4d34b-54e6-8dfc-8812-ec5588d16ee0");
});

test("[Q2] each part of a chunk's identity changes its id", () => {
  const others = [{ repo: "x" }, { path: "x" }, { symbol: null }, { hash: sha256("x") }, { copy: 1 }];
  const ids = others.map((part) => chunkId({ ...chunk, ...part }));
  assert.equal(new Set([...ids, chunkId(chunk)]).size, others.length + 1);
});

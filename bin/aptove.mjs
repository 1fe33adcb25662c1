#!/usr/bin/env node
/** The `aptove` command: finds the pinned Node and runs the program with it. It is small, because every command loads it. */
import { join } from "node:path";
import {
  becomePinnedNode,
  findPinnedNode,
  isCheckout,
  isInstalling,
  noNodeFound,
  root,
} from "../scripts/pinned-node.mjs";

let node = findPinnedNode();
if (isCheckout && (node === null || isInstalling())) {
  const { ensureInstalled } = await import("../scripts/install.mjs");
  await ensureInstalled();
  node = findPinnedNode();
}
if (node === process.execPath) {
  await import("./run.cjs");
} else if (node !== null) {
  // bin/aptove explains these flags.
  const flags = ["--min-semi-space-size=2", "--max-semi-space-size=8", "--memory-reducer-delay-ms=60000"];
  await becomePinnedNode(node, [...flags, join(root, "bin", "run.cjs"), ...process.argv.slice(2)], {
    MALLOC_ARENA_MAX: "1",
  });
} else {
  const [fault, fix] = noNodeFound();
  console.error(`error: ${fault}\nfix: ${fix}`);
  process.exitCode = 1;
}

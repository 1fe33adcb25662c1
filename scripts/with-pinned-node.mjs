/**
 * `node scripts/with-pinned-node.mjs <arguments of node…>`: installs what is missing, bundles what has changed, then
 * runs the pinned Node with the arguments. Every npm script goes through here, so any Node from 20 on is enough to start.
 */
import { ensureInstalled } from "./install.mjs";
import { becomePinnedNode, findPinnedNode, noNodeFound } from "./pinned-node.mjs";

await ensureInstalled();
const { refreshBundle } = await import("./bundle.mjs");
await refreshBundle();
const node = findPinnedNode();
if (node === null) {
  const [fault, fix] = noNodeFound();
  console.error(`error: ${fault}\nfix: ${fix}`);
  process.exit(1);
}
await becomePinnedNode(node, process.argv.slice(2));

/**
 * `node scripts/with-pinned-node.mjs <arguments of node…>`: installs what is missing, bundles what has changed, then
 * runs the pinned Node with the arguments. Every npm script goes through here, so any Node from 20 on is enough to start.
 */
import { ensureInstalled } from "./install.mjs";
import { becomePinnedNode, findPinnedNode, pinnedVersion } from "./pinned-node.mjs";

await ensureInstalled();
const { refreshBundle } = await import("./bundle.mjs");
await refreshBundle();
const node = findPinnedNode();
if (node === null) {
  console.error(`error: there is no Node ${pinnedVersion} for ${process.platform} ${process.arch} among the packages`);
  console.error(`fix: install Node ${pinnedVersion} yourself and run again with it`);
  process.exit(1);
}
await becomePinnedNode(node, process.argv.slice(2));

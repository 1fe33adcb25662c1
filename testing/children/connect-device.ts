/**
 * Connects a device for the first time. Arguments: the data folder, the device. Prints `ready`, waits for a line on standard
 * input, so that several processes begin at the same moment, and prints the id of the workspace that the device got.
 */
import { once } from "node:events";
import { writeSync } from "node:fs";
import { dataFolderAt } from "../../src/configuration/data-folder.ts";
import { fileBindings } from "../../src/workspace/files/file-bindings.ts";
import { fileWorkspaces } from "../../src/workspace/files/file-workspaces.ts";
import { Workspaces } from "../../src/workspace/workspaces.ts";

const [dataDir = "", device = ""] = process.argv.slice(2);
const folder = dataFolderAt(dataDir);
const workspaces = new Workspaces({
  store: fileWorkspaces(folder),
  bindings: fileBindings(folder),
  // Connecting does not use the transcripts.
  transcripts: { locked: (_workspaceId, body) => body(), removeAll: () => Promise.resolve() },
  now: Date.now,
});
writeSync(1, "ready\n");
await once(process.stdin, "data");
writeSync(1, `${(await workspaces.resolve(device)).id}\n`);
process.exit(0);

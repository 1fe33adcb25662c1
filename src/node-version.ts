/**
 * Ends an import of the library on a Node that cannot run it, before another module of the library is evaluated: an older
 * Node would end later, with an error about a missing function, or with a crash in native code.
 */
import { AptoveError } from "./domain/errors.ts";

/** The oldest Node that runs the library. package.json of the published package names the same. */
export const leastNode = "26.1.0";

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
const [leastMajor = 0, leastMinor = 0] = leastNode.split(".").map(Number);
if (major < leastMajor || (major === leastMajor && minor < leastMinor)) {
  throw new AptoveError(
    "node_too_old",
    `it needs ${leastNode} or newer, and this is ${process.versions.node}. Install a newer Node (https://nodejs.org) and ` +
      "start your program with it. aptove/client runs on any Node from 20 on.",
  );
}

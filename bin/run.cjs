/** Runs the program; the pinned Node starts here. It is CommonJS, like the bundle, because that loads fastest. */
"use strict";
const fs = require("node:fs");
const { createRequire, enableCompileCache } = require("node:module");
const { dirname, join } = require("node:path");
const vm = require("node:vm");

const root = dirname(__dirname);
const keepAfterMs = 30_000;

// Node warns that the loader below is experimental when the bundle first imports a package. The person at the terminal cannot act on it.
const { emitWarning } = process;
process.emitWarning = (warning, ...details) => {
  if (!String(warning).startsWith("vm.USE_MAIN_CONTEXT")) emitWarning.call(process, warning, ...details);
};

// The allocator has read what bin/aptove set for it.
if (process.env.MALLOC_ARENA_MAX === "1") delete process.env.MALLOC_ARENA_MAX;

// A server decides when its young generation grows (src/compose/young-generation.ts). Loading the program would make it grow before that.
// V8 uses compiled code only with the settings with which it was compiled, so this comes before any of it. Options may stand before the command.
const isServer = process.argv.slice(2).some((word) => ["acp", "serve", "start"].includes(word));
const stopGrowth = () => require("node:v8").setFlagsFromString("--semi-space-growth-factor=1");
if (isServer) stopGrowth();

// Node keeps the compiled code of sources and of packages here. The programs that this one starts must not keep theirs there.
const compileCache = join(root, "node_modules", ".cache", "compiled");
if (process.env.NODE_COMPILE_CACHE === compileCache) delete process.env.NODE_COMPILE_CACHE;
else enableCompileCache(compileCache);

// The published package has only the bundle. A clone has the sources too, and uses its bundle if that was built from exactly
// these sources: one file loads in less than half the time of six hundred.
const source = join(root, "src", "main.ts");
if (fs.existsSync(source)) {
  const { freshBundle, reportSources } = require("../scripts/bundle-cache.cjs");
  const program = freshBundle();
  if (program === null) {
    reportSources();
    void import("../src/main.ts");
  } else runBundle(program);
} else runBundle(join(root, "dist", "program.cjs"));

/**
 * Runs the bundle with the code that V8 compiled in an earlier run of the same command. Node's compile cache does this too, but it reads the
 * whole file to compare it, and keeps for all commands what the first of them used. The content of this file never changes.
 */
function runBundle(program) {
  // The bundle is ASCII, which V8 uses as it was read.
  const text = fs.readFileSync(program, "latin1");
  const compiled = compiledFile(program);
  const cachedData = compiled === null ? undefined : readOrNothing(compiled);
  const script = new vm.Script(text, {
    filename: program,
    cachedData,
    importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
  // V8 has read it. It would stay in memory until the first full collection, which a short process never makes. A small file is in
  // memory that Node shares, and stays.
  if (cachedData?.length === cachedData?.buffer.byteLength) cachedData?.buffer.transfer(0);
  if (compiled !== null && (cachedData === undefined || script.cachedDataRejected)) {
    const keepOnce = once(() => keep(compiled, script));
    process.once("exit", (code) => {
      if (code === 0) keepOnce();
    });
    // V8 forgets the code that a process needed only at its start, after some collections. A server that runs for hours would keep
    // too little, and each later start would take twice as long.
    setTimeout(keepOnce, keepAfterMs).unref();
  }
  // The file is one function, in the form in which Node wraps a CommonJS module.
  const module = { exports: {} };
  script.runInThisContext()(module.exports, createRequire(program), module, program);
}

/** Returns a function that does the work at its first call only. */
function once(work) {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    work();
  };
}

/** Returns the file for what V8 compiled of this command, with these flags. Null for what may be no command. */
function compiledFile(program) {
  const command = process.argv[2] ?? "";
  if (!/^[a-z-]{0,20}$/.test(command)) return null;
  const flags = process.execArgv
    .join("")
    .replaceAll(/[^a-z0-9=]/g, "")
    .slice(0, 100);
  return join(dirname(program), "compiled", `${command}@${process.versions.v8}-${process.arch}${flags}`);
}

function removeIfPossible(file) {
  try {
    fs.rmSync(file, { force: true });
  } catch {
    // The folder belongs to another user, so nothing was written there.
  }
}

function readOrNothing(file) {
  try {
    return fs.readFileSync(file);
  } catch {
    // This is the first run of the command.
    return undefined;
  }
}

function keep(file, script) {
  const made = `${file}.${process.pid}`;
  try {
    fs.mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    // The next start begins with this setting. A server that is busy now changes it again.
    if (isServer) stopGrowth();
    fs.writeFileSync(made, script.createCachedData());
    fs.renameSync(made, file);
  } catch {
    // Only other users may write here, or the disk is full: the next run compiles again.
    removeIfPossible(made);
  }
}

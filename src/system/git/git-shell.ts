/**
 * A shell that runs one git after the other. It reads commands on its standard input. On both of its outputs it writes a mark
 * directly before git, and another one with the exit code after it.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import type { Socket } from "node:net";
import { resolve as absolute } from "node:path";
import { onAbort } from "../abort.ts";
import { sendSignal } from "../process-family.ts";
import type { GitEnvironment, GitRan, GitRun } from "./git-call.ts";
import { watchSilence, type SilenceWatch } from "./git-silence.ts";
import { MarkedOutput } from "./marked-output.ts";

/** Many shells read their commands byte by byte, and write a longer input to a file. In bytes. */
const commandBytesMax = 65_536;
const inputBytesMax = 4_096;
/** A shell that has not begun within this time is stopped, or the machine is. */
const startMsMax = 5_000;
/** git's own exit codes end here: greater ones are those of signals. */
const ownExitMax = 129;
/** Exit codes of a shell that could not start git. */
const notStarted: readonly number[] = [126, 127];

/** A variable of git, which each call sets for itself. */
const variableOfGit = /^(?:GIT_[A-Z0-9_]+|LC_ALL)$/;
const nameOfVariable = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** Variables that change what a shell does, or that it changes. */
const variableOfShells =
  /^(?:ENV|BASH_ENV|SHELLOPTS|BASHOPTS|POSIXLY_CORRECT|PS4|IFS|OPTIND|CDPATH|PWD|OLDPWD|SHLVL|_)$/;

/** Returns the environment of a shell for calls with this environment. What no shell keeps, such as exported functions, is not in it. */
export function shellEnvironment(env: GitEnvironment): GitEnvironment {
  const isKept = (name: string): boolean =>
    nameOfVariable.test(name) && !variableOfShells.test(name) && !variableOfGit.test(name);
  return Object.fromEntries(Object.entries(env).filter(([name]) => isKept(name)));
}

/** Returns the commands of a call. Null if a shell cannot be given them as they are. */
function shellCommand({ args, cwd, env, input = "" }: GitRun, mark: string): string | null {
  const variables = Object.entries(env).flatMap(([name, value]) =>
    variableOfGit.test(name) && value !== undefined ? [`export ${name}=${quoted(value)}`] : [],
  );
  const end = `end-${mark}`;
  const begin = `printf '%s\\n' ${mark}`;
  const finish = `printf '%s %d\\n' ${mark} "$1"`;
  const command = [
    "(",
    ...variables,
    `cd -P -- ${quoted(absolute(cwd))} || exit`,
    input === "" ? "exec </dev/null" : `exec <<'${end}'\n${input}${end}`,
    `${begin}; ${begin} >&2`,
    `exec git ${args.map(quoted).join(" ")}`,
    ")",
    "set -- $?",
    `${finish}; ${finish} >&2\n`,
  ].join("\n");
  const isLine = input === "" || input.endsWith("\n");
  const isShort = Buffer.byteLength(input) <= inputBytesMax && Buffer.byteLength(command) <= commandBytesMax;
  return isLine && isShort && !command.includes("\0") ? command : null;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

interface Running {
  stdout: MarkedOutput;
  stderr: MarkedOutput;
  bytesMax: number;
  /** Stops a shell that does not begin. */
  start: NodeJS.Timeout;
  silence: SilenceWatch | null;
  root: string;
  /** True if a part of the output was passed on already. */
  hasPassed: boolean;
  resolve(ran: GitRan | null): void;
}

export class GitShell {
  readonly #child: ChildProcess;
  #running: Running | null = null;
  #isOpen = true;

  constructor(environment: GitEnvironment) {
    // A group of its own, so that the git that it runs can be killed with it.
    this.#child = spawn("/bin/sh", [], { cwd: "/", env: environment, detached: true, stdio: "pipe" });
    // Its outputs may stay open in a process that git has left, so they are not waited for.
    for (const event of ["error", "exit"] as const) this.#child.on(event, () => this.#gone());
    const { stdin, stdout, stderr } = this.#child;
    // A system without free descriptors makes no pipes.
    if (!stdin || !stdout || !stderr) {
      this.#isOpen = false;
      return;
    }
    stdin.on("error", () => this.#gone());
    stdout.on("data", (piece: Buffer) => this.#received("stdout", piece));
    stderr.on("data", (piece: Buffer) => this.#received("stderr", piece));
    // The process does not stay for a shell that waits. A call has a timer, which keeps it.
    for (const handle of [this.#child, stdin, stdout, stderr] as (ChildProcess | Socket)[]) handle.unref();
  }

  /** False once it can run nothing more. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Runs a call. Null if the shell cannot say how git ended: then git is to be run again. One call at a time. Never rejects. */
  async run(call: GitRun): Promise<GitRan | null> {
    const mark = randomBytes(16).toString("hex");
    const command = shellCommand(call, mark);
    if (command === null || !this.#isOpen) return null;
    const { promise, resolve } = Promise.withResolvers<GitRan | null>();
    const { root, outputBytesMax: bytesMax, signal, onText } = call;
    const start = setTimeout(() => this.#kill(null), startMsMax);
    const isPassed = onText !== undefined;
    const stdout = new MarkedOutput(mark, {
      bytesMax,
      ...(isPassed && { onText: (text) => this.#pass(text, onText) }),
    });
    const stderr = new MarkedOutput(mark, { bytesMax, ...(isPassed && { onText: () => undefined }) });
    this.#running = { stdout, stderr, bytesMax, start, silence: null, root, hasPassed: false, resolve };
    this.#child.stdin?.write(command);
    const withdrawn: GitRan = { outcome: "stopped", reason: "the question was withdrawn" };
    const remove = signal === undefined ? null : onAbort(signal, () => this.#kill(withdrawn));
    const ran = await promise;
    remove?.();
    return ran;
  }

  /** Ends the shell when it has run what it has. */
  close(): void {
    this.#isOpen = false;
    this.#child.stdin?.end();
  }

  /** Ends the shell and the git that it runs. */
  kill(): void {
    this.#kill(null);
  }

  #pass(text: string, onText: (text: string) => boolean): void {
    if (this.#running === null) return;
    this.#running.hasPassed = true;
    if (!onText(text)) this.#kill(stopped("no more of the answer was wanted"));
  }

  #received(from: "stdout" | "stderr", piece: Buffer): void {
    const running = this.#running;
    // A process that git has left writes to the output of later calls too.
    if (running === null) return void (this.#isOpen = false);
    const { stdout, stderr, bytesMax, root } = running;
    running[from].add(piece);
    if (this.#running === null) return;
    if (stdout.hasBegun) {
      clearTimeout(running.start);
      running.silence ??= watchSilence(root, () => this.#kill(stopped("git was silent for too long")));
      running.silence.spoke();
    }
    if (running[from].isTooLong) this.#kill(stopped(`git wrote more than ${bytesMax} bytes`));
    else if (stdout.exit !== null && stderr.exit !== null) this.#finish(running);
  }

  #finish({ stdout, stderr }: Running): void {
    if (stdout.hasMore || stderr.hasMore) this.close();
    const exit = stdout.exit ?? 0;
    const isOfGit = stdout.hasBegun && exit <= ownExitMax && !notStarted.includes(exit);
    this.#settle(isOfGit ? { outcome: "ended", exit, stdout: stdout.text, stderr: stderr.text } : null);
  }

  #kill(ran: GitRan | null): void {
    this.#isOpen = false;
    const { pid } = this.#child;
    // Without an id it was never started.
    if (pid !== undefined) sendSignal(-pid, "SIGKILL");
    this.#settle(ran);
  }

  #gone(): void {
    this.#isOpen = false;
    this.#settle(null);
  }

  #settle(ran: GitRan | null): void {
    const running = this.#running;
    if (running === null) return;
    this.#running = null;
    clearTimeout(running.start);
    running.silence?.end();
    // Run again, git would write that part a second time.
    running.resolve(ran === null && running.hasPassed ? stopped("the answer of git was cut off") : ran);
  }
}

function stopped(reason: string): GitRan {
  return { outcome: "stopped", reason };
}

/**
 * A shell that runs one git after the other. It reads commands, and writes a mark after the output of each: a number that
 * no repository can guess, and git's exit code.
 */
import { spawn, type ChildProcessByStdio } from "node:child_process";
import { randomBytes } from "node:crypto";
import type { Socket } from "node:net";
import type { Readable, Writable } from "node:stream";
import { onAbort } from "../abort.ts";
import { endFamily } from "../process-family.ts";
import type { GitEnvironment, GitRan, GitRun } from "./git-call.ts";
import { watchSilence, type SilenceWatch } from "./git-silence.ts";

/** Exit codes of a shell: the folder cannot be entered (our own), and the program is missing. */
const noFolder = 125;
const noProgram = 127;
/** The longest end of an output: the mark, a space, the exit code and the end of the line. */
const markBytesMax = 32 + " 255\n".length;
/** Variables that change what a shell does, or that it changes. git reads none of them. */
const ofShells = /^(?:ENV|BASH_ENV|SHELLOPTS|BASHOPTS|PS4|IFS|CDPATH|PWD|OLDPWD|SHLVL|_)$/;
const nameOfVariable = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** The environment of a shell for git. */
export function shellEnvironment(env: GitEnvironment): GitEnvironment {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !ofShells.test(name)));
}

/** Returns the commands that run git once, without its mark. Null if a shell cannot be given them. `shell` is its environment. */
export function shellCommand({ args, cwd, env, input }: GitRun, shell: GitEnvironment): string | null {
  const wanted = shellEnvironment(env);
  const names = [...new Set([...Object.keys(shell), ...Object.keys(wanted)])];
  const changed = names.filter((name) => shell[name] !== wanted[name]);
  if (!changed.every((name) => nameOfVariable.test(name))) return null;
  const variables = changed.map((name) => {
    const value = wanted[name];
    return value === undefined ? `unset ${name}` : `export ${name}=${quoted(value)}`;
  });
  const enter = `cd -P -- ${quoted(cwd)} || exit ${noFolder}`;
  const git = ["exec", "git", ...args.map(quoted)].join(" ");
  const lines = input === undefined || input === "" ? `${git} </dev/null` : withInput(git, input);
  const command = `(\n${[...variables, enter, lines].join("\n")}\n)\n`;
  return command.includes("\0") ? null : command;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** The end of the input is a line that is not in it. */
function withInput(command: string, input: string): string {
  const end = `end-${newMark()}`;
  return `${command} <<'${end}'\n${input}${input.endsWith("\n") ? "" : "\n"}${end}`;
}

function newMark(): string {
  return randomBytes(16).toString("hex");
}

/** What a shell writes during one run of git. */
class Output {
  #pieces: Buffer[] = [];
  /** The last characters, in which the mark would be. */
  #tail = "";
  bytes = 0;
  /** git's exit code, which follows the mark. Null: git has not ended. */
  exit: number | null = null;
  readonly #mark: string;

  constructor(mark: string) {
    this.#mark = `${mark} `;
  }

  add(piece: Buffer): void {
    this.#pieces.push(piece);
    this.bytes += piece.length;
    const last = piece.toString("latin1", Math.max(0, piece.length - markBytesMax));
    this.#tail = (this.#tail + last).slice(-markBytesMax);
    const at = this.#tail.lastIndexOf(this.#mark);
    if (at === -1 || !this.#tail.endsWith("\n")) return;
    this.exit = Number(this.#tail.slice(at + this.#mark.length));
    this.bytes -= this.#tail.length - at;
  }

  /** What was written before the mark. */
  get text(): string {
    return Buffer.concat(this.#pieces).toString("utf8", 0, this.bytes);
  }
}

interface Running {
  stdout: Output;
  stderr: Output;
  bytesMax: number;
  silence: SilenceWatch;
  settle(ran: GitRan | null): void;
}

export class GitShell {
  readonly environment: GitEnvironment;
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  #running: Running | null = null;
  #isOpen = true;

  constructor(environment: GitEnvironment) {
    this.environment = environment;
    // A group of its own, so that the git that it runs can be killed with it.
    const child = spawn("/bin/sh", [], { cwd: "/", env: environment, detached: true, stdio: ["pipe", "pipe", "pipe"] });
    this.#child = child;
    // A shell that has ended ends its run too.
    child.stdin.on("error", () => undefined);
    for (const event of ["error", "close"] as const) child.on(event, () => this.#ended());
    child.stdout.on("data", (piece: Buffer) => this.#received("stdout", piece));
    child.stderr.on("data", (piece: Buffer) => this.#received("stderr", piece));
    this.#hold(false);
  }

  /** False once it can run nothing more. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /**
   * Runs commands that `shellCommand` has made of the call. The shell runs nothing else meanwhile. Null if the shell has ended by
   * itself, or was never there. Never rejects.
   */
  async run(command: string, { root, outputBytesMax: bytesMax, signal }: GitRun): Promise<GitRan | null> {
    const mark = newMark();
    const { promise, resolve } = Promise.withResolvers<GitRan | null>();
    const silence = watchSilence(root, () => this.#kill("git was silent for too long"));
    this.#running = { stdout: new Output(mark), stderr: new Output(mark), bytesMax, silence, settle: resolve };
    this.#hold(true);
    const print = `printf '%s %d\\n' ${mark} "$code"`;
    this.#child.stdin.write(`${command}code=$?\n${print}\n${print} >&2\n`);
    const remove = signal === undefined ? null : onAbort(signal, () => this.#kill("the question was withdrawn"));
    const ran = await promise;
    remove?.();
    return ran;
  }

  /** Ends the shell when it has run what it has. */
  close(): void {
    this.#isOpen = false;
    this.#child.stdin.end();
  }

  /** The process does not stay for a shell that waits. */
  #hold(isHeld: boolean): void {
    const { stdin, stdout, stderr } = this.#child as unknown as Record<"stdin" | "stdout" | "stderr", Socket>;
    for (const handle of [this.#child, stdin, stdout, stderr]) {
      if (isHeld) handle.ref();
      else handle.unref();
    }
  }

  #received(from: "stdout" | "stderr", piece: Buffer): void {
    const running = this.#running;
    if (running === null) return;
    const { stdout, stderr, silence, bytesMax } = running;
    silence.spoke();
    const output = running[from];
    output.add(piece);
    const isTooMuch = output.bytes > bytesMax + (output.exit === null ? markBytesMax : 0);
    if (isTooMuch) this.#kill(`git wrote more than ${bytesMax} bytes`);
    else if (stdout.exit !== null && stderr.exit !== null) this.#settle(ranWith(stdout.exit, running));
  }

  #kill(reason: string): void {
    this.#isOpen = false;
    const { pid } = this.#child;
    if (pid !== undefined) void endFamily({ pid, mark: null }, 0);
    this.#settle({ outcome: "stopped", reason });
  }

  #ended(): void {
    this.#isOpen = false;
    this.#settle(null);
  }

  #settle(ran: GitRan | null): void {
    const running = this.#running;
    if (running === null) return;
    this.#running = null;
    running.silence.end();
    this.#hold(false);
    running.settle(ran);
  }
}

function ranWith(exit: number, { stdout, stderr }: Pick<Running, "stdout" | "stderr">): GitRan {
  if (exit === noProgram) return { outcome: "missing" };
  return { outcome: "ended", exit, stdout: stdout.text, stderr: stderr.text };
}

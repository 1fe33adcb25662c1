/** One call of git to its end, and what became of it. */

export type GitEnvironment = Record<string, string | undefined>;

/** One call of git. */
export interface GitRun {
  args: readonly string[];
  /** The folder in which git runs. */
  cwd: string;
  env: GitEnvironment;
  /** The top folder of the repository that git is asked about. */
  root: string;
  /** What git reads on its standard input: lines, each with its end. */
  input?: string;
  /** The most that git may write, in bytes. It does not limit what `onText` receives. */
  outputBytesMax: number;
  /**
   * Receives the output piece by piece. Then `stdout` and `stderr` of the outcome stay empty, and git is stopped after the first
   * `false`.
   */
  onText?(text: string): boolean;
  /** Ends git when it aborts. */
  signal?: AbortSignal | undefined;
}

/** What became of a call. `missing`: git is not installed. `stopped`: it did not start, or did not end by itself. */
export type GitRan =
  | { outcome: "ended"; exit: number; stdout: string; stderr: string }
  | { outcome: "missing" }
  | { outcome: "stopped"; reason: string };

/** How a failed command ends: one line with the failure, one line with the fix, and the exit code (L1). */
import type { ErrorCode } from "../../domain/errors.ts";
import { fixes } from "../../domain/fixes.ts";
import type { CliOutput } from "./output.ts";

/** The exit codes (L1). */
export const exitCodes = { fine: 0, failed: 1, wrongUse: 2, interrupted: 130 } as const;
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** The arguments or options were wrong: exit code 2. */
export class UsageError extends Error {
  readonly fix: string;
  constructor(message: string, fix: string) {
    super(message);
    this.name = "UsageError";
    this.fix = fix;
  }
}

/** Error codes that only the command line has, beside those of the catalogue. docs/cli.md lists the same ones. */
export const ownCodes = [
  "usage",
  "config_exists",
  "rules_exist",
  "already_serving",
  "port_in_use",
  "cannot_listen",
  "no_server",
  "other_records",
  "data_missing",
] as const;
type OwnCode = (typeof ownCodes)[number];

/** A command that failed for a reason that only the command line knows: exit code 1. */
export class CommandFailed extends Error {
  readonly code: OwnCode | ErrorCode;
  readonly fix: string;
  constructor(code: OwnCode | ErrorCode, message: string, fix: string) {
    super(message);
    this.name = "CommandFailed";
    this.code = code;
    this.fix = fix;
  }
}

/** The fix for a missing index at another server. Only the server's own machine can build its index (Q1). */
export const indexThereFix =
  "ask the operator of the server to index it there (aptove index --org <your org>), or ask outside of a git repository";

/**
 * Returns the fix for an error code. `server` is the address of the server that the error came from; null for this
 * machine.
 */
export function fixOf(code: string, server: string | null): string | null {
  if (server !== null && (code === "index_missing" || code === "index_mismatch")) return indexThereFix;
  return Object.hasOwn(fixes, code) ? fixes[code as ErrorCode] : null;
}

interface FailureReport {
  code: string;
  message: string;
  fix: string | null;
  exit: ExitCode;
}

/** Describes an error. Errors of the engine and of the client both carry `code` and `detail`. */
export function writeFailure(error: unknown, server: string | null): FailureReport {
  if (error instanceof UsageError) {
    return { code: "usage", message: error.message, fix: error.fix, exit: exitCodes.wrongUse };
  }
  if (error instanceof CommandFailed) {
    return { code: error.code, message: error.message, fix: error.fix, exit: exitCodes.failed };
  }
  const code = isCoded(error) ? error.code : "internal";
  const fix = fixOf(code, server);
  // A detail that is the fix is not printed twice.
  const message = wordsOf(error, code).replace(fix === null ? "" : `: ${fix}`, "");
  return { code, message, fix, exit: exitCodes.failed };
}

/** Errors whose detail says everything that their title says. */
const detailedCodes: readonly string[] = ["request_invalid", "mode_unknown", "context_unknown", "provider_unknown"];

/**
 * Returns the message of an error. For `not_found` it is the detail alone: that the thing may also be hidden does not
 * help a person who mistyped a name.
 */
function wordsOf(error: unknown, code: string): string {
  if (!(error instanceof Error)) return String(error);
  const isDetailOnly = code === "not_found" || detailedCodes.includes(code);
  return isDetailOnly && "detail" in error ? String(error.detail) : error.message;
}

function isCoded(error: unknown): error is { code: string } {
  const names = ["AptoveError", "AptoveApiError"];
  return error instanceof Error && names.includes(error.name) && "code" in error;
}

/** Prints a failure and returns the exit code. Prints the stack only if APTOVE_DEBUG is set. */
export function reportFailure(
  error: unknown,
  output: CliOutput,
  options: { json: boolean; debug: boolean; server?: string | null },
): ExitCode {
  const { code, message, fix, exit } = writeFailure(error, options.server ?? null);
  if (options.json) {
    output.json({ error: { code, message, ...(fix === null ? {} : { fix }) } });
  } else {
    printFailure({ code, message, fix }, output);
  }
  if (options.debug && error instanceof Error) output.note(error.stack);
  return exit;
}

export function printFailure(failure: { code: string; message: string; fix: string | null }, output: CliOutput): void {
  const { red, cyan, dim } = output.noteStyle;
  const message = output.safeNote(failure.message.replaceAll(/\s*\n\s*/g, " "));
  output.note(`${red("error:")} ${message} ${dim(`(${failure.code})`)}`);
  if (failure.fix !== null) output.note(`${cyan("fix:")} ${output.safeNote(failure.fix)}`);
}

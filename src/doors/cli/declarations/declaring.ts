/** What all declarations of commands share. */
import { InvalidArgumentError } from "commander";
import type { CliInvocation } from "../invocation.ts";
import type { ExitCode } from "../failure.ts";

/** Runs the body of a command and keeps its exit code. */
export type RunCommand = (
  body: (invocation: CliInvocation) => Promise<ExitCode> | ExitCode,
  use?: FolderUse,
) => Promise<void>;

/** What a command may do with a data folder that does not exist. */
export interface FolderUse {
  createsFolder: boolean;
}

/** Marks a command that begins something, or shows what a first turn can use. Every other one needs a folder that exists. */
export const createsFolder: FolderUse = { createsFolder: true };

export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    throw new InvalidArgumentError(`Give a whole number from ${min} to ${max}`);
  };
}

/** Reads the name of a repository. An empty one is what a script passes whose variable is not set. */
export function repositoryName(text: string): string {
  if (text.trim() !== "") return text;
  throw new InvalidArgumentError("Give the name of a repository");
}

/**
 * The TOML files of workspaces: `workspace.toml`, `permissions.toml`, `bindings.toml`. People may read and correct them.
 * Unknown keys are kept, comments are not. `format` is the version of a file. Absent: 1.
 */
import { parse, stringify, TomlError } from "smol-toml";
import { AptoveError, type ErrorCode } from "../../domain/errors.ts";
import { storageFault } from "../../domain/storage-fault.ts";
import { replaceDurableFile } from "../../system/durable-files.ts";
import { readTextIfPresent } from "../../system/read-files.ts";

/** The version of the files. It increases with a change that an older version of aptove cannot read. */
const formatVersion = 1;

export type TomlTable = Record<string, unknown>;

export class TomlFile {
  readonly path: string;
  readonly #code: ErrorCode;
  /** The fix that a person can make in a damaged file. */
  readonly #fix: string;

  constructor(path: string, damage: { code: ErrorCode; fix: string }) {
    this.path = path;
    this.#code = damage.code;
    this.#fix = damage.fix;
  }

  /** Reads the file. Null if it does not exist. Throws the error of `damaged`, and `data_newer`. */
  read(): TomlTable | null {
    const text = this.#text();
    if (text === null) return null;
    const table = this.#parsed(text);
    const { format = formatVersion } = table;
    if (typeof format !== "number" || !Number.isInteger(format) || format < 1) {
      throw this.damaged("format must be a whole number from 1");
    }
    if (format > formatVersion) {
      const detail = `${this.path} has the format ${format}, this version reads up to ${formatVersion}; update aptove`;
      throw new AptoveError("data_newer", detail, { facts: { found: format, known: formatVersion } });
    }
    return table;
  }

  /** Replaces the file. The caller holds the lock under which it is written. */
  async write(heading: string, table: TomlTable): Promise<void> {
    try {
      await replaceDurableFile(this.path, tomlText(heading, table));
    } catch (error) {
      throw storageFault(`${this.path} could not be written`, error);
    }
  }

  /** Returns an error that names the file or a position in it, the damage, and the fix. */
  damaged(reason: string, options: { line?: number; column?: number; cause?: unknown } = {}): AptoveError {
    const { line, column, cause } = options;
    const place = line === undefined ? this.path : `${this.path}:${line}:${column ?? 1}`;
    return new AptoveError(this.#code, `${place}: ${reason}; ${this.#fix}`, { cause });
  }

  #text(): string | null {
    try {
      return readTextIfPresent(this.path);
    } catch (error) {
      if (error instanceof TypeError) throw this.damaged("the file is not UTF-8 text", { cause: error });
      throw storageFault(`${this.path} could not be read`, error);
    }
  }

  #parsed(text: string): TomlTable {
    try {
      return parse(text);
    } catch (error) {
      if (!(error instanceof TomlError)) throw error;
      const reason = error.message.split("\n")[0]?.replace("Invalid TOML document: ", "") ?? "";
      throw this.damaged(reason, { line: error.line, column: error.column, cause: error });
    }
  }
}

export function tomlText(heading: string, table: TomlTable): string {
  return `# ${heading}\n${stringify({ format: formatVersion, ...table }).trimEnd()}\n`;
}

/** Returns the time of a TOML date, or of an ISO 8601 text with a time zone. Null for any other value. */
export function timeOf(value: unknown): number | null {
  const hasZone = typeof value === "string" && /^\d{4}-\d\d-\d\dT.*(?:Z|[+-]\d\d:\d\d)$/i.test(value);
  const time = value instanceof Date ? value.getTime() : hasZone ? Date.parse(value) : Number.NaN;
  return Number.isNaN(time) ? null : time;
}

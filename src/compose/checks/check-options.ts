/** Checks the options of `createAptove` (Y1). A program may be written in JavaScript: an option with a wrong name would be ignored. */
import { AptoveError } from "../../domain/errors.ts";
import {
  checkFields,
  isFlag,
  isFunction,
  isListOf,
  isObject,
  isText,
  type FieldForm,
} from "../../domain/given-fields.ts";
import { isRecord } from "../../system/guards.ts";
import type { AptoveOptions } from "../options.ts";

const options = {
  dataDir: isText,
  env: isObject,
  overrides: isObject,
  overridesFrom: isText,
  identities: isObject,
  records: isObject,
  blobs: isObject,
  log: isObject,
  wakeUps: isObject,
  cache: isObject,
  providers: isListOf(isObject),
  retrievers: isObject,
  documents: isObject,
  tools: isListOf(isObject),
  agentContexts: isListOf(isObject),
  conversationContexts: isListOf(isObject),
  workspaceStore: isObject,
  bindings: isObject,
  transcripts: isObject,
  facts: isObject,
  report: isFunction,
  isCommand: isFlag,
  writeLog: isFunction,
  observer: isObject,
  now: isFunction,
} satisfies Record<keyof Required<AptoveOptions>, FieldForm>;

/** Throws `request_invalid`, which names the option. */
export function checkOptions(given: AptoveOptions): void {
  if (!isRecord(given)) {
    throw new AptoveError("request_invalid", "the options are not an object; leave them out, or give { … }");
  }
  checkFields(given, options);
}

/**
 * Looks at every part of the server for those who run it (L1). Each check has the same short time, so a store that is dead delays
 * nothing but its own answer. A check that did not answer goes on, and the next call waits for the same one.
 */
import type { Caller } from "../../domain/caller.ts";
import type { Check } from "../../domain/check.ts";
import { failureOf } from "../../domain/errors.ts";
import { fixes } from "../../domain/fixes.ts";
import { limits } from "../../domain/limits.ts";
import { unlessAborted } from "../../system/abort.ts";
import { OpenedOnce } from "../../system/opened-once.ts";
import { operatorOnly } from "../access/access.ts";
import type { Inspection } from "../dependencies.ts";
import type { CheckState } from "../engine.ts";
import type { EngineCore } from "../turn/live/engine-core.ts";

export function inspection(core: EngineCore): (caller: Caller) => AsyncGenerator<CheckState> {
  const opened = new OpenedOnce(async () => (await core.deps.inspections?.()) ?? []);
  const running = new Map<string, Promise<Check>>();
  const look = (part: Inspection): Promise<Check> => {
    const known = running.get(part.name);
    if (known !== undefined) return known;
    const begun = checked(part).finally(() => running.delete(part.name));
    running.set(part.name, begun);
    return begun;
  };
  return async function* (caller) {
    operatorOnly(caller, "inspect the server");
    const parts = [...(await opened.open()), turns(core)];
    for (const { name } of parts) yield { name, state: "running", detail: "" };
    const deadline = core.deps.deadline(limits.inspectionMs);
    const open = new Map(
      parts.map((part) => {
        const found = unlessAborted(look(part), deadline).catch((): Check => late(part));
        return [part.name, found.then((check) => ({ ...check, name: part.name }))];
      }),
    );
    while (open.size > 0) {
      const check = await Promise.race(open.values());
      open.delete(check.name);
      yield check;
    }
  };
}

async function checked({ name, look }: Inspection): Promise<Check> {
  try {
    return { ...(await look()), name };
  } catch (error) {
    const { code, message } = failureOf(error);
    return { name, state: "failed", detail: message, fix: fixes[code] };
  }
}

function late({ name, ifLate }: Inspection): Check {
  const detail = `did not answer within ${limits.inspectionMs / 1_000} s`;
  return { name, state: "failed", detail, ...(ifLate !== undefined && { fix: ifLate }) };
}

function turns(core: EngineCore): Inspection {
  return {
    name: "turns",
    look: async () => {
      const detail = `${core.live.count} running on this server`;
      if (core.closing.signal.aborted) return { state: "note", detail: `${detail}, which is shutting down` };
      return { state: "ok", detail };
    },
  };
}

/** Waits before a failed model call is made again (C7). */
import type { ProviderFailed } from "../../../providers/provider.ts";
import type { EngineCore } from "../live/engine-core.ts";
import type { ModelRun } from "./model-run.ts";
import { retryDelay } from "./retry-delay.ts";

export interface FailedCall {
  /** The attempt that failed, from 1. */
  attempt: number;
  end: ProviderFailed;
}

/** Returns false if the call must not be made again. */
export async function waitToRetry(core: EngineCore, run: ModelRun, { attempt, end }: FailedCall): Promise<boolean> {
  const { deps } = core;
  const { plan, recorder, live } = run;
  if (live.signal.aborted) return false;
  const delay = retryDelay({
    attempt,
    attemptsMax: deps.limits.providerAttemptsMax,
    failure: end.failure,
    retryAfterMs: end.retryAfterMs,
    random: deps.random(),
  });
  if (delay === null) return false;
  recorder.warn({ code: "provider_retried", message: `${end.failure.message}; retrying in ${delay} ms` });
  deps.observer.note({ type: "model_retried", provider: plan.accepted.provider.name, code: end.failure.code });
  await live.watch.ofOthers(() => deps.sleep(delay, live.signal));
  return !live.signal.aborted;
}

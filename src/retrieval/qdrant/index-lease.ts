/**
 * The lease for writing an index. A run that finds another one at work watches it: as long as the manifest keeps changing, the
 * other run is alive. If it did not change for `leaseMs` by this process's own clock, this run takes the lease. Clocks of two
 * machines are never compared. The lease only saves runs from useless work. Correctness depends on the compare-and-set at the end.
 */
import { AptoveError } from "../../domain/errors.ts";
import { newId } from "../../domain/ids.ts";
import { limits } from "../../domain/limits.ts";
import { pause } from "../../system/abort.ts";
import type { RequestBounds } from "./qdrant-connection.ts";
import { beginManifest, readManifest, swapManifest, type Catalogue, type IndexKey, type Manifest } from "./manifest.ts";

export interface LeaseTimes {
  leaseMs: number;
  waitMsMax: number;
}

export class IndexLease {
  /** The generation number of this run. */
  readonly generation: number;
  /** The manifest when the run began. */
  readonly former: Manifest;
  /** Aborts when another run has taken the lease. */
  readonly lost = new AbortController();
  readonly #catalogue: Catalogue;
  readonly #runId: string;
  #seen: Manifest;
  #timer: NodeJS.Timeout;
  #beating: Promise<void> = Promise.resolve();

  private constructor(catalogue: Catalogue, taken: { runId: string; manifest: Manifest; leaseMs: number }) {
    this.#catalogue = catalogue;
    this.#runId = taken.runId;
    this.#seen = taken.manifest;
    this.former = taken.manifest;
    this.generation = taken.manifest.taken;
    const beat = (): void => void (this.#beating = this.#beating.then(() => this.#beat()));
    this.#timer = setInterval(beat, taken.leaseMs / 3);
    this.#timer.unref();
  }

  /** Takes the lease. Waits while another run has it. Throws `retrieval_failed` if that takes too long. */
  static async take(
    catalogue: Catalogue,
    key: IndexKey,
    { leaseMs, waitMsMax, signal }: LeaseTimes & { signal: AbortSignal },
  ): Promise<IndexLease> {
    const runId = newId();
    const bounds = runBounds(signal);
    let manifest = (await readManifest(catalogue, key, bounds)) ?? (await beginManifest(catalogue, key, bounds));
    const startedAt = performance.now();
    let changedAt = startedAt;
    for (;;) {
      const now = performance.now();
      if (manifest.holder === "" || now - changedAt >= leaseMs) {
        const taken = await swapManifest(
          catalogue,
          { seen: manifest, next: takenBy(runId, manifest), writer: runId },
          bounds,
        );
        if (taken !== null) return new IndexLease(catalogue, { runId, manifest: taken, leaseMs });
      } else if (now - startedAt > waitMsMax) {
        const fix = "try again when it has ended";
        throw new AptoveError("retrieval_failed", `another run is writing the index of ${key.repo}; ${fix}`);
      } else {
        // If the wait is aborted, the next request throws the signal's reason.
        await pause(Math.min(500, leaseMs / 4), signal);
      }
      const seen = (await readManifest(catalogue, key, bounds)) ?? manifest;
      if (seen.version !== manifest.version) changedAt = performance.now();
      manifest = seen;
    }
  }

  /** Makes this run's generation the current one for searches. Throws `retrieval_failed` if another run has taken the lease. */
  async commit(next: Partial<Manifest>, signal: AbortSignal): Promise<void> {
    await this.#stop();
    const change = { ...next, current: this.generation, holder: "" };
    const bounds = runBounds(signal);
    const done = await swapManifest(this.#catalogue, { seen: this.#seen, next: change, writer: this.#runId }, bounds);
    if (done !== null) return;
    // Another run may have begun between the change and this read.
    const now = await readManifest(this.#catalogue, keyOf(this.#seen), bounds);
    if (now?.current !== this.generation) throw leaseTakenOver(this.#seen.repo);
  }

  /** Releases the lease, so that the next run begins at once. If this fails, the next run only waits until the lease expires. */
  async release(): Promise<void> {
    await this.#stop();
    const bounds = { attemptsMax: 1, signal: AbortSignal.timeout(limits.qdrantReleaseMsMax) };
    const change = { seen: this.#seen, next: { holder: "" }, writer: this.#runId };
    await Promise.allSettled([swapManifest(this.#catalogue, change, bounds)]);
  }

  async #stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#beating;
  }

  async #beat(): Promise<void> {
    if (this.lost.signal.aborted) return;
    const bounds = { attemptsMax: 1 };
    const change = { seen: this.#seen, next: {}, writer: this.#runId };
    // A server that does not respond shows nothing about the lease. The next beat or the end of the run shows whether it was lost.
    const [beaten] = await Promise.allSettled([swapManifest(this.#catalogue, change, bounds)]);
    if (beaten.status === "rejected") return;
    if (beaten.value !== null) this.#seen = beaten.value;
    else await this.#lookAgain(bounds);
  }

  /** Reads the manifest again, because a beat whose response was lost may have succeeded. */
  async #lookAgain(bounds: RequestBounds): Promise<void> {
    const [read] = await Promise.allSettled([readManifest(this.#catalogue, keyOf(this.#seen), bounds)]);
    if (read.status === "rejected") return;
    if (read.value?.holder === this.#runId) this.#seen = read.value;
    else this.lost.abort(leaseTakenOver(this.#seen.repo));
  }
}

/** Returns the bounds of a run's requests, which may wait for a server that restarts. */
export function runBounds(signal: AbortSignal): RequestBounds {
  return { signal, attemptsMax: limits.qdrantAttemptsMax };
}

/** Returns the change that takes the lease. Every number between the current one and the new one belongs to an unfinished run. */
function takenBy(runId: string, { current, taken, void: known }: Manifest): Partial<Manifest> {
  const first = Math.max(current, known.at(-1) ?? 0) + 1;
  const unfinished = Array.from({ length: Math.max(0, taken + 1 - first) }, (_, at) => first + at);
  return { holder: runId, taken: taken + 1, void: [...known, ...unfinished].slice(-limits.indexVoidRunsMax) };
}

function keyOf({ org, repo }: Manifest): IndexKey {
  return { orgId: org, repo };
}

function leaseTakenOver(repo: string): AptoveError {
  return new AptoveError("retrieval_failed", `another run took over the index of ${repo}; this one changed nothing`);
}

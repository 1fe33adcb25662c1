/**
 * The tokens of one model call, or the sum over several calls. `input` includes `cached`; `output` includes
 * `reasoning`.
 */
export interface Usage {
  input: number;
  output: number;
  cached: number;
  reasoning: number;
  total: number;
  /** The part of `input` that the provider wrote to its cache, which may cost more. Absent: none that it reported. */
  written?: number;
  /** The cost in US dollars, by the table of prices (domain/models.ts). Absent if no price is known. */
  costUsd?: number;
  /** True if an answer was cut before the provider reported all counts. These are then the least that were used (T4). */
  isPartial?: true;
}

/** No call has more tokens. A larger count is a mistake of the provider, and sums of such counts would fit no column. */
const tokensMax = 1_000_000_000;

/** Each count that a usage must have, as one that is missing. */
const noCounts = { input: null, output: null, cached: null, reasoning: null, total: null };

/** Checks whether every count is a count of tokens, as the stores take them: a whole number that is not negative. */
export function isCounted({ costUsd: _costUsd, isPartial: _isPartial, ...counts }: Usage): boolean {
  return Object.values({ ...noCounts, ...counts }).every(
    (count) => Number.isInteger(count) && count >= 0 && count <= tokensMax,
  );
}

export const noUsage: Usage = { input: 0, output: 0, cached: 0, reasoning: 0, total: 0 };

/** The usage of a call whose answer was cut before the provider reported anything. It is unknown, and not nothing. */
export const unknownUsage: Usage = { ...noUsage, isPartial: true };

export function addUsage(a: Usage, b: Usage): Usage {
  const written = (a.written ?? 0) + (b.written ?? 0);
  const costUsd =
    a.costUsd === undefined && b.costUsd === undefined ? {} : { costUsd: (a.costUsd ?? 0) + (b.costUsd ?? 0) };
  return {
    input: a.input + b.input,
    output: a.output + b.output,
    cached: a.cached + b.cached,
    reasoning: a.reasoning + b.reasoning,
    total: a.total + b.total,
    ...(written > 0 && { written }),
    ...costUsd,
    ...((a.isPartial === true || b.isPartial === true) && { isPartial: true }),
  };
}

/** The sums of what each model used. A model may have any name, also one that a plain object inherits, such as `__proto__`. */
export class UsageByModel {
  readonly #sums = new Map<string, Usage>();

  add(model: string, usage: Usage): void {
    this.#sums.set(model, addUsage(this.#sums.get(model) ?? noUsage, usage));
  }

  get sums(): Record<string, Usage> {
    return Object.fromEntries(this.#sums);
  }
}

/** What a finished turn used (T4). `byModel` holds the same figures for each model that was called. */
export interface RunSummary {
  durationMs: number;
  modelRequests: number;
  usage: Usage;
  byModel: Record<string, Usage>;
  /**
   * The tokens of the last answered call, input and output: the size of the history then (C6). `usage` is a sum over all
   * calls. Absent if only one model request was made, because `usage` is that size then.
   */
  contextTokens?: number;
}

/** Returns the size of the history after the run, as the provider counted it. Null if that is unknown. */
export function countedContext({ contextTokens, modelRequests, usage }: RunSummary): number | null {
  if (contextTokens !== undefined) return contextTokens;
  return modelRequests === 1 && usage.isPartial !== true ? usage.input + usage.output : null;
}

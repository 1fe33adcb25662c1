/** Queries for many ids, split into batches: a database accepts only a limited number of parameters per statement. */

const batchSize = 1_000;

/** Calls `ask` for each batch and returns all results in one list. */
export async function inBatches<Id, Answer>(
  ids: readonly Id[],
  ask: (batch: Id[]) => Promise<Answer[]>,
): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (const batch of batchesOf(ids)) answers.push(...(await ask(batch)));
  return answers;
}

export function batchesOf<Id>(ids: readonly Id[]): Id[][] {
  return Array.from({ length: Math.ceil(ids.length / batchSize) }, (_, at) =>
    ids.slice(at * batchSize, (at + 1) * batchSize),
  );
}

/** Queries for many ids, split into batches: a database accepts only a limited number of parameters per statement. */

const batchSize = 1_000;

/** Calls `ask` for each batch and returns all results in one list. */
export async function inBatches<Id, Answer>(
  ids: readonly Id[],
  ask: (batch: Id[]) => Promise<Answer[]>,
): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (let start = 0; start < ids.length; start += batchSize) {
    answers.push(...(await ask(ids.slice(start, start + batchSize))));
  }
  return answers;
}

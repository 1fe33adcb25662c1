/** Many ids in few queries: an engine takes only so many parameters at once. */

const batchSize = 1_000;

/** Calls `ask` for each batch and returns all answers in one list. */
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

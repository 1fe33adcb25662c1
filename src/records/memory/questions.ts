/** Questions of clients about calls of their own tools, in memory (V5). */
import type { ClientQuestion, QuestionRecords } from "../questions.ts";
import type { KeptQuestion, Rows } from "./rows.ts";

const keyOf = ({ turnId, callId }: Pick<ClientQuestion, "turnId" | "callId">): string => `${turnId} ${callId}`;

export function questionRecords(rows: Rows, now: () => number): QuestionRecords {
  const kept = (key: string): KeptQuestion | null => {
    const question = rows.questions.get(key);
    return question === undefined || question.expiresAt <= now() ? null : question;
  };
  return {
    async ask({ leaseMs, ...question }) {
      for (const [key, { expiresAt }] of rows.questions) if (expiresAt <= now()) rows.questions.delete(key);
      const key = keyOf(question);
      const earlier = kept(key);
      const answer = earlier?.askerId === question.askerId ? earlier.answer : null;
      const expiresAt = Math.max(now() + leaseMs, answer === null ? 0 : (earlier?.expiresAt ?? 0));
      rows.questions.set(key, { ...question, answer, expiresAt });
      return answer;
    },
    async listOpen(turnId) {
      const open = [...rows.questions.values()].filter(
        (one) => one.turnId === turnId && one.answer === null && one.expiresAt > now(),
      );
      const questions = open.map(({ expiresAt: _expiresAt, answer: _answer, ...question }) => question);
      return questions.toSorted((a, b) => (a.callId < b.callId ? -1 : 1));
    },
    async answer({ answer, keptMs, ...at }) {
      const question = kept(keyOf(at));
      if (question === null || question.answer !== null) return false;
      rows.questions.set(keyOf(at), { ...question, answer, expiresAt: now() + keptMs });
      return true;
    },
    async withdraw({ askerId, ...at }) {
      if (rows.questions.get(keyOf(at))?.askerId === askerId) rows.questions.delete(keyOf(at));
    },
  };
}

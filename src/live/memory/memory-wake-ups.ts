/** Wake-ups in memory: for tests, and for engines that share one process. */
import { checkTopic, Sleepers, type WakeUps } from "../wake-ups.ts";

export function memoryWakeUps(): WakeUps {
  const sleepers = new Sleepers();
  return {
    send(topic) {
      checkTopic(topic);
      queueMicrotask(() => sleepers.wake(topic));
    },
    on: (topic, wake) => sleepers.add(topic, wake),
    isHearing: () => true,
  };
}

/** Wake-ups in memory: for tests, and for engines that share one process. */
import { checkTopic, Subscribers, type WakeUps } from "../wake-ups.ts";

export function memoryWakeUps(): WakeUps {
  const sleepers = new Subscribers();
  return {
    send(topic) {
      checkTopic(topic);
      queueMicrotask(() => sleepers.wake(topic));
    },
    on: (topic, wake) => sleepers.add(topic, wake),
    isConnected: () => true,
  };
}

/** Wake-ups in memory: for tests, and for engines that share one process. */
import { checkTopic, Subscribers, type WakeUps } from "../wake-ups.ts";

export function memoryWakeUps(): WakeUps {
  const subscribers = new Subscribers();
  return {
    send(topic) {
      checkTopic(topic);
      queueMicrotask(() => subscribers.wake(topic));
    },
    on: (topic, wake) => subscribers.add(topic, wake),
    isConnected: () => true,
  };
}

/** Wake-ups in memory: for tests, and for engines that share one process. */
import { checkTopic, WakeUpSubscribers, type WakeUps } from "../wake-ups.ts";

export function memoryWakeUps(): WakeUps {
  const subscribers = new WakeUpSubscribers();
  return {
    send(topic) {
      checkTopic(topic);
      queueMicrotask(() => subscribers.wake(topic));
    },
    on: (topic, wake) => subscribers.add(topic, wake),
    isConnected: () => true,
  };
}

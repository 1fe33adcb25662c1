/** One conversation with a measured program, whatever the program is. */
export interface Conversation {
  /** Runs a turn. Resolves when its caller knows that it has ended. */
  turn(text: string, onDelta?: (delta: string) => void): Promise<void>;
}

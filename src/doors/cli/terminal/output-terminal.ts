/**
 * The terminal of a command that only prints: printed lines stay, and below them are live lines while there are any. It
 * reads no key, so the shell's own Ctrl-C, Ctrl-Z and typing ahead work.
 */
import { type PaintedLines, PrintingTerminal } from "./printing-terminal.ts";

export class OutputTerminal extends PrintingTerminal {
  protected paint({ done, above }: PaintedLines): void {
    this.screen.paint({ done, live: above, cursor: null });
  }

  protected leave(): void {}
}

import { endOfTurn } from "../../kernel/end-of-turn.ts";

/**
 * Lists for people are read on the thread that serves requests, a piece at a time: one piece in a
 * turn of the event loop, whichever list it belongs to, so that a request waits for one piece at
 * most.
 */
export class ListTurns {
  #last: Promise<unknown> = Promise.resolve();

  /**
   * Reads a piece when those before it are read and requests have had a turn. Rejects with what
   * `read` throws.
   */
  take<T>(read: () => T): Promise<T> {
    const piece = this.#last.then(endOfTurn).then(read);
    this.#last = piece.catch(ignore);
    return piece;
  }
}

function ignore(): void {
  // The caller of `take` gets the error.
}

import { endOfTurn } from "../../kernel/end-of-turn.ts";

/**
 * Lists for users are read on the thread that serves requests, in pieces: one piece per turn of the
 * event loop, over all lists, so that a request waits for one piece at most.
 */
export class PieceQueue {
  #last: Promise<unknown> = Promise.resolve();

  /**
   * Reads a piece after the earlier ones have been read and requests have had a turn. Rejects with
   * what `read` throws.
   */
  run<T>(read: () => T): Promise<T> {
    const piece = this.#last.then(endOfTurn).then(read);
    this.#last = piece.catch(ignore);
    return piece;
  }
}

function ignore(): void {
  // The caller of `take` gets the error.
}

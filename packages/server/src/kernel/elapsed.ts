/**
 * Port: milliseconds since some moment, a count that only grows: nobody sets it, unlike the clock.
 */
export type ElapsedMs = () => number;

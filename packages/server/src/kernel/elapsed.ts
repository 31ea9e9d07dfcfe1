/**
 * Port: monotonic time in milliseconds since an arbitrary moment. Unlike the clock it cannot be
 * set.
 */
export type ElapsedMs = () => number;

/** Port: the share of the time since the last call in which the event loop of this thread was busy, from 0 to 1. */
export type LoopLoad = () => number;

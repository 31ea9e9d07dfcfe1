/** Port: the only way to wait. A simulation uses one with virtual time. */
export interface Scheduler {
  /** Resolves after `ms`, or rejects with the signal's reason when it is aborted first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls `task` once after `ms` unless the returned function is called first. */
  after(ms: number, task: () => void): () => void;
}

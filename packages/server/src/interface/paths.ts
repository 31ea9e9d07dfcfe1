/**
 * Paths of the interface that more than one module needs: the endpoint that answers there, and the
 * upstream connector and the commands, which send requests there. A path that only its endpoint
 * needs is in that endpoint's file.
 */
export const wirePaths = {
  direct: "/ws/direct",
  verifyCard: "/ws/verifycard",
  capture: "/ws/capture",
  cancel: "/ws/cancel",
  refund: "/ws/refund",
  query: "/ws/query",
  token: "/ws/token",
} as const;

import type { Clock } from "../../kernel/clock.ts";
import type { MerchantId, TokenDigest } from "../../kernel/ids.ts";
import type { KeyGrant } from "../../stores/change.ts";
import { type Recorder, recordingBounds } from "../../sandbox/recording/recorder.ts";
import type { WireResponse } from "../../wire/answers/answer.ts";
import type { TreeObject } from "../../wire/decode/tree.ts";
import { answerFactsOf } from "./answer-view.ts";
import { viewOf } from "./parameter-view.ts";

/** A request whose key has been checked. */
export interface RequestToRecord {
  readonly merchantId: MerchantId;
  readonly method: string;
  /** Path of the endpoint. */
  readonly path: string;
  /** Which key was sent, or a user's session. */
  readonly key: KeyGrant | "session";
  readonly params: TreeObject;
}

/** Port: records the requests of accounts. */
export interface RequestRecorder {
  /**
   * Called before the request is carried out. The returned function is called with the answer, and
   * the kind of the fault that was injected; undefined if the request is not recorded. Never
   * throws.
   */
  begin(request: RequestToRecord): ((answer: WireResponse, fault?: string) => void) | undefined;
}

export function createRequestRecorder(
  recorder: Pick<Recorder, "request">,
  clockOf: (merchantId: MerchantId) => Clock,
  digestOf: (merchantId: MerchantId, token: string) => TokenDigest,
): RequestRecorder {
  return {
    begin({ merchantId, method, path, key, params }) {
      const { parameters, characters, leftOut } = viewOf(
        params,
        recordingBounds.parameterCharacters,
      );
      const facts = { method, path, key, parameters, characters, leftOut };
      const answered = recorder.request(merchantId, clockOf(merchantId).now(), facts);
      return (answer, fault) =>
        answered({
          ...answerFactsOf(answer, recordingBounds.answerCharacters, (token) =>
            digestOf(merchantId, token),
          ),
          fault,
        });
    },
  };
}

import type { Clock } from "../../kernel/clock.ts";
import { isPaymentId, type MerchantId, type PaymentId } from "../../kernel/ids.ts";
import type { KeyGrant } from "../../stores/change.ts";
import { type Recorder, recordingBounds } from "../../twin/recording/recorder.ts";
import type { WireAnswer } from "../wire/answer.ts";
import { maskedText } from "../wire/card-like.ts";
import { isTreeObject, textOf, type TreeObject } from "../wire/tree.ts";
import { answerFactsOf, apart } from "./answer-view.ts";
import { viewOf } from "./parameter-view.ts";

/** A request whose key has been checked. */
export interface RequestToRecord {
  readonly merchantId: MerchantId;
  readonly method: string;
  /** The endpoint's. */
  readonly path: string;
  readonly grants: KeyGrant;
  readonly params: TreeObject;
}

/** Port: told of the requests of accounts. */
export interface RequestRecorder {
  /** Before the request is carried out. What it returns is called with the answer; undefined when the request is not recorded. Never throws. */
  begin(request: RequestToRecord): ((answer: WireAnswer) => void) | undefined;
}

/** As long as a code may be. */
const longestCode = 128;

/** Beside the interface itself only what makes something happen: the console asks for the rest every few seconds. */
const recordedOfSandbox: ReadonlySet<string> = new Set(["/__cofre/payment", "/__cofre/simulator", "/__cofre/clock", "/__cofre/faults"]);

const isRecorded = (path: string): boolean => path.startsWith("/ws/") || recordedOfSandbox.has(path);

export function createRequestRecorder(recorder: Pick<Recorder, "request">, clockOf: (merchantId: MerchantId) => Clock): RequestRecorder {
  return {
    begin({ merchantId, method, path, grants, params }) {
      if (!isRecorded(path)) return undefined;
      const { json, leftOut } = viewOf(params, recordingBounds.parameterCharacters);
      const names = isTreeObject(params["payment"]) ? params["payment"] : params;
      const answered = recorder.request(merchantId, clockOf(merchantId).now(), {
        method,
        path,
        key: grants,
        parameters: json,
        leftOut,
        hash: hashIn(params),
        code: codeIn(names),
      });
      return (answer) => answered(answerFactsOf(answer, recordingBounds.answerCharacters));
    },
  };
}

function hashIn(params: TreeObject): PaymentId | undefined {
  const hash = textOf(params, "hash");
  return hash !== undefined && isPaymentId(hash) ? hash : undefined;
}

function codeIn(params: TreeObject): string | undefined {
  const code = textOf(params, "merchant_payment_code");
  return code === undefined ? undefined : apart(maskedText(code, longestCode));
}

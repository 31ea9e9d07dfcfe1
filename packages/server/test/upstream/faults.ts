import type { Chance } from "../support/chance.ts";
import type { Fault } from "./fault-proxy.ts";

const answer = (status: string, body: string, headers = ""): string =>
  `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\n${headers}content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`;

/** Answers that a client must treat as neither success nor failure. */
export const lies: readonly string[] = [
  answer(
    "503 Service Unavailable",
    '{"status":"ERROR","status_code":"COFRE-21","status_message":"Nothing was done"}',
  ),
  answer(
    "500 Internal Server Error",
    '{"status":"ERROR","status_code":"BP-DR-75","status_message":"no"}',
  ),
  answer("502 Bad Gateway", "<html><h1>Bad Gateway</h1></html>"),
  answer("302 Found", "", "location: /elsewhere\r\n"),
  answer(
    "404 Not Found",
    '{"status":"ERROR","status_code":"COFRE-11","status_message":"No endpoint at this address"}',
  ),
  answer("200 OK", '{"payment":{"hash":"6925f1c8b7d0'),
  answer("200 OK", ""),
  answer("200 OK", "null"),
  answer("200 OK", "[]"),
  answer("200 OK", '{"status":"SUCCESS"}'),
  answer("200 OK", '{"status":"CONFLICT","success":false}'),
  answer("200 OK", '{"status":"ERROR"}'),
  answer(
    "200 OK",
    '{"status":"ERROR","status_code":"BP-XX-1","status_message":"what no page documents"}',
  ),
  answer(
    "200 OK",
    '{"status":"ERROR","status_code":"BP-DR-119","status_message":"The outcome is not known yet"}',
  ),
  answer(
    "200 OK",
    '{"status":"ERROR","status_code":"COFRE-14","status_message":"The request failed inside"}',
  ),
  // A complete success, of another payment.
  answer(
    "200 OK",
    '{"payment":{"hash":"6925f1c8b7d04e3aa91c5f20d8e6437b10c2f9a4be7d5831","merchant_payment_code":"another","status":"CO",' +
      '"amount_ext":"10.00","currency_ext":"USD","transaction_status":{"code":"OK","description":"Accepted","authcode":"48213"},' +
      '"capture_available":false},"status":"SUCCESS"}',
  ),
  "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n",
  "220 mail.example.com ESMTP\r\n",
  "",
];

/** The longest delay of a request: the connector's late arrival in this network. */
export const longestLateMs = 2_000;

/** A random fault of each kind that occurs between two machines, at any position in a message. */
export function anyFault(chance: Chance): Fault {
  const dice = chance.below(13);
  if (dice === 0) return { kind: "refuse" };
  if (dice <= 2)
    return { kind: "cut_request", after: chance.between(1, 1_300), reset: chance.happens(500) };
  if (dice <= 4)
    return { kind: "cut_answer", after: chance.between(1, 1_500), reset: chance.happens(500) };
  if (dice === 5)
    return { kind: "delay", requestMs: chance.between(1, 150), answerMs: chance.between(1, 400) };
  if (dice === 6)
    return { kind: "slow", bytes: chance.between(20, 300), everyMs: chance.between(1, 12) };
  if (dice === 7) return { kind: "lose_request" };
  if (dice === 8) return { kind: "lose_answer" };
  if (dice === 9) return { kind: "late_request", ms: chance.between(50, longestLateMs) };
  if (dice === 10) return { kind: "double_request" };
  if (dice === 11) return { kind: "garbage", after: chance.between(1, 900) };
  return { kind: "answer", text: chance.pick(lies), deliver: chance.happens(600) };
}
